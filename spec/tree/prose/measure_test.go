package prose_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/prose"
)

// Published skills become trees: 99 of 100 with a list convert, 95 of 100 results have no error of lint, and no sentence
// is lost unless the remarks have it. SKL_TEST_CONVERT names a folder of other skills, SKL_TEST_CONVERT_SHOW a part of what is listed.
func TestConvertPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: reads hundreds of skills")
	}
	m := measure{rules: map[string]int{}, codes: map[string]int{}, show: os.Getenv("SKL_TEST_CONVERT_SHOW")}
	root := publishedSkills(t)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() == skill.FileName {
			m.add(t, filepath.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d skills, %d without steps, %d refused %v, %d converted, %.2f remarks each", m.skills, m.codes[prose.CodeNoSteps],
		m.refused(), m.codes, m.converted, float64(m.remarks)/float64(max(m.converted, 1)))
	t.Logf("%d with errors of lint, by rule %v", m.faulty, m.rules)
	t.Logf("%d sentences, %d lost; nodes: %d IF, %d FOR_EACH, %d ASK, %d files", m.sentences, m.lost, m.ifs, m.loops, m.asks, m.files)
	if with := m.converted + m.refused(); m.refused()*100 > with {
		t.Errorf("%d of %d skills with a list are refused", m.refused(), with)
	}
	if m.faulty*100 > m.converted*5 {
		t.Errorf("%d of %d results have errors", m.faulty, m.converted)
	}
	if m.strays > 0 {
		t.Errorf("%d steps are below the condition of the other case", m.strays)
	}
	if m.lost > 0 {
		t.Errorf("%d sentences are lost", m.lost)
	}
}

// publishedSkills is a folder with skills, or skips.
func publishedSkills(t *testing.T) string {
	if dir := os.Getenv("SKL_TEST_CONVERT"); dir != "" {
		return dir
	}
	for dir, err := os.Getwd(); err == nil && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		bundle := filepath.Join(filepath.Dir(dir), "shared", "data", "awesome-copilot.bundle")
		if _, err := os.Stat(bundle); err != nil {
			continue
		}
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("skipped: needs git")
		}
		to := filepath.Join(t.TempDir(), "skills")
		if text, err := exec.Command("git", "clone", "-q", bundle, to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return to
	}
	if os.Getenv("SKL_TEST_REQUIRE") == "all" {
		t.Fatal("shared/data/awesome-copilot.bundle is not beside the repository")
	}
	t.Skip("skipped: shared/data/awesome-copilot.bundle is not beside the repository, and SKL_TEST_CONVERT names no folder")
	return ""
}

// A measure counts what becomes of skills.
type measure struct {
	skills, converted, faulty, remarks int
	sentences, lost                    int
	ifs, loops, asks, files, strays    int
	codes, rules                       map[string]int // refusals, findings that are errors
	show                               string
}

// refused counts the skills that have a list and do not convert; skills that are no skills, or trees already, are no such.
func (m *measure) refused() int { return m.codes[prose.CodeCannot] }

func (m *measure) add(t *testing.T, dir string) {
	src, err := os.ReadFile(filepath.Join(dir, skill.FileName))
	if err != nil {
		t.Fatal(err)
	}
	m.skills++
	out, err := convertedIn(dir, src)
	var e *diag.Error
	switch {
	case errors.As(err, &e):
		m.codes[e.Code]++
		m.log(t, e.Code, dir, err.Error())
		return
	case err != nil:
		m.codes["other"]++
		return
	}
	m.converted++
	m.remarks += len(out.losses)
	m.files += len(out.files)
	s, err := tree.Load(out.over(os.DirFS(dir)), filepath.Base(dir))
	if err != nil {
		t.Errorf("%s: %v", dir, err)
		return
	}
	seen := map[string]bool{}
	for _, f := range check.Check(s) {
		if f.Severity == diag.SeverityError {
			if !seen[f.Rule] {
				m.rules[f.Rule]++
			}
			seen[f.Rule] = true
			m.log(t, f.Rule, dir, fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Message))
		}
	}
	if len(seen) > 0 {
		m.faulty++
	}
	m.nodes(t, dir, s)
	m.compare(t, dir, string(src), out)
}

// nodes counts what a tree has.
func (m *measure) nodes(t *testing.T, dir string, s *tree.Skill) {
	tree.Walk(s.Tree.Nodes, func(n *tree.Node) bool {
		switch n.Kind {
		case tree.If, tree.ElseIf, tree.Else:
			m.strays += strays(t, dir, n)
		}
		switch n.Kind {
		case tree.If, tree.ElseIf:
			m.ifs++
			below := ""
			if len(n.Children) > 0 {
				below = n.Children[0].Text
			}
			m.log(t, "if", dir, n.Cond+" => "+below)
		case tree.ForEach:
			m.loops++
			m.log(t, "loop", dir, n.Text)
		case tree.Ask:
			m.asks++
			m.log(t, "ask", dir, n.Text)
		}
		return true
	})
}

// otherCase is a sentence of a step that is for the other case than its condition.
var otherCase = regexp.MustCompile(`(^|[.!?:;] )[*_]*(Otherwise|Else|If not,|Or else|Alternatively)\b|\b(Otherwise|Else|Alternatively):?$`)

// strays counts the steps below a branch that are for the other case.
func strays(t *testing.T, dir string, branch *tree.Node) (n int) {
	tree.Walk(branch.Children, func(step *tree.Node) bool {
		if step.Kind == tree.Prose && otherCase.MatchString(step.Text) {
			n++
			t.Logf("stray %s: %s", dir, step.Text)
		}
		return true
	})
	return n
}

func (m *measure) log(t *testing.T, what, dir, text string) {
	if m.show == what {
		t.Logf("%s %s: %s", what, dir, text)
	}
}

// compare looks for each sentence of src in what was written.
func (m *measure) compare(t *testing.T, dir, src string, out converted) {
	all := []string{string(out.src)}
	for _, name := range slices.Sorted(maps.Keys(out.files)) {
		all = append(all, out.files[name])
	}
	got := plainWords(strings.Join(append(all, out.losses...), "\n"))
	for _, s := range sentencesOf(src) {
		m.sentences++
		if !strings.Contains(got, plainWords(s)) {
			m.lost++
			m.log(t, "lost", dir, s)
		}
	}
}

// structure are words that a branch, loop or question has as its primitive.
var structure = map[string]bool{"if": true, "then": true, "otherwise": true, "else": true, "when": true, "unless": true,
	"end": true, "stop": true, "for": true, "each": true, "every": true, "in": true, "ask": true}

// movedAnchor is a link to a heading that a conversion moved, and treeAnchor one to a phase that is a step now.
var (
	movedAnchor = regexp.MustCompile(`\]\([A-Za-z0-9./_-]*\.md#([^()\s]*)\)`)
	treeAnchor  = regexp.MustCompile(`\]\(#(tree|(?:phase|step|stage|task|[0-9])[^()\s]*)\)`)
)

// plainWords are the letters and digits of a text in lower case, without markup and words of structure, between blanks.
func plainWords(text string) string {
	var b strings.Builder
	b.WriteByte(' ')
	text = movedAnchor.ReplaceAllString(strings.ReplaceAll(text, "IF << NOT (", "IF << ("), "](#$1)")
	text = treeAnchor.ReplaceAllString(text, "](#)")
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !structure[w] {
			b.WriteString(w)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// sentencesOf are the sentences of four words and more outside of fences, tables, headings and comments.
func sentencesOf(src string) (out []string) {
	doc, err := skill.Read([]byte(src))
	if err != nil {
		return nil
	}
	text, fence, comment := "", "", false
	flush := func() {
		for _, s := range strings.FieldsFunc(strings.NewReplacer(". ", "\n", "! ", "\n", "? ", "\n").Replace(text), func(r rune) bool { return r == '\n' }) {
			if len(strings.Fields(plainWords(s))) >= 4 {
				out = append(out, s)
			}
		}
		text = ""
	}
	for l := range strings.SplitSeq(src[doc.Body:], "\n") {
		l = strings.TrimSpace(l)
		run := len(l) - len(strings.TrimLeft(l, "`~"))
		bullet := strings.TrimLeft(l, "0123456789")
		item := l != bullet && (strings.HasPrefix(bullet, ". ") || strings.HasPrefix(bullet, ") ")) || strings.HasPrefix(l, "- ") || strings.HasPrefix(l, "* ") || strings.HasPrefix(l, "+ ")
		switch {
		case comment:
			comment = !strings.Contains(l, "-->")
		case fence != "":
			if strings.HasPrefix(l, fence) && strings.Trim(l, fence[:1]) == "" {
				fence = ""
			}
		case run >= 3 && !strings.Contains(l[run:], "`"):
			flush()
			fence = l[:run]
		case strings.HasPrefix(l, "<!--"):
			comment = !strings.Contains(l, "-->")
		case l == "" || l[0] == '|' || l[0] == '#':
			flush()
		case l[0] == '>' && text != "" && text[0] != '>': // a quote in an item
			flush()
			text = l
		case item:
			flush()
			text = strings.TrimPrefix(strings.TrimLeft(bullet, ".)-*+ "), "[x] ")
		default:
			text += " " + l
		}
	}
	flush()
	return out
}

// A converted skill is what a conversion gives.
type converted struct {
	src    []byte
	files  map[string]string
	losses []string
}

// convertedIn converts a skill, whose folder is dir.
func convertedIn(dir string, src []byte) (converted, error) {
	out, err := prose.ToTree(src, filepath.Base(dir), os.DirFS(dir))
	files := map[string]string{}
	for _, f := range out.Files {
		files[f.Name] = f.Text
	}
	return converted{src: out.Source, files: files, losses: out.Losses}, err
}

// over is the skill with what was written instead of what was there.
func (c converted) over(fsys fs.FS) fs.FS {
	files := fstest.MapFS{skill.FileName: {Data: c.src}}
	for name, text := range c.files {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return overlay{files, fsys}
}

// An overlay has the files of both, the first ones first; of the second one directory cannot be listed.
type overlay struct{ first, second fs.FS }

func (o overlay) Open(name string) (fs.File, error) {
	if f, err := o.first.Open(path.Clean(name)); err == nil {
		return f, nil
	}
	return o.second.Open(name)
}
