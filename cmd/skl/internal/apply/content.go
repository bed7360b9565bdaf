package apply

import (
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
)

// codeContent is the code of a lock that says something of a release that its files do not say.
const codeContent = "E_LOCK_CONTENT"

// A said is what the SKILL.md of a release, and the SKILL.json beside it, say that a lock repeats.
type said struct {
	name          string // "" if it names itself nothing
	version       string // metadata.version, if it is a semantic version
	permissions   []string
	Lines         []string // where the permissions show
	generatedFrom map[string]string
	requires      []string // names of what is installed with it
	idle          []string // keys that have no effect
	doubts        []string // limits that were not understood
}

// A Front is the files of a skill that say what it is.
type Front struct {
	Text     []byte // SKILL.md
	Sidecar  []byte // SKILL.json, nil if there is none
	Manifest []byte // skl.toml, nil if there is none
	APM      []byte // apm.yml, the same
}

// frontIn reads the front of the skill at the root of fsys.
func frontIn(fsys fs.FS) (Front, error) {
	src, err := fs.ReadFile(fsys, skill.FileName)
	if err != nil {
		return Front{}, err
	}
	return frontFrom(fsys, src), nil
}

// frontFrom is the front of a skill with this SKILL.md. What cannot be read of the rest counts as if it was not there.
func frontFrom(fsys fs.FS, src []byte) Front {
	f := Front{Text: src, Sidecar: skill.SidecarIn(fsys, ".")}
	f.Manifest, _ = fs.ReadFile(fsys, resolver.OwnManifest)
	f.APM, _ = fs.ReadFile(fsys, resolver.APMManifest)
	return f
}

// frontOf reads the front of the skill in directory dir, whose content someone else made.
func frontOf(dir string) (Front, error) {
	src, err := scope.ReadIn(dir, skill.FileName)
	if err != nil {
		return Front{}, err
	}
	return frontFrom(scope.FilesIn(dir), src), nil
}

// Says computes what the lock has to say of a release from its front. Of one that cannot be read it is the commands alone: some
// agents run them all the same.
func Says(front Front) said {
	src := front.Text
	doc, err := skill.ReadWith(src, front.Sidecar)
	if err != nil {
		doc = &skill.Document{BodyLine: 1}
	}
	out := said{name: doc.Name, idle: doc.Idle, doubts: doc.Doubts(), generatedFrom: generatedFrom(doc)}
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
	needs, _ := needsIn(front) // whoever installs it is told
	for i := range needs {
		if needs[i].Name != out.name {
			out.requires = append(out.requires, needs[i].Name)
		}
	}
	return out
}

// checkContent refuses, exit 4, a lock entry that says other things of the release than its front does.
func checkContent(s lock.Skill, front Front) error {
	is := Says(front)
	differs := func(what string, locked, said any) error { return lockDiffers(s, what, locked, said) }
	locked := s.Permissions
	if audit.Marked(locked) { // checkAsks compares the whole, this what needs no rules
		set, _ := audit.FromLock(locked)
		locked = slices.DeleteFunc(set.Texts(), func(p string) bool { return p != permLoadCommand })
	}
	switch {
	case is.name != "" && is.name != s.Called():
		return differs("its name", s.Called(), is.name)
	case !slices.Equal(locked, is.permissions):
		return differs("its list of permissions", listed(locked), listed(is.permissions))
	case !maps.Equal(s.GeneratedFrom, is.generatedFrom):
		return differs("generated_from", s.GeneratedFrom, is.generatedFrom)
	case (s.Source == "local" || s.Source == "embedded") && s.Version != is.version:
		return differs("its version", orNone(s.Version), orNone(is.version))
	}
	for _, name := range s.Requires {
		if !slices.Contains(is.requires, name) {
			return differs("its list of requirements", listed(s.Requires), listed(is.requires))
		}
	}
	return nil
}

// lockDiffers is the refusal of an entry that says one thing where its files say another.
func lockDiffers(s lock.Skill, what string, locked, said any) error {
	return diag.New(diag.Refused, codeContent, "skl.lock says of %s that %s is %v, and its files say %v", s.Name, what, locked, said).
		Hint("see who changed it: git diff skl.lock").Hint("to write what the files say: skl lock --upgrade %s", s.Name)
}

func listed(words []string) string { return orNone(strings.Join(words, ", ")) }

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
