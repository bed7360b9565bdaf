package resolver

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// Files beside a SKILL.md that say what the skill needs.
const (
	OwnManifest = "skl.toml" // and how it is published
	APMManifest = "apm.yml"  // of another package manager
)

const maxNeeds = 100 // skills that one skill can need

// A Need is a skill that another one says it needs. The place that it names is what is installed, unless the project's skl.toml says
// another one for the name. One that says no place is installed by nobody.
type Need struct {
	Name string
	Want Want   // its Ref is the zero Ref if no place is said, or one that only the skill's author has
	File string // that says it, with the place in it: "skl.toml:2:8"
	Not  string // why it says no place, where it tries to
}

// Placed reports whether n says where the skill is.
func (n *Need) Placed() bool { return n.Want.Ref != ref.Ref{} }

// Pinned reports whether n asks for one branch, tag or commit, and not for versions.
func (n *Need) Pinned() bool {
	if n.Want.Ref.Version == "" || n.Want.Kind == lock.Range {
		return n.Want.Ref.Digest != ""
	}
	_, err := semver.NewConstraint(n.Want.Ref.Version)
	return n.Want.Kind != "" || err != nil
}

// Range is what n allows of versions; nil is all, or a pin.
func (n *Need) Range() *semver.Constraints {
	if n.Want.Ref.Version == "" || n.Pinned() {
		return nil
	}
	c, _ := semver.NewConstraint(n.Want.Ref.Version) // Pinned parsed it
	return c
}

// Text is the ref that the lock has for what is needed only: the place, with a branch, tag or commit, but no range.
func (n *Need) Text() string {
	if n.Pinned() {
		return n.Want.Ref.String()
	}
	return n.Want.Ref.WithoutVersion().String()
}

// Needs are the skills that a skill says it needs, each name once, sorted by name: by [skills] of its own skl.toml, nil if it has none, and by
// skl-requires in metadata; what these do not name, by toolhive.requires in its frontmatter and dependencies.apm of its apm.yml. An error says what of it
// cannot be read, or is said twice.
func Needs(own, apm []byte, doc *skill.Document) ([]Need, error) {
	var out []Need
	var twice error // of the last name that is said differently
	add := func(n Need, ours bool) {
		i := slices.IndexFunc(out, func(o Need) bool { return o.Name == n.Name })
		switch {
		case i < 0:
			out = append(out, n)
		case !out[i].Placed() && n.Placed():
			out[i] = n
		case ours && n.Placed() && (n.Want.Ref != out[i].Want.Ref || n.Want.Kind != out[i].Want.Kind && n.File == out[i].File):
			twice = diag.New(diag.Failed, "invalid_name", "it needs %s twice: %s (%s) and %s (%s)", n.Name, out[i].Want.Ref, out[i].File, n.Want.Ref, n.File)
		}
	}
	if own != nil {
		m, err := manifest.Parse(own, OwnManifest)
		if err != nil {
			return nil, err
		}
		wants, err := Wants(m)
		if err != nil {
			return nil, err
		}
		for i := range wants {
			n := Need{Name: wants[i].Name, File: wants[i].Where.String()}
			n.place(wants[i].Want, wants[i].Ref.String())
			add(n, true)
		}
	}
	if doc != nil {
		words, err := doc.Requires()
		if err != nil {
			return nil, err
		}
		for _, word := range words {
			n := Need{File: skill.FileName}
			r, err := ref.Parse(word)
			switch n.Name = skill.RefName(word); {
			case err == nil:
				n.Name = nameIn(r)
				n.place(Want{Ref: r}, word)
			case strings.ContainsAny(word, "/:"):
				n.Not = diag.Printable(word) + " is not a reference to a skill"
			}
			add(n, true)
		}
		for _, f := range doc.Fields {
			if f.Key != "toolhive.requires" {
				continue
			}
			words, ok := f.Value.Words()
			if !ok {
				return nil, diag.New(diag.Failed, "unreadable", "toolhive.requires is not a list of references")
			}
			for _, word := range words {
				add(foreign(word, skill.FileName), false)
			}
		}
	}
	if apm != nil {
		words, err := apmNeeds(apm)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", APMManifest, err)
		}
		for _, word := range words {
			n := foreign(word, APMManifest)
			if n.Placed() && n.Want.Ref.Path == "" {
				n.Want.Ref, n.Not = ref.Ref{}, diag.Printable(word)+" is a package of another kind, and names no skill" // and may hold anything
			}
			add(n, false)
		}
	}
	for i := range out {
		if err := skill.CheckName(out[i].Name, out[i].Name); err != nil && out[i].Placed() {
			return nil, diag.New(diag.Failed, "invalid_name", "%q cannot be the name of a skill: %w", diag.Printable(out[i].Name), err)
		}
		if r := out[i].Want.Ref; r.Skill != "" && r.Skill != out[i].Name {
			return nil, diag.New(diag.Failed, "invalid_name", "%s (%s) names the skill %s, and not %s", r, out[i].File, r.Skill, out[i].Name)
		}
	}
	if len(out) > maxNeeds {
		return nil, diag.New(diag.Failed, "too_large", "it needs %d skills, which is more than %d", len(out), maxNeeds)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name }) // slices.SortFunc is 15 kB of program for each large type
	if twice != nil {
		return nil, twice
	}
	return out, nil
}

// place makes n one that says its place, unless that is its author's alone.
func (n *Need) place(w Want, text string) {
	switch w.Ref.Kind {
	case ref.Local:
		n.Not = diag.Printable(text) + " is a folder of its author"
	case ref.Embedded:
		n.Not = diag.Printable(text) + " comes with skl"
	default:
		n.Want = w
	}
}

// apmNeeds are the entries of dependencies.apm. One that is a map is its git and path.
func apmNeeds(text []byte) (words []string, err error) {
	v, err := skill.ReadMap(text)
	if err != nil {
		return nil, err
	}
	v, _ = v.Get("dependencies")
	v, _ = v.Get("apm")
	for _, item := range v.Items {
		word := item.Text
		if item.Kind == skill.Map {
			part := func(key string) string { p, _ := item.Get(key); return p.Text }
			word = part("git")
			if path := part("path"); path != "" {
				word += "//" + path
			}
			if at := part("ref"); at != "" {
				word += "#" + at
			}
		}
		words = append(words, word)
	}
	return words, nil
}

// foreign is a need in the words of other tools: owner/repo/path#version or host/owner/repo#version with the version behind "#", a URL of git, or
// an OCI reference. What is none of them says no place.
func foreign(word, file string) Need {
	place, version, _ := strings.Cut(word, "#")
	text := place
	host, _, rooted := strings.Cut(place, "/")
	_, tag, tagged := strings.Cut(place[strings.LastIndexByte(place, '/')+1:], ":")
	switch {
	case strings.HasPrefix(place, "./") || strings.HasPrefix(place, "../") || strings.HasPrefix(place, "/"):
		text = ""
	case strings.HasPrefix(place, "git://"): // as this tool writes a repository, fetched by https
		text = "git+https://" + strings.TrimPrefix(place, "git://")
		if repo, at, ok := strings.Cut(text, "@"); ok {
			text, version = repo+"//"+version, at
		}
		text = strings.TrimSuffix(text, "//")
	case strings.Contains(place, "://"):
		text = "git+" + place
	case rooted && tagged && tag != "" || rooted && strings.Contains(place, "@sha256:"):
		text = "oci://" + place
	case strings.HasPrefix(place, "github.com/"):
		text = strings.TrimPrefix(place, "github.com/")
	case rooted && strings.Contains(host, "."):
		text = "git+https://" + place
	}
	if version != "" && text != "" {
		text += "@" + version
	}
	n := Need{Name: skill.RefName(strings.TrimSuffix(place, ".git")), File: file}
	if r, err := ref.Parse(text); err == nil && text != "" {
		n.Name, n.Want.Ref = nameIn(r), r
	} else {
		n.Not = diag.Printable(word) + " is not a reference to a skill"
	}
	return n
}

// nameIn is what the skill of a ref is called, if it is called as its last part.
func nameIn(r ref.Ref) string {
	switch {
	case r.Skill != "":
		return r.Skill
	case r.Path != "":
		return path.Base(r.Path)
	case r.Kind == ref.Git:
		return strings.TrimSuffix(path.Base(r.URL), ".git")
	}
	return path.Base(r.Repo)
}

// neighbour is a file of another skill, as a step reads it.
var neighbour = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?:`|\\s)(?:\\.\\./|<skills-root>/)([a-z0-9][a-z0-9-]*)/")
})

// Neighbours are the skills whose files the text of a SKILL.md names by their path beside its own, and that its compatibility names as well, without
// what comes with skl. They say no place.
func Neighbours(text []byte, doc *skill.Document) (out []Need) {
	names := doc.Neighbours()
	if len(names) == 0 {
		return nil
	}
	for _, m := range neighbour().FindAllSubmatch(text, -1) {
		name := string(m[1])
		known := name == skill.RuntimeName || slices.ContainsFunc(out, func(n Need) bool { return n.Name == name })
		if !known && len(out) < maxNeeds && slices.Contains(names, name) {
			out = append(out, Need{Name: name, File: skill.FileName})
		}
	}
	return out
}
