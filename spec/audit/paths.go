package audit

import (
	"path"
	"strings"
)

// use notes that a path is read or written. What lies in the project is noted only where it is written, as ".";
// temporary files, devices and the skill's own files are not.
func (a *auditor) use(k Kind, p string, line int) {
	p = strings.ReplaceAll(strings.TrimSpace(p), `\`, "/")
	if p == "" || p == "-" || strings.Contains(p, "://") {
		return
	}
	if a.folder != "" && p[0] != hole && !strings.ContainsAny(p[:1], "/~$%") && !(len(p) > 1 && p[1] == ':') {
		p = path.Join(a.folder, p)
	}
	missing := false
	if i := strings.IndexByte(p, hole); i >= 0 {
		p, missing = p[:i], true
		switch {
		case p == "":
			a.add(k, holeText, line)
			return
		case !strings.HasSuffix(p, "/"):
			p = path.Dir(p) + "/"
		}
	}
	for _, home := range []string{"$HOME", "${HOME}", "$env:USERPROFILE", "$env:HOME", "%USERPROFILE%", "/root"} {
		if rest, ok := strings.CutPrefix(p, home); ok && (rest == "" || rest[0] == '/') {
			p = "~" + rest
		}
	}
	for _, homes := range []string{"/home/", "/Users/", "C:/Users/"} {
		if rest, ok := strings.CutPrefix(p, homes); ok {
			_, rest, _ = strings.Cut(rest, "/")
			p = "~/" + rest
		}
	}
	p = path.Clean(p)
	outside := p == "~" || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "/") || p == ".." || strings.HasPrefix(p, "../") || len(p) > 1 && p[1] == ':'
	if outside && strings.HasPrefix(p, "..") {
		if own := path.Join(path.Dir(a.path), p); a.own[own] || own == "." || !strings.HasPrefix(own, "..") && a.ownDir(own) {
			outside = false
			if k == Reads {
				return
			}
		}
	}
	if !outside {
		if k == Writes {
			a.add(k, ".", line)
		}
		return
	}
	for _, example := range []string{"/path/", "/absolute/", "/your/", "/some/"} {
		if strings.HasPrefix(p, example) {
			return
		}
	}
	for _, temporary := range []string{"/tmp", "/var/tmp", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd", "/dev/urandom", "/dev/random", "/private/tmp", "/var/folders"} {
		if p == temporary || strings.HasPrefix(p, temporary+"/") {
			return
		}
	}
	for _, dir := range []string{"/dev/tcp", "/dev/udp"} {
		if rest, ok := strings.CutPrefix(p, dir); ok && (rest == "" || rest[0] == '/') {
			name, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
			a.add(Net, name, line)
			return
		}
	}
	if missing {
		p = strings.TrimSuffix(p, "/") + "/*"
	}
	a.add(k, p, line)
}

// ownDir reports whether the skill has files below dir.
func (a *auditor) ownDir(dir string) bool {
	for p := range a.own {
		if strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

// owns is the file of the skill that a command's path names: relative to the skill, to the file that is read, or with
// directories of a checkout before it; "" if it is none.
func (a *auditor) owns(p string) string {
	if i := strings.LastIndexByte(p, hole); i >= 0 {
		p = strings.TrimPrefix(p[i+1:], "/")
	}
	p = path.Clean(strings.ReplaceAll(p, `\`, "/"))
	if p == "." || p == "" {
		return ""
	}
	if beside := path.Join(path.Dir(a.path), p); a.own[beside] {
		return beside
	}
	for rest := p; ; {
		if a.own[rest] && (rest == p || strings.Contains(rest, "/")) {
			return rest
		}
		_, after, ok := strings.Cut(rest, "/")
		if !ok {
			return ""
		}
		rest = after
	}
}
