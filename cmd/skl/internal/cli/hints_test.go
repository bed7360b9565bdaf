package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A commandText is a command as a hint writes it, and where.
type commandText struct{ text, at string }

// TestHintsParse holds that each command that a hint names is one of the program, with its subcommand, its flags and no more
// arguments than it takes. A hint is what is given to Hint or put into Hints, and any other text of the program that names a command with a flag.
func TestHintsParse(t *testing.T) {
	found := commandsInSource(t, filepath.Join("..", "..", "..", ".."))
	if len(found) < 300 {
		t.Fatalf("%d commands were found in the source", len(found))
	}
	for _, c := range found {
		if err := parsesAsCommand(c.text); err != nil {
			t.Errorf("%s: %q: %v", c.at, c.text, err)
		}
	}
}

func TestHintsParseFinds(t *testing.T) {
	for text, want := range map[string]string{
		"skl instal X":                        `unknown command "instal"`,
		"skl install --forse":                 "unknown flag --forse",
		"skl registry gc --registry X":        "unknown flag --registry",
		"skl registry":                        "",
		"skl registry gce":                    `unknown command "registry gce"`,
		"skl ci X":                            "too many arguments",
		"skl trust alow":                      `unknown command "trust alow"`,
		"skl yank --undo X --block":           "",
		"skl install X --host claude-code":    "",
		"skl install --force replaces it":     "",
		"skl lock --upgrade X --accept moved": "",
		"skl install --host":                  "--host has no value",
		"skl help guide install":              "",
		"skl -C X ci":                         "",
	} {
		got := ""
		if err := parsesAsCommand(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// commandsInSource are the commands that texts of the program name. What is not constant in a text is X.
func commandsInSource(t *testing.T, root string) (found []commandText) {
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || path == filepath.Join(root, "index", "lang", "oracle")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		inHint := 0
		var visit func(n ast.Node) bool
		visit = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Hint" {
					ast.Inspect(n.Fun, visit)
					inHint++
					for _, arg := range n.Args {
						ast.Inspect(arg, visit)
					}
					inHint--
					return false
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Hints" {
					inHint++
					ast.Inspect(n.Value, visit)
					inHint--
					return false
				}
			case *ast.AssignStmt:
				if s, ok := n.Lhs[0].(*ast.SelectorExpr); ok && s.Sel.Name == "Hints" {
					inHint++
					for _, right := range n.Rhs {
						ast.Inspect(right, visit)
					}
					inHint--
					return false
				}
			case *ast.BinaryExpr, *ast.BasicLit:
				text, ok := flatText(n.(ast.Expr))
				if !ok {
					return true
				}
				rel, _ := filepath.Rel(root, path)
				for _, c := range commandsIn(text) {
					if known := find(newApp(env{}, nil, false).Commands, firstWord(c)); inHint > 0 || known != nil && strings.Contains(c, " -") {
						found = append(found, commandText{c, fmt.Sprintf("%s:%d", rel, fset.Position(n.Pos()).Line)})
					}
				}
				return false
			}
			return true
		}
		ast.Inspect(file, visit)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	verb     = regexp.MustCompile(`%[-+# 0-9.]*[a-z]`)
	attached = regexp.MustCompile(`([a-z])%s`) // flags that are there or not
)

// flatText is a text, or several that are added up; what is not a text in it is X.
func flatText(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return verb.ReplaceAllString(attached.ReplaceAllString(text, "$1"), "X"), err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, isText := flatText(e.X)
		right, alsoText := flatText(e.Y)
		if !isText && !alsoText {
			return "", false
		}
		if !isText {
			left = "X"
		}
		if !alsoText {
			right = "X"
		}
		if !alsoText && left != "" && left[len(left)-1] >= 'a' && left[len(left)-1] <= 'z' {
			right = ""
		}
		return left + right, true
	}
	return "", false
}

// begins is where a command begins in a text.
var begins = regexp.MustCompile("(?:^|[\\s\"'`(:;,=])skl (?:[a-z-]|X )")

// commandsIn are the commands that a text names, each up to where the sentence goes on.
func commandsIn(text string) (out []string) {
	for line := range strings.Lines(text) {
		at := begins.FindAllStringIndex(line, -1)
		for i, span := range at {
			end := len(line)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			c := line[strings.Index(line[span[0]:], "skl ")+span[0] : end]
			for _, stop := range []string{"    ", "   #", ", ", "; ", ": ", ". ", " (", ")", "`", "\"", " && ", " | "} {
				c, _, _ = strings.Cut(c, stop)
			}
			out = append(out, strings.TrimRight(strings.TrimSpace(c), ".,:;"))
		}
	}
	return out
}

func firstWord(command string) string {
	for _, w := range strings.Fields(command)[1:] {
		if !strings.HasPrefix(w, "-") {
			return w
		}
	}
	return ""
}

// isValue reports whether a word stands for what a person writes, or is quoted or no word at all: what is not goes on with the sentence.
var isValue = regexp.MustCompile(`[A-Z0-9./:=@*'…\[{]`)

// says are words of sentences about skl.
var says = []string{"does", "is", "keeps", "makes", "may", "reads", "that", "wrote"}

// parsesAsCommand reports what is wrong with a command as the program reads it.
func parsesAsCommand(text string) error {
	app := newApp(env{}, nil, false)
	commands, flags, path := app.Commands, app.Flags, ""
	most, args := -1, 0
	words := strings.Fields(text)[1:]
	for i := 0; i < len(words); i++ {
		w := words[i]
		if strings.HasPrefix(w, "-") && w != "-" {
			name, _, has := strings.Cut(strings.TrimLeft(w, "-"), "=")
			f := lookup(flags, name)
			if f == nil {
				f = lookup(app.Flags, name)
			}
			switch {
			case f == nil:
				return fmt.Errorf("unknown flag %s", dashed(name))
			case has || !takesValue(f):
			case i+1 == len(words) || strings.HasPrefix(words[i+1], "-"):
				return fmt.Errorf("%s has no value", dashed(name))
			default:
				i++
				for strings.HasPrefix(words[i], "'") && !strings.HasSuffix(words[i], "'") && i+1 < len(words) {
					words[i+1] = words[i] + " " + words[i+1]
					i++
				}
			}
			continue
		}
		if len(commands) > 0 {
			c := find(commands, w)
			switch {
			case c == nil && (w == "X" || path == "" && slices.Contains(says, w)):
				return nil // which command it is depends, or skl itself is meant
			case c == nil && most > 0:
				commands = nil
				i-- // its first argument
				continue
			case c == nil:
				return fmt.Errorf("unknown command %q", strings.TrimSpace(path+" "+w))
			}
			path, flags, commands = strings.TrimSpace(path+" "+c.Name), c.Flags, c.Subcommands
			if most = len(strings.Fields(c.ArgsUsage)); strings.Contains(c.ArgsUsage, "…") {
				most = -1
			}
			continue
		}
		if !isValue.MatchString(w) && path != "help" && path != "schema" {
			return nil // the sentence goes on
		}
		if args++; most >= 0 && args > most {
			return fmt.Errorf("too many arguments")
		}
	}
	return nil
}
