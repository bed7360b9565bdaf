package files

import (
	"os"
	"path/filepath"
	"strings"
)

// A repository is where git keeps what belongs to a directory.
type repository struct {
	top    string // the directory that has .git
	dir    string // git's directory, of this work tree alone
	common string // the directory of git that has config and info
}

func (r repository) exclude() string { return filepath.Join(r.common, "info", "exclude") }

// openRepository says whether dir is the top of a repository: .git is git's directory, or a file that names it, as in
// worktrees and submodules.
func openRepository(dir string) (repository, bool) {
	git := filepath.Join(dir, ".git")
	info, err := os.Stat(git)
	if err != nil {
		return repository{}, false
	}
	if !info.IsDir() {
		text, ok := readSome(git, 0)
		if !ok {
			return repository{}, false
		}
		path, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
		if !ok || path == "" {
			return repository{}, false
		}
		git = resolve(dir, path)
	}
	if _, err := os.Lstat(filepath.Join(git, "HEAD")); err != nil {
		return repository{}, false
	}
	repo := repository{top: dir, dir: git, common: git}
	if text, ok := readSome(filepath.Join(git, "commondir"), 0); ok {
		if path := strings.TrimRight(text, "\r\n"); path != "" {
			repo.common = resolve(git, path)
		}
	}
	return repo, true
}

// resolve returns path as seen from dir.
func resolve(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// readRepository returns the rules of a repository that are in no .gitignore: info/exclude wins over the user's
// own. Each file that was looked for is told to see.
func (r *rules) readRepository(repo repository, above string, cut int, see func(string)) (s *scope, fold bool) {
	c := r.readConfig(repo, see)
	if c.excludes != "" {
		path := resolve(repo.top, c.excludes)
		see(path)
		s = push(s, readList(path, 0, c.fold), above, cut)
	}
	see(repo.exclude())
	return push(s, readList(repo.exclude(), 0, c.fold), above, cut), c.fold
}

// config is what is used of git's configuration.
type config struct {
	excludes   string            // path of the user's patterns, "" for none
	attributes string            // path of the user's attributes, "" for none
	fold       bool              // names differ not by case alone
	noModes    bool              // executable bits of files are not looked at
	drivers    map[string]string // of merges: the command line, by the name that attributes have

	name, email string // of who makes commits

	gitDir string // that of the repository, for conditions; "" outside of one
}

func (r *rules) readConfig(repo repository, see func(string)) config {
	home := r.getenv("HOME")
	if home == "" {
		home = r.getenv("USERPROFILE")
	}
	user := r.getenv("XDG_CONFIG_HOME")
	if user == "" && home != "" {
		user = filepath.Join(home, ".config")
	}
	c := config{gitDir: repo.dir}
	if user != "" {
		c.excludes = filepath.Join(user, "git", "ignore")
		c.attributes = filepath.Join(user, "git", "attributes")
	}
	read := func(path string) {
		if path != "" {
			c.read(path, home, 0, see)
		}
	}
	if system := r.getenv("GIT_CONFIG_SYSTEM"); system != "" {
		read(system)
	} else if no, _ := parseBool(r.getenv("GIT_CONFIG_NOSYSTEM")); !no && filepath.Separator == '/' {
		read("/etc/gitconfig")
	}
	if global := r.getenv("GIT_CONFIG_GLOBAL"); global != "" {
		read(global)
	} else {
		if user != "" {
			read(filepath.Join(user, "git", "config"))
		}
		if home != "" {
			read(filepath.Join(home, ".gitconfig"))
		}
	}
	if repo.common != "" {
		read(filepath.Join(repo.common, "config"))
	}
	return c
}

// maxIncludes is how deep files of configuration may include each other.
const maxIncludes = 5

// read takes the settings of a file over those that c has.
func (c *config) read(path, home string, depth int, see func(string)) {
	see(path)
	text, ok := readSome(path, 0)
	if !ok || depth > maxIncludes {
		return
	}
	at := func(p string) string {
		if rest, ok := strings.CutPrefix(p, "~/"); ok && home != "" {
			return filepath.Join(home, filepath.FromSlash(rest))
		}
		return p
	}
	parseConfig(text, func(key, value string, bare bool) {
		switch key {
		case "core.excludesfile":
			c.excludes = at(value)
		case "core.attributesfile":
			c.attributes = at(value)
		case "core.ignorecase":
			if fold, ok := parseBool(value); bare || ok {
				c.fold = bare || fold
			}
		case "core.filemode":
			if modes, ok := parseBool(value); bare || ok {
				c.noModes = !bare && !modes
			}
		case "user.name":
			c.name = value
		case "user.email":
			c.email = value
		case "include.path":
			if value != "" {
				c.read(resolve(filepath.Dir(path), at(value)), home, depth+1, see)
			}
		default:
			if condition, ok := strings.CutPrefix(key, "includeif."); ok && strings.HasSuffix(key, ".path") && value != "" {
				if c.holds(strings.TrimSuffix(condition, ".path"), filepath.Dir(path), at) {
					c.read(resolve(filepath.Dir(path), at(value)), home, depth+1, see)
				}
				return
			}
			if name, ok := strings.CutPrefix(key, "merge."); ok && strings.HasSuffix(name, ".driver") {
				if c.drivers == nil {
					c.drivers = map[string]string{}
				}
				c.drivers[strings.TrimSuffix(name, ".driver")] = value
			}
		}
	})
}

// holds reports whether a condition of includeIf is one that is known, and true: gitdir or gitdir/i with a folder.
func (c *config) holds(condition, base string, at func(string) string) bool {
	kind, pattern, _ := strings.Cut(condition, ":")
	fold := strings.EqualFold(kind, "gitdir/i")
	if c.gitDir == "" || !fold && !strings.EqualFold(kind, "gitdir") || pattern == "" {
		return false
	}
	below := strings.HasSuffix(pattern, "/") || strings.HasSuffix(pattern, "/**")
	folder := strings.TrimRight(at(strings.TrimSuffix(pattern, "**")), "/")
	if rest, ok := strings.CutPrefix(folder, "./"); ok {
		folder = filepath.Join(base, rest)
	}
	if !filepath.IsAbs(folder) || strings.ContainsAny(folder, "*?[") {
		return false
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	dir, folder := filepath.ToSlash(c.gitDir), filepath.ToSlash(folder)
	if fold {
		dir, folder = strings.ToLower(dir), strings.ToLower(folder)
	}
	return dir == folder || below && strings.HasPrefix(dir, folder+"/")
}

func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0", "":
		return false, true
	}
	return false, false
}

// parseConfig tells set the settings of a file in git's format (git-config(1), "Syntax"), in their order. key is
// lower-cased, but for a subsection. bare says that there was no equal sign. It stops at the first line that is wrong.
func parseConfig(text string, set func(key, value string, bare bool)) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	section := ""
	for text != "" {
		text = strings.TrimLeft(text, " \t\n\r")
		if text == "" {
			return
		}
		switch c := text[0]; {
		case c == '#' || c == ';':
			_, text, _ = strings.Cut(text, "\n")
		case c == '[':
			var ok bool
			if section, text, ok = parseSection(text[1:]); !ok {
				return
			}
		default:
			end := strings.IndexFunc(text, func(r rune) bool { return !isKey(r) })
			if end < 0 {
				end = len(text)
			}
			if end == 0 || section == "" {
				return
			}
			key := section + "." + strings.ToLower(text[:end])
			text = strings.TrimLeft(text[end:], " \t")
			if rest, ok := strings.CutPrefix(text, "="); ok {
				value, after, ok := parseValue(rest)
				if !ok {
					return
				}
				text = after
				set(key, value, false)
				continue
			}
			if text != "" && !strings.ContainsRune("\n#;", rune(text[0])) {
				return
			}
			_, text, _ = strings.Cut(text, "\n")
			set(key, "", true)
		}
	}
}

func isKey(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-'
}

// parseSection reads `name]` or `name "sub"]`.
func parseSection(s string) (section, rest string, ok bool) {
	end := strings.IndexAny(s, "]\" \t\n")
	if end <= 0 {
		return "", "", false
	}
	section, s = strings.ToLower(s[:end]), strings.TrimLeft(s[end:], " \t")
	if sub, ok := strings.CutPrefix(s, `"`); ok {
		var name []byte
		i := 0
		for ; i < len(sub) && sub[i] != '"'; i++ {
			if sub[i] == '\n' {
				return "", "", false
			}
			if sub[i] == '\\' && i+1 < len(sub) {
				i++
			}
			name = append(name, sub[i])
		}
		if i >= len(sub) {
			return "", "", false
		}
		section, s = section+"."+string(name), sub[i+1:]
	}
	s, ok = strings.CutPrefix(s, "]")
	return section, s, ok
}

// parseValue reads what follows an equal sign up to the end of the line, and returns the text after it.
func parseValue(s string) (value, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	var out []byte
	end, quoted := 0, false // out[end:] are spaces that count only if something follows
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\n':
			return string(out[:end]), s[i+1:], !quoted
		case c == '"':
			quoted = !quoted
			end = len(out)
			continue
		case !quoted && (c == '#' || c == ';'):
			_, rest, _ = strings.Cut(s[i:], "\n")
			return string(out[:end]), rest, true
		case !quoted && (c == ' ' || c == '\t'):
			out = append(out, c)
			continue
		case c == '\\':
			if i++; i == len(s) {
				return "", "", false
			}
			switch s[i] {
			case '\n':
				continue
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case '\\', '"':
				c = s[i]
			default:
				return "", "", false
			}
		}
		out = append(out, c)
		end = len(out)
	}
	return string(out[:end]), "", !quoted
}
