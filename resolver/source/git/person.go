package git

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

const (
	maxConfig   = 1 << 20 // bytes of one file of the user's configuration; what is longer is not read
	maxIncludes = 10      // files that name each other, as git has it
)

// Person is the author that a commit made in the directory dir would have, as the environment and the configuration of git say it:
// "Name <address>", the name alone where no address is said, "" where no name is. No program is started. Of includeIf the conditions
// gitdir and gitdir/i that name a folder are known.
func Person(dir string, getenv func(string) string) string {
	p := person{home: cmp.Or(getenv("HOME"), getenv("USERPROFILE"))}
	tree, err := OpenWorkTree(dir)
	if err == nil {
		p.gitDir = filepath.ToSlash(tree.repo.own) + "/"
	}
	if getenv("GIT_CONFIG_NOSYSTEM") == "" {
		p.read("/etc/gitconfig", 0)
	}
	if file := getenv("GIT_CONFIG_GLOBAL"); file != "" {
		p.read(file, 0)
	} else if p.home != "" {
		p.read(filepath.Join(cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(p.home, ".config")), "git", "config"), 0)
		p.read(filepath.Join(p.home, ".gitconfig"), 0)
	}
	if tree != nil {
		p.take(tree.Author())
	}
	p.email = cmp.Or(p.email, getenv("EMAIL"))
	p.take(getenv("GIT_AUTHOR_NAME"), getenv("GIT_AUTHOR_EMAIL"))
	switch {
	case p.name == "":
		return ""
	case p.email == "":
		return p.name
	}
	return p.name + " <" + p.email + ">"
}

// A person is what was read of somebody so far. What comes later holds.
type person struct {
	name, email  string
	home, gitDir string // gitDir with slashes and one at its end; "" outside repositories
}

func (p *person) take(name, email string) {
	p.name, p.email = cmp.Or(oneLine(name), p.name), cmp.Or(oneLine(email), p.email)
}

// oneLine is a name without what git leaves out of names.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if c == '<' || c == '>' || c == '\n' || c == 0 {
			return -1
		}
		return c
	}, s))
}

// read takes what one file says. One that is not there or cannot be read says nothing.
func (p *person) read(file string, depth int) {
	f, err := os.Open(file)
	if err != nil || depth > maxIncludes {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxConfig {
		return
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return
	}
	var c config.Config
	if config.NewDecoder(bytes.NewReader(text)).Decode(&c) != nil {
		return
	}
	for _, s := range c.Sections {
		switch {
		case s.IsName("user"):
			p.take(s.Option("name"), s.Option("email"))
		case s.IsName("include"):
			for _, name := range s.OptionAll("path") {
				p.include(file, name, depth)
			}
		case s.IsName("includeIf"):
			for _, sub := range s.Subsections {
				if p.holds(sub.Name, file) {
					for _, name := range sub.OptionAll("path") {
						p.include(file, name, depth)
					}
				}
			}
		}
	}
}

func (p *person) include(from, name string, depth int) {
	if name = p.path(name); !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(from), name)
	}
	p.read(name, depth+1)
}

// path is a path of a configuration with the home directory in the place of "~".
func (p *person) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && p.home != "" {
		return filepath.Join(p.home, rest)
	}
	return filepath.FromSlash(name)
}

// holds reports whether a condition of includeIf is one that is known and true.
func (p *person) holds(condition, file string) bool {
	kind, pattern, _ := strings.Cut(condition, ":")
	fold := strings.EqualFold(kind, "gitdir/i")
	if p.gitDir == "" || kind != "gitdir" && !fold || pattern == "" {
		return false
	}
	folder := strings.HasSuffix(pattern, "/") || strings.HasSuffix(pattern, "/**")
	pattern = strings.TrimSuffix(pattern, "**")
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = filepath.ToSlash(filepath.Join(filepath.Dir(file), rest)) + "/"
	} else {
		pattern = strings.TrimSuffix(filepath.ToSlash(p.path(pattern)), "/") + "/"
	}
	if !filepath.IsAbs(filepath.FromSlash(pattern)) || strings.ContainsAny(pattern, "*?[") {
		return false
	}
	if real, err := filepath.EvalSymlinks(filepath.FromSlash(pattern)); err == nil {
		pattern = strings.TrimSuffix(filepath.ToSlash(real), "/") + "/"
	}
	dir := p.gitDir
	if fold {
		dir, pattern = strings.ToLower(dir), strings.ToLower(pattern)
	}
	return dir == pattern || folder && strings.HasPrefix(dir, pattern)
}
