package tool

import (
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// bound refuses a use of programs where a denial with a pattern could mean something that they do, whatever tool it is of. A list of
// names never ends: an alias of git, a copy of a program, an interpreter with a version in its name, the loader. So a
// denial such as bash(rm *), write(src/**) or read(secret/**) denies every command that is not known to be harmless, and scripts; a denial of reading
// denies also those that name what it means, or read all that is below a directory.
func (d *Dispatcher) bound(h *handler, u *use, t skill.Tool, owner string) error {
	canonical := bindsPrograms(t)
	if !u.runs || canonical == "" {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return diag.New(diag.Refused, CodeDenied, "%s is denied in part by %s (%s), and "+format, append([]any{h.orScript(), owner, t}, args...)...)
	}
	if u.opaque != nil {
		return refuse("%w", u.opaque)
	}
	for _, command := range u.parts {
		name, _, _ := strings.Cut(command, " ")
		if canonical == "bash" && u.match(t.Pattern, command, true) {
			return nil // which denied says
		}
		if !harmless(command) {
			return refuse("with it every command that is not known to be harmless, as %q is not", diag.Brief(readable(name), 100))
		}
		switch canonical {
		case "read", "grep":
			if word := d.readsDenied(command, t.Pattern); word != "" {
				return refuse("%q may read that", diag.Brief(readable(word), 200))
			}
		case "glob", "list":
			if base := path.Base(name); base == "ls" || base == "find" || base == "du" || recursive(command) {
				return refuse("%q lists names", diag.Brief(readable(name), 100))
			}
		}
	}
	return nil
}

// bindsPrograms is the tool that a denial with a pattern is about, "" for one that programs are not bound by.
func bindsPrograms(t skill.Tool) (canonical string) {
	if t.Pattern == "" || t.Namespace != "" {
		return ""
	}
	canonical, _ = canonicalOf(t.Name)
	return canonical
}

// harmlessOnly are the denials for which bash runs nothing but what is known to be harmless, as they are written, sorted.
func (d *Dispatcher) harmlessOnly() (denials []string) {
	for _, p := range d.policies {
		for _, t := range p.Deny {
			if bindsPrograms(t) != "" {
				denials = append(denials, t.String())
			}
		}
	}
	slices.Sort(denials)
	return slices.Compact(denials)
}

// readsDenied is the word of a harmless command by which it may read a file that pattern means, "" if there is none.
func (d *Dispatcher) readsDenied(command, pattern string) string {
	words := strings.Split(command, " ")
	for _, word := range words[1:] {
		if strings.HasPrefix(strings.TrimLeft(word, "-"), "files0") { // names of files are read from a file, and told where they are none
			return word
		}
	}
	switch path.Base(words[0]) {
	case "ls", "find", "du", "test", "[", "stat", "basename", "dirname", "realpath", "readlink", "echo", "printf": // names alone
		return ""
	case "cd", "jq":
		return words[0] // what later words mean is not known; a program of jq may import files
	case "git": // content that was committed is read by many names
		if len(words) < 2 || !slices.Contains([]string{"--version", "version", "status", "rev-parse", "rev-list", "merge-base", "describe", "name-rev", "ls-files", "ls-tree", "shortlog", "add", "branch"}, words[1]) {
			return strings.Join(words[:min(2, len(words))], " ")
		}
	}
	if recursive(command) {
		return words[0]
	}
	for _, word := range words[1:] {
		if strings.ContainsRune(word, markUnknown) {
			return word
		}
		word = strings.ReplaceAll(word, string(markBlank), " ")
		for _, path := range pathsIn(word) {
			p, known := d.reached(path)
			if !known {
				return word
			}
			if p == nil {
				continue // out of reach for programs too
			}
			shown, dir, there := p.shown(), p.base == "", p.info != nil
			p.close()
			if there && (dir || matchPath(pattern, shown, true)) {
				return word
			}
		}
	}
	return ""
}

// pathsIn are the paths that a word of a command may mean: itself, what follows a = or an @, and what follows short options, as in
// -fFILE and -nfFILE.
func pathsIn(word string) []string {
	_, value, _ := strings.Cut(word, "=")
	out := []string{word, value, strings.TrimPrefix(word, "@"), strings.TrimPrefix(value, "@")}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		for i := 2; i < len(word); i++ {
			out = append(out, word[i:])
		}
	}
	return slices.DeleteFunc(out, func(path string) bool { return path == "" })
}

// recursive reports whether a command reads what is below a directory.
func recursive(command string) bool {
	words := strings.Split(command, " ")
	switch path.Base(words[0]) {
	case "rg":
		return true
	case "grep", "egrep", "fgrep":
		return slices.ContainsFunc(words[1:], func(w string) bool {
			return strings.HasPrefix(w, "--rec") || strings.HasPrefix(w, "--der") || strings.HasPrefix(w, "--dir") || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "rRd")
		})
	}
	return false
}

// harmless reports whether a command of a [Line] is known to change no file and to run nothing but itself, whatever its arguments
// are: a program of the system by its bare name, or one of git's own commands, which no alias replaces. What it writes to is
// judged apart, and so is what it reads.
func harmless(command string) bool {
	words := strings.Split(command, " ")
	name, args := words[0], words[1:]
	unknown := strings.ContainsRune(command, markUnknown)
	switch name {
	case "cat", "head", "tail", "tac", "rev", "wc", "cut", "tr", "nl", "od", "paste", "join", "comm", "cmp", "fold", "fmt", "expand", "unexpand", "strings", "column",
		"grep", "egrep", "fgrep", "jq", "diff", "ls", "stat", "du", "df", "basename", "dirname", "realpath", "readlink",
		"md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum",
		"echo", "pwd", "cd", "true", "false", ":", "sleep", "seq", "date", "uname", "id", "whoami", "type", "which", "exit":
		return true
	case "test", "[", "printf": // -v and -R take the name of a variable, in whose subscript bash runs commands
		return !unknown && !slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "-v") || strings.HasPrefix(w, "-R") })
	case "sort": // -o writes, --compress-program runs
		return !unknown && !slices.ContainsFunc(args, func(w string) bool {
			return strings.HasPrefix(w, "--o") || strings.HasPrefix(w, "--c") || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "o")
		})
	case "uniq": // its second operand is written
		operands := slices.DeleteFunc(slices.Clone(args), func(w string) bool { return strings.HasPrefix(w, "-") && w != "-" })
		return !unknown && len(operands) < 2
	case "rg":
		return !unknown && !slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "--pre") || strings.HasPrefix(w, "--host") })
	case "find":
		return !unknown && !slices.ContainsFunc(args, func(w string) bool {
			return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") || strings.HasPrefix(w, "-delete") || strings.HasPrefix(w, "-fprint") || strings.HasPrefix(w, "-fls")
		})
	case "git":
		return harmlessGit(args)
	}
	return false
}

// harmlessGit is harmless for git. What its configuration and hooks run is the repository's, and protected.
func harmlessGit(args []string) bool {
	if len(args) > 0 && args[0] == "--no-pager" {
		args = args[1:]
	}
	if len(args) == 0 {
		return true
	}
	switch args[0] {
	case "--version", "version", "status", "log", "show", "diff", "shortlog", "describe", "rev-parse", "rev-list", "merge-base", "ls-files", "ls-tree", "cat-file", "blame", "name-rev":
	default:
		if !records(args[0]) {
			return false
		}
	}
	return !slices.ContainsFunc(args[1:], func(w string) bool { // a glob may become an option
		return strings.HasPrefix(w, "--output") || strings.HasPrefix(w, "--ext") || strings.HasPrefix(w, "--textconv") || w[:min(1, len(w))] == string(markUnknown)
	})
}

// records reports whether a command of git adds to the repository, and harms no file.
func records(command string) bool {
	return command == "add" || command == "commit" || command == "tag" || command == "branch"
}
