package ref

import (
	"net/url"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
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

// rewritten parses text, which s means. Its errors are about s.
func rewritten(s, text string) (Ref, error) {
	r, err := Parse(text)
	if e, ok := diag.Own(err); ok {
		e.Message = strings.Replace(e.Message, `"`+diag.Printable(text)+`"`, `"`+diag.Printable(s)+`"`, 1)
		return Ref{}, e
	}
	return r, err
}

// scpLike reads git@host:o/r.git, the address of a repository over ssh without a scheme. There is always a user: host:o/r is a forge.
func scpLike(s string) (url string, ok bool) {
	user, rest, _ := strings.Cut(s, "@")
	host, path, ok := strings.Cut(rest, ":")
	if !ok || !isName(user) || !isName(host) || path == "" || strings.HasPrefix(path, ":") {
		return "", false
	}
	return "ssh://" + user + "@" + host + "/" + strings.TrimPrefix(path, "/"), true
}

// hostFirst reads host/o/r, where host is a known forge or, with two more elements, a name with a dot: no owner has one.
// The rest after the repository names one skill, or is a path.
func hostFirst(s string) (page string, ok bool) {
	rest, tail := s, ""
	if i := strings.IndexAny(s, "@#"); i >= 0 {
		rest, tail = s[:i], s[i:]
	}
	rest = strings.TrimSuffix(rest, "/")
	parts := strings.Split(rest, "/")
	if len(parts) < 3 || strings.Contains(rest, "//") || strings.Contains(rest, ":") {
		return "", false
	}
	if !isName(parts[1]) || !isName(parts[2]) {
		return "", false
	}
	host := strings.TrimPrefix(parts[0], "www.")
	if host == skillsPages {
		return "https://" + rest + tail, true
	}
	if headings[tail] {
		tail = ""
	}
	forge, known := forgeHosts[host]
	base := forge + ":" + parts[1] + "/" + strings.TrimSuffix(parts[2], ".git")
	if !known {
		if !strings.Contains(strings.Trim(host, "."), ".") || !isName(host) {
			return "", false
		}
		base = "git+https://" + host + "/" + parts[1] + "/" + strings.TrimSuffix(parts[2], ".git") + ".git"
	}
	switch below := parts[3:]; {
	case len(below) > 1 && (pageWords[below[0]] || below[0] == "-"):
		return "https://" + rest + tail, true
	case len(below) == 1 && !strings.HasPrefix(tail, "#"):
		base += "#" + below[0]
	case len(below) > 0:
		base += "//" + strings.Join(below, "/")
	}
	return base + tail, true
}

// skillsPages is the host of the skills directory.
const skillsPages = "skills.sh"

// headings are what a browser adds to the address of a repository whose page shows its README. A skill of that name is chosen by -s.
var headings = map[string]bool{"#readme": true, "#readme-ov-file": true}

// archives are how files end that hold a skill.
var archives = []string{".tar.gz", ".tgz", ".zip", ".skill"}

// rawHosts serve files and archives of a forge.
var rawHosts = map[string]string{"raw.githubusercontent.com": "raw", "codeload.github.com": "archive"}

// pageWords stand between a repository and a revision in the address of a page.
var pageWords = map[string]bool{"tree": true, "blob": true, "src": true, "raw": true, "archive": true, "commit": true, "releases": true, "commits": true}

// shownOnly are the queries of a page that do not change what it is of. With one of them "#" is a heading.
var shownOnly = map[string]bool{"tab": true, "raw": true, "plain": true, "ref_type": true, "inline": true}

// parsePasted reads what people copy from a browser:
//
//	https://github.com/o/r                          the repository
//	https://github.com/o/r/tree/main/skills/pdf     a folder (blob/… and raw/…: the folder of that file)
//	https://github.com/o/r/archive/refs/tags/v1.zip an archive: the repository at that tag; also releases/tag/v1, commit/ID
//	https://raw.githubusercontent.com/o/r/main/skills/pdf/SKILL.md
//	https://gitlab.com/g/sub/r/-/tree/main/x        GitLab's form
//	https://codeberg.org/o/r/src/branch/main/x      Codeberg's form
//	https://skills.sh/o/r/pdf                       a skill of a repository on GitHub
//	https://git.example/r.git                       a clone URL
//
// Known hosts are meant with https:// where http:// is written.
// The revision is taken to be one element, unless it starts with refs/heads or refs/tags and ends the address. Where a branch
// name has slashes, who asks the repository finds out.
func parsePasted(s string) (Ref, error) {
	text, skill, hasSkill := cutSkill(s)
	if headings["#"+skill] {
		skill, hasSkill = "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return Ref{}, invalid(s, "it is not the address of a repository or a folder in one")
	}
	if u.RawQuery != "" {
		for key := range u.Query() {
			if !shownOnly[key] {
				return Ref{}, invalid(s, "it is not the address of a repository or a folder in one").Hint("leave out what follows \"?\"")
			}
		}
		skill, hasSkill = "", false
	}
	host := strings.TrimPrefix(u.Host, "www.")
	_, raw := rawHosts[host]
	_, forge := forgeHosts[host]
	if raw || forge || host == skillsPages {
		u.Scheme = "https" // which they send a browser to
	}
	if host == skillsPages {
		return parseSkillsPage(s, u.Path)
	}
	if word, ok := rawHosts[host]; ok {
		parts := strings.SplitN(strings.Trim(u.Path, "/"), "/", 3)
		if len(parts) < 3 {
			return Ref{}, invalid(s, "it names no file of a repository")
		}
		host, u.Path = "github.com", parts[0]+"/"+parts[1]+"/"+word+"/"+parts[2]
	}
	if forge, ok := forgeHosts[host]; ok {
		r, err := parsePage(s, forge, u.Path)
		if err != nil {
			return Ref{}, err
		}
		if hasSkill {
			r.Skill = skill
		}
		return r, r.checkRest(s, hasSkill, r.Version != "")
	}
	if strings.HasSuffix(u.Path, ".git") && u.RawQuery == "" {
		return Parse("git+" + s)
	}
	if parts := strings.Split(strings.Trim(u.Path, "/"), "/"); len(parts) > 3 && (pageWords[parts[2]] || slices.Contains(parts[2:], "-") || slices.Contains(parts[2:], "tree")) {
		return parsePageAt(s, u, hasSkill, skill)
	}
	for _, end := range archives {
		if strings.HasSuffix(u.Path, end) {
			file := u.Path[strings.LastIndexByte(u.Path, '/')+1:]
			return Ref{}, invalid(s, "an archive is installed from a file").Hint("curl -fLO %s && skl install ./%s", quote(text), quote(file))
		}
	}
	e := invalid(s, "it is neither a known forge nor a clone URL")
	if !strings.HasSuffix(u.Path, ".git") {
		e.Hint("a git repository is written git+%s", s)
	}
	return Ref{}, e
}

// parseSkillsPage is a page of the skills directory at skills.sh, which lists skills of repositories on GitHub.
func parseSkillsPage(s, path string) (Ref, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 || len(parts) > 3 {
		return Ref{}, invalid(s, "it is not the page of a skill").Hint("a page of a skill is https://skills.sh/OWNER/REPO/SKILL")
	}
	text := "github:" + parts[0] + "/" + parts[1]
	if len(parts) == 3 {
		text += "#" + parts[2]
	}
	return rewritten(s, text)
}

func parsePage(s, forge, path string) (Ref, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) > 1 && forge == "github" && (parts[0] == "orgs" || parts[0] == "users") {
		parts = parts[1:2] // the pages of an owner
	}
	if len(parts) == 1 && (parts[0] == "" || isName(parts[0])) {
		return Ref{}, ownerOnly(s, forge, parts[0])
	}
	if len(parts) > 2 && forge != "gitlab" { // which has groups in groups
		word := parts[2]
		switch {
		case word == "edit" || word == "blame":
			parts[2] = "blob"
			path = strings.Join(parts, "/")
		case !pageWords[word] || len(parts) == 3 && (word == "releases" || word == "commits"):
			return Ref{}, beside(s, forge+":"+parts[0]+"/"+parts[1])
		}
	}
	p, err := splitPage(s, path)
	if err != nil {
		return Ref{}, err
	}
	return parseParts(s, forge+":"+p.owner+"/"+p.repo, p)
}

// beside refuses a page that is about a repository; base names the repository.
func beside(s, base string) error {
	e := invalid(s, "it is a page beside the repository, not a folder in it")
	if base = strings.TrimPrefix(base, "github:"); parses(base) {
		e.Hint("skl install %s", base)
	}
	return e
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
	version, sub, ok := p.revision()
	if len(p.rest) > 0 && !pageWords[p.rest[0]] { // GitLab's /-/issues
		return Ref{}, beside(s, base)
	}
	if !ok {
		return Ref{}, invalid(s, "it is not a folder of a repository").Hint("download it, and install the file: skl install ./FILE")
	}
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
		if i >= 2 && (p == "-" || pageWords[p]) {
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

// revision splits the words behind the repository into a version and a folder. ok is false for the address of something that is in
// no commit, such as a file that was uploaded to a release.
func (p pasted) revision() (version, sub string, ok bool) {
	rest := p.rest
	if len(rest) < 2 {
		return "", "", len(rest) == 0 || rest[0] == "releases" || rest[0] == "commits"
	}
	word, rest := rest[0], rest[1:]
	switch {
	case word == "releases" && rest[0] == "tag" && len(rest) > 1:
		return strings.Join(rest[1:], "/"), "", true
	case word == "releases":
		return "", "", rest[0] == "latest" && len(rest) == 1
	case word == "commit" || word == "commits":
		return strings.Join(rest, "/"), "", true
	case word == "archive":
		return archived(rest), "", true
	case len(rest) > 1 && (rest[0] == "branch" || rest[0] == "tag" || rest[0] == "commit") && (word == "src" || word == "raw"):
		rest = rest[1:]
	case len(rest) > 2 && rest[0] == "refs" && (rest[1] == "heads" || rest[1] == "tags"):
		rest = rest[2:]
	}
	version, rest = rest[0], rest[1:]
	if n := len(rest); n > 0 && (word == "blob" || word == "raw" || strings.EqualFold(rest[n-1], "SKILL.md")) {
		rest = rest[:n-1] // the folder of the file
	}
	return version, strings.Join(rest, "/"), true
}

// archived is the revision of an archive: refs/tags/v1.zip, v1.tar.gz, zip/refs/heads/main, or GitLab's v1/repo-v1.zip.
func archived(rest []string) string {
	switch {
	case rest[0] == "zip" || rest[0] == "tar.gz" || rest[0] == "legacy.zip" || rest[0] == "legacy.tar.gz":
		rest = rest[1:]
	case len(rest) == 2 && rest[0] != "refs":
		rest = rest[:1]
	}
	if len(rest) > 2 && rest[0] == "refs" {
		rest = rest[2:]
	}
	name := strings.Join(rest, "/")
	for _, suffix := range []string{".zip", ".tar.gz", ".tgz", ".tar.bz2", ".bundle"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}
