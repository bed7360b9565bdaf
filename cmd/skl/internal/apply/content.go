package apply

import (
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
)

// codeContent is the code of a lock that says something of a release that its files do not say.
const codeContent = "E_LOCK_CONTENT"

// A said is what the SKILL.md of a release says that a lock repeats.
type said struct {
	name          string // "" if it names itself nothing
	version       string // metadata.version, if it is a semantic version
	permissions   []string
	Lines         []string // where the permissions show
	generatedFrom map[string]string
	requires      []string // names
}

// Says computes what the lock has to say of a release from its SKILL.md. One that cannot be read says nothing.
func Says(src []byte) said {
	doc, err := skill.Read(src)
	if err != nil {
		return said{}
	}
	out := said{name: doc.Name, generatedFrom: generatedFrom(doc)}
	if v, err := semver.StrictNewVersion(strings.TrimPrefix(doc.Version, "v")); err == nil {
		out.version = v.String()
	}
	for _, f := range skill.BodyFeatures(src[doc.Body:]) {
		if f.Kind == skill.LoadCommand {
			out.Lines = append(out.Lines, diag.Position{File: skill.FileName, Line: f.Line + doc.BodyLine - 1}.String()+"  "+f.Text)
		}
	}
	if len(out.Lines) > 0 {
		out.permissions = []string{permLoadCommand}
	}
	out.requires = Requires(doc)
	return out
}

// Requires are the names of the skills that a SKILL.md says it needs.
func Requires(doc *skill.Document) []string {
	text, _ := doc.Meta("skl-requires")
	var names []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		name, _, _ := strings.Cut(word, "@")
		if name = name[strings.LastIndexByte(name, '/')+1:]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// checkContent refuses, exit 4, a lock entry that says other things of the release than its SKILL.md, src, does.
func checkContent(s lock.Skill, src []byte) error {
	is := Says(src)
	differs := func(what string, locked, said any) error {
		return diag.New(diag.Refused, codeContent, "skl.lock says of %s that %s is %v, and its files say %v", s.Name, what, locked, said).
			Hint("see who changed it: git diff skl.lock").Hint("to write what the files say: skl lock --upgrade %s", s.Name)
	}
	switch {
	case is.name != "" && is.name != s.Name:
		return differs("its name", s.Name, is.name)
	case !slices.Equal(s.Permissions, is.permissions):
		return differs("what it asks for", listed(s.Permissions), listed(is.permissions))
	case !maps.Equal(s.GeneratedFrom, is.generatedFrom):
		return differs("generated_from", s.GeneratedFrom, is.generatedFrom)
	case (s.Source == "local" || s.Source == "embedded") && s.Version != is.version:
		return differs("its version", orNone(s.Version), orNone(is.version))
	}
	for _, name := range s.Requires {
		if !slices.Contains(is.requires, name) {
			return differs("what it requires", listed(s.Requires), listed(is.requires))
		}
	}
	if len(s.RequiredBy) > 0 {
		// This version of skl installs what skl.toml asks for and nothing else.
		return differs("who requires it", listed(s.RequiredBy), "nothing")
	}
	return nil
}

func listed(words []string) string { return orNone(strings.Join(words, ", ")) }

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
