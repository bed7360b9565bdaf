package ref

import (
	"net/netip"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// parseOCI reads the address of an artifact in an OCI registry:
//
//	oci://host[:port]/ns/name            the highest stable version, else the tag "latest"
//	oci://host/ns/name:1.4.2             that tag, and nothing that resembles it
//	oci://host/ns/name@^1.4              a range of the versions among the tags
//	oci://host/ns/name:1.4.2@sha256:…    that manifest; the tag is for people
//	oci://host/ns/collection#pdf         one skill of a collection; anything above may follow
//
// Text after "@" that is neither a digest nor a valid tag is a range;
// "@1.4.2" is therefore the tag ":1.4.2", and that is how it is spelled.
func parseOCI(s string) (Ref, error) {
	rest, ok := strings.CutPrefix(s, "oci://")
	if !ok {
		return Ref{}, invalid(s, "an OCI reference is oci://host/namespace/name")
	}
	rest, skill, hasSkill := cutSkill(rest)
	target := &rest
	if hasSkill && !strings.Contains(rest, "@") {
		target = &skill // "#pdf:1.4" and "#pdf@^1"
	}
	r := Ref{Kind: OCI}
	if err := r.cutOCIVersion(s, target, target == &skill); err != nil {
		return Ref{}, err
	}
	if target == &skill && r.Version == "" {
		if err := r.cutOCIVersion(s, &rest, false); err != nil { // "name:1.4#pdf@sha256:…"
			return Ref{}, err
		}
	}
	host, repo, _ := strings.Cut(rest, "/")
	if !isRegistry(host) {
		return Ref{}, invalid(s, "%q is not the host of a registry", diag.Printable(host))
	}
	if name, _, _ := strings.Cut(host, ":"); isOddAddress(name) && !strings.HasPrefix(host, "[") {
		odd := oddAddress(name)
		e := invalid(s, "%s", odd.Message)
		e.Hints = odd.Hints
		return Ref{}, e
	}
	if !IsRepository(repo) {
		return Ref{}, invalid(s, "%q is not a repository: elements are a-z and 0-9, separated by one of . _ - /", diag.Printable(repo))
	}
	r.Host, r.Skill = host, skill
	if i := strings.LastIndexByte(repo, '/'); i >= 0 {
		r.Owner, r.Repo = repo[:i], repo[i+1:]
	} else {
		r.Repo = repo
	}
	if hasSkill {
		if err := checkSkill(s, skill); err != nil {
			return Ref{}, err
		}
	}
	return r, nil
}

// cutOCIVersion takes the digest, range and tag off the end of text into r. In a word, which
// is the name of a skill, every colon starts a tag; elsewhere only one behind the last slash.
func (r *Ref) cutOCIVersion(s string, text *string, word bool) error {
	before, after, has := strings.Cut(*text, "@")
	*text = before
	if has {
		version, digest := after, ""
		if i := strings.LastIndexByte(after, '@'); i >= 0 {
			if version, digest = after[:i], after[i+1:]; digest == "" {
				return invalid(s, "nothing follows the last \"@\"")
			}
		} else if isDigestLike(after) {
			version, digest = "", after
		}
		if digest != "" {
			pin, ok := ParseDigest(digest)
			if !ok {
				return invalid(s, "%q is not a digest: sha256: and 64 hex digits", diag.Printable(digest))
			}
			r.Digest = pin
		}
		if version != "" || digest == "" {
			if err := checkVersion(s, version); err != nil {
				return err
			}
			r.Version = version
		}
	}
	i := strings.LastIndexByte(before, ':')
	if i < 0 || !word && i < strings.LastIndexByte(before, '/') || !word && !strings.Contains(before, "/") {
		return nil
	}
	tag := before[i+1:]
	switch {
	case !IsTag(tag):
		return invalid(s, "%q is not a tag: at most 128 of letters, digits and . _ -", diag.Printable(tag)).
			Hint("a range follows \"@\": %s", "oci://host/ns/name@^1.4")
	case r.Version != "":
		return invalid(s, "it has both a tag and a version")
	}
	*text, r.Version = before[:i], tag
	return nil
}

// ociString spells an OCI ref: ":" before a tag, "@" before a range and a digest.
func (r Ref) ociString() string {
	var b strings.Builder
	b.WriteString("oci://" + r.Host + "/" + r.Repository())
	if r.Skill != "" {
		b.WriteString("#" + r.Skill)
	}
	switch {
	case r.Version == "":
	case IsTag(r.Version):
		b.WriteString(":" + r.Version)
	default:
		b.WriteString("@" + r.Version)
	}
	if r.Digest != "" {
		b.WriteString("@" + string(r.Digest))
	}
	return b.String()
}

// Repository is the name of an OCI ref inside its registry: "ns/name".
func (r Ref) Repository() string {
	if r.Owner == "" {
		return r.Repo
	}
	return r.Owner + "/" + r.Repo
}

// isRegistry reports whether host is "host" or "host:port" as a URL holds it. Hosts are
// spelled in lower case, so that one registry has one spelling.
func isRegistry(host string) bool {
	name, port, hasPort := host, "", false
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return false
		}
		ip, err := netip.ParseAddr(host[1:end])
		if err != nil || !ip.Is6() || ip.Zone() != "" || ip.String() != host[1:end] {
			return false
		}
		name, port, hasPort = "", strings.TrimPrefix(host[end+1:], ":"), host[end+1:] != ""
		if hasPort && host[end+1] != ':' {
			return false
		}
	} else {
		name, port, hasPort = strings.Cut(host, ":")
		if name == "" || len(name) > 253 || name[0] == '-' || name[0] == '.' || strings.Contains(name, "..") {
			return false
		}
		for i := range len(name) {
			if c := name[i]; !isLowerDigit(c) && c != '-' && c != '.' {
				return false
			}
		}
	}
	if !hasPort {
		return true
	}
	return port != "" && len(port) <= 5 && port[0] != '0' && strings.Trim(port, "0123456789") == "" && (len(port) < 5 || port <= "65535")
}

func isLowerDigit(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// IsRepository reports whether s can be the name of a repository
// (OCI distribution spec, "Pulling manifests": the pattern of <name>), with at most 255 bytes.
func IsRepository(s string) bool {
	if len(s) > 255 {
		return false
	}
	for _, e := range strings.Split(s, "/") {
		if !isRepositoryElement(e) {
			return false
		}
	}
	return true
}

// isRepositoryElement: runs of a-z and 0-9 with ".", "_", "__" or hyphens between them.
func isRepositoryElement(e string) bool {
	if e == "" || !isLowerDigit(e[0]) || !isLowerDigit(e[len(e)-1]) {
		return false
	}
	for i := 0; i < len(e); {
		if isLowerDigit(e[i]) {
			i++
			continue
		}
		start := i
		for !isLowerDigit(e[i]) {
			i++
		}
		switch sep := e[start:i]; {
		case sep == ".", sep == "_", sep == "__", strings.Trim(sep, "-") == "":
		default:
			return false
		}
	}
	return true
}

// IsTag reports whether s can be a tag (OCI distribution spec: the pattern of <reference>).
func IsTag(s string) bool {
	if s == "" || len(s) > 128 || s[0] == '.' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// isDigestLike reports whether s was meant as a digest.
func isDigestLike(s string) bool {
	return strings.Contains(s, ":")
}
