package sandbox

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/secrets"
)

// CodeDir is the error of a directory that opens what is a person's alone to whoever works in it.
const CodeDir = "work_scope"

// CheckDir refuses dir as one that skills, programs or agents work in, or that is searched for them without being named: it is or holds
// home, the person's own directory, or that of the account where HOME is another, it is or holds one of keys, or lies in it, or keys and credentials alone are kept there. All are
// absolute, "" is none, and links in them are followed. It is the one rule for that: tools, programs and indexes go by it.
func CheckDir(dir, home string, keys ...string) error {
	real := resolved(dir)
	switch {
	case home != "" && isBelow(real, resolved(home)), accountHome() != "" && isBelow(real, accountHome()):
		return refused(dir, "holds your own keys and configuration")
	case secrets.Directory(filepath.ToSlash(real)):
		return refused(dir, "is for keys and credentials")
	}
	for _, k := range keys {
		if k == "" {
			continue
		}
		k = resolved(k)
		switch {
		case isBelow(real, k):
			return refused(dir, "holds what skl keeps for you: its configuration, and what you agreed to")
		case isBelow(k, real):
			return refused(dir, "lies in what skl keeps for you: its configuration, and what you agreed to")
		}
	}
	return nil
}

// accountHome is the home directory of the account, whatever HOME says; "" if the system does not know it.
var accountHome = sync.OnceValue(func() string {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return resolved(u.HomeDir)
})

func refused(dir, why string) error {
	return diag.New(diag.Refused, CodeDir, "%s %s, and is not opened to skills, programs and searches", diag.Printable(dir), why).Hint("work in a directory of its own, such as one below it")
}

// isBelow reports whether path is dir or lies below it, by their names or by what the system says they are.
func isBelow(dir, path string) bool {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return true
	}
	info, err := os.Stat(dir)
	for at := path; err == nil; at = filepath.Dir(at) {
		if above, err := os.Stat(at); err == nil && os.SameFile(info, above) {
			return true
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return false
}

// resolved is path without the links of what is there; the rest need not be.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, name := filepath.Dir(path), filepath.Base(path)
	if dir == path {
		return path
	}
	return filepath.Join(resolved(dir), name)
}
