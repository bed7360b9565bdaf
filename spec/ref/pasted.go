package ref

import (
	"net/url"
	"strings"
)

// pasted is a browser URL taken apart: which host and repository, and the words
// behind "tree" or "blob", which hold a branch or tag name and a path without
// saying where one ends.
type pasted struct {
	owner, repo string
	rest        []string
}

// forgeHosts are the forges that are known without configuration.
var forgeHosts = map[string]string{"github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "codeberg"}

// parsePasted reads what people copy from a browser:
//
//	https://github.com/o/r                          the repository
//	https://github.com/o/r/tree/main/skills/pdf     a folder (blob/…/SKILL.md: the folder of that file)
//	https://gitlab.com/g/sub/r/-/tree/main/x        GitLab's form
//	https://codeberg.org/o/r/src/branch/main/x      Codeberg's form
//	https://git.example/r.git                       a clone URL
//
// The revision is taken to be one element; a branch name with slashes is written
// with the explicit form github:o/r//path@branch/name.
func parsePasted(s string) (Ref, error) {
	text, skill, hasSkill := cutSkill(s)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return Ref{}, invalid(s, "it is not the address of a repository or a folder in one")
	}
	if forge, ok := forgeHosts[u.Host]; ok && u.Scheme == "https" {
		r, err := parsePage(s, forge, u.Path)
		if err != nil {
			return Ref{}, err
		}
		if hasSkill {
			r.Skill = skill
		}
		return r, r.checkRest(s, hasSkill, r.Version != "")
	}
	if strings.HasSuffix(u.Path, ".git") {
		return Parse("git+" + s)
	}
	if strings.Contains(u.Path, "/tree/") || strings.Contains(u.Path, "/-/") {
		return parsePageAt(s, u, hasSkill, skill)
	}
	e := invalid(s, "it is neither a known forge nor a clone URL")
	e.Hint("a git repository is written git+%s", s)
	return Ref{}, e
}

func parsePage(s, forge, path string) (Ref, error) {
	p, err := splitPage(s, path)
	if err != nil {
		return Ref{}, err
	}
	return parseParts(s, forge+":"+p.owner+"/"+p.repo, p)
}

// parsePageAt is a page of a forge that is not known by its host, a GitHub
// Enterprise or a GitLab of one's own: the clone URL follows from the page.
func parsePageAt(s string, u *url.URL, hasSkill bool, skill string) (Ref, error) {
	p, err := splitPage(s, u.Path)
	if err != nil {
		return Ref{}, err
	}
	r, err := parseParts(s, "git+"+u.Scheme+"://"+u.Host+"/"+p.owner+"/"+p.repo+".git", p)
	if err == nil && hasSkill {
		r.Skill = skill
	}
	if err != nil {
		return Ref{}, err
	}
	return r, r.checkRest(s, hasSkill, r.Version != "")
}

// parseParts adds the folder and revision of a page to base and parses the explicit form.
func parseParts(s, base string, p pasted) (Ref, error) {
	version, sub := p.revision()
	if sub != "" {
		base += "//" + sub
	}
	if version != "" {
		base += "@" + version
	}
	r, err := Parse(base)
	if err != nil {
		return Ref{}, invalid(s, "it is not a folder of a repository")
	}
	return r, nil
}

func splitPage(s, path string) (pasted, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	end := len(parts)
	for i, p := range parts {
		if i >= 2 && (p == "-" || p == "tree" || p == "blob" || p == "src") {
			end = i
			break
		}
	}
	if end < 2 {
		return pasted{}, invalid(s, "it names no repository")
	}
	for _, e := range parts[:end] {
		if !isName(e) {
			return pasted{}, invalid(s, "it names no repository")
		}
	}
	rest := parts[end:]
	if len(rest) > 0 && rest[0] == "-" {
		rest = rest[1:]
	}
	return pasted{owner: strings.Join(parts[:end-1], "/"), repo: strings.TrimSuffix(parts[end-1], ".git"), rest: rest}, nil
}

// revision splits the words behind the repository into a version and a folder.
func (p pasted) revision() (version, sub string) {
	rest := p.rest
	if len(rest) < 2 {
		return "", ""
	}
	if rest[0] == "src" && len(rest) > 2 && (rest[1] == "branch" || rest[1] == "tag" || rest[1] == "commit") {
		rest = rest[1:]
	}
	version, rest = rest[1], rest[2:]
	if n := len(rest); n > 0 && strings.EqualFold(rest[n-1], "SKILL.md") {
		rest = rest[:n-1]
	}
	return version, strings.Join(rest, "/")
}
