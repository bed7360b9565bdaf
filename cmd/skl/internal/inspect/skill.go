package inspect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// A Skill is what a person needs to decide about a skill.
type Skill struct {
	Name         string         `json:"name"`
	Description  string         `json:"description"`
	Version      string         `json:"version"`
	License      string         `json:"license,omitempty"`
	Source       string         `json:"source"`
	URL          string         `json:"url,omitempty"`
	Commit       string         `json:"commit,omitempty"`
	Path         string         `json:"path,omitempty"`
	Digest       string         `json:"digest"`
	Files        int            `json:"files"`
	Bytes        int64          `json:"bytes"`
	Scripts      []string       `json:"scripts"`
	AllowedTools []string       `json:"allowed_tools"`
	SideEffects  []string       `json:"side_effects"`
	LoadCommands []string       `json:"load_commands"`
	Format       string         `json:"format,omitempty"`
	Dialects     []string       `json:"dialects"`
	Findings     int            `json:"findings"`
	Signed       string         `json:"signed,omitempty"` // of an installed skill: whose signature was verified, or "unsigned"
	Costs        Costs          `json:"costs"`
	Needs        []string       `json:"needs"`              // other skills
	Terms        Terms          `json:"terms"`              // on which it may be used
	Versions     []string       `json:"versions,omitempty"` // of a ref: those there are, newest first
	Agents       []Agent        `json:"agents"`             // those that are used here
	Copies       []roots.Record `json:"copies"`
}

// Terms are what a skill says of its own use, and where it comes from.
type Terms struct {
	ModelInvocation string            `json:"model_invocation"`          // auto, user-only, model-only or disabled
	Tools           string            `json:"tools,omitempty"`           // "only read, grep; never bash"; "" sets no limit
	Undeclared      bool              `json:"side_effects_undeclared"`   // then every effect is asked for
	LibraryDepends  []string          `json:"library_depends,omitempty"` // "pensar (r)"
	Interaction     string            `json:"interaction,omitempty"`     // returning or conversational
	Trust           string            `json:"trust,omitempty"`           // that counts, of an installed skill
	GeneratedFrom   map[string]string `json:"generated_from,omitempty"`
	Ungated         []string          `json:"ungated,omitempty"` // limits that agents which show it do not keep, as sentences
}

// termsOf reads the terms of a skill.
func termsOf(doc *skill.Document) Terms {
	t := Terms{ModelInvocation: string(doc.Invocation), Undeclared: doc.V1 == nil || doc.V1.SideEffects == nil}
	if doc.V1 == nil {
		return t
	}
	t.Interaction = doc.V1.Interaction
	var parts []string
	names := func(tools []skill.Tool) string {
		var out []string
		for _, t := range tools {
			out = append(out, t.String())
		}
		return strings.Join(out, ", ")
	}
	if tools := doc.V1.Tools; tools != nil {
		switch {
		case tools.Limited && len(tools.Allow) == 0:
			parts = append(parts, "none")
		case tools.Limited:
			parts = append(parts, "only "+names(tools.Allow))
		}
		if len(tools.Deny) > 0 {
			parts = append(parts, "never "+names(tools.Deny))
		}
	}
	t.Tools = strings.Join(parts, "; ")
	for _, d := range doc.V1.LibraryDepends {
		t.LibraryDepends = append(t.LibraryDepends, strings.TrimSpace(d.Name+" "+d.Version)+" ("+d.Ecosystem+")")
	}
	if doc.V1.GeneratedFrom != nil {
		t.GeneratedFrom = doc.V1.GeneratedFrom.Map()
	}
	return t
}

// Lines are the terms in words: a label, and what is said.
func (t Terms) Lines() (out [][2]string) {
	add := func(label, text string) {
		if text != "" {
			out = append(out, [2]string{label, text})
		}
	}
	start := map[string]string{"user-only": "people, not models", "model-only": "models, not people", "disabled": "nobody"}[t.ModelInvocation]
	if start != "" {
		start += " (model_invocation: " + t.ModelInvocation + ")"
	}
	add("started by", start)
	add("may call", t.Tools)
	add("packages", strings.Join(t.LibraryDepends, ", "))
	add("interaction", t.Interaction)
	add("trust", t.Trust)
	var origin []string
	for _, key := range []string{"ecosystem", "package", "version"} {
		if v := t.GeneratedFrom[key]; v != "" {
			origin = append(origin, v)
		}
	}
	add("made from", strings.Join(origin, " "))
	for _, u := range t.Ungated {
		add("not kept", u)
	}
	return out
}

// An Agent is one that may load a skill.
type Agent struct {
	Host  string `json:"host"`
	Name  string `json:"name"`
	Takes bool   `json:"takes"` // it loads a skill with this frontmatter, where it looks
}

// Costs are the tokens of a model that a skill takes, about.
type Costs struct {
	Always int `json:"always"` // its name and description, which an agent has before it
	Used   int `json:"used"`   // the rest of its SKILL.md, when it is used
}

// Info describes the installed copy of a name, or the release that a ref means, without installing it.
func (in *Inspector) Info(ctx context.Context, arg string) (Skill, error) {
	t, out, err := in.lookAt(ctx, arg)
	if err != nil {
		return Skill{}, err
	}
	out.describe(t)
	f, err := in.Applier.Load()
	if err != nil {
		return Skill{}, err
	}
	out.Agents = agentsFor(in.Applier.EnabledHosts(f), out.Name, t[skill.FileName].Data)
	return out, nil
}

// agentsFor says which of the hosts load the skill in the directory dir with that SKILL.md.
func agentsFor(ids []string, dir string, src []byte) []Agent {
	doc, err := skill.Read(src)
	c := hosts.Copy{Invalid: err != nil || doc.State == skill.Invalid, Front: skill.Front(src, doc)}
	if err == nil {
		c.Name = doc.Name
	}
	out := []Agent{}
	for _, id := range ids {
		if h, ok := hosts.Find(id); ok {
			out = append(out, Agent{Host: h.ID, Name: h.Name, Takes: h.Takes(c, dir)})
		}
	}
	return out
}

// lookAt reads the skill that arg means.
func (in *Inspector) lookAt(ctx context.Context, arg string) (apply.FileTree, Skill, error) {
	if ref.IsWord(arg) || strings.Contains(arg, "@") && !strings.Contains(arg, "/") && !strings.HasPrefix(arg, "skl:") {
		return in.installed(ctx, arg)
	}
	r, err := ref.Parse(arg)
	if err != nil {
		return nil, Skill{}, err
	}
	f, err := in.Applier.Load()
	if err != nil {
		return nil, Skill{}, err
	}
	o, err := in.Applier.Resolver(f.Manifest).Open(ctx, resolver.Want{Ref: in.Applier.Rebase(r)})
	if err != nil {
		return nil, Skill{}, err
	}
	found, err := o.Skills(ctx, nil)
	if err != nil {
		return nil, Skill{}, err
	}
	if len(found) > 1 {
		picked, err := in.Applier.ChooseSkills(r, found)
		if err == nil && len(picked) != 1 {
			err = diag.New(diag.Misuse, "usage", "skl info describes one skill, and %d were chosen", len(picked))
		}
		if err != nil {
			return nil, Skill{}, err
		}
		found = picked
	}
	s := found[0].Lock
	s.Ref = r.String() // a registry's release is fetched by its name
	versions, err := o.Versions(ctx)
	if err != nil {
		return nil, Skill{}, err
	}
	t, err := in.Applier.ReleaseTree(ctx, s)
	return t, Skill{Name: s.Name, Version: s.Version, Source: s.Source, URL: s.URL, Commit: string(s.Commit), Path: s.Path, Versions: versions, Copies: []roots.Record{}}, err
}

// installed reads the active copy of a name, else the first.
func (in *Inspector) installed(ctx context.Context, name string) (apply.FileTree, Skill, error) {
	l, err := in.Applier.Discover(ctx, nil)
	if err != nil {
		return nil, Skill{}, err
	}
	found, err := scope.Copies(l, name)
	if err != nil {
		return nil, Skill{}, err
	}
	r := found[max(0, active(found))]
	files, err := scope.FilesOf(r)
	if err != nil {
		return nil, Skill{}, err
	}
	signed, err := in.signed(r)
	if err != nil {
		return nil, Skill{}, err
	}
	t, err := apply.ReadTree(files)
	url, commit := r.Origin()
	terms := Terms{Trust: r.Trust}
	for _, x := range r.Warnings {
		if x.Code == "W_UNGATED" {
			terms.Ungated = append(terms.Ungated, x.Message)
		}
	}
	return t, Skill{Terms: terms, Signed: signed, Name: r.Name, Version: r.Version, Source: r.Source, URL: url, Commit: string(commit), Path: r.Path, Digest: r.Digest, Copies: found}, err
}

// signed is whose signature skl.lock records for the copy that it installed; "" if it installed none of that name here.
func (in *Inspector) signed(r roots.Record) (string, error) {
	f, err := in.Applier.Load()
	if err != nil {
		return "", err
	}
	s, ok := f.Lock.Skill(r.Name)
	switch {
	case !ok || string(s.Tree) != r.Digest:
		return "", nil
	case s.Signer == nil:
		return "unsigned", nil
	}
	return cmp.Or(s.Signer.Identity, s.Signer.Repository, s.Signer.Key), nil
}

// describe fills in what the files say.
func (out *Skill) describe(t apply.FileTree) {
	out.Needs = []string{}
	out.Scripts, out.AllowedTools, out.SideEffects, out.LoadCommands, out.Dialects = []string{}, []string{}, []string{}, []string{}, []string{}
	var entries []bundle.Entry
	for path, f := range t {
		out.Files++
		out.Bytes += int64(len(f.Data))
		entries = append(entries, bundle.Entry{Path: path, Kind: f.Kind, SHA256: sha256.Sum256(f.Data)})
		if isScript(path, f.Data) {
			out.Scripts = append(out.Scripts, path)
		}
	}
	slices.Sort(out.Scripts)
	if out.Digest == "" {
		slices.SortFunc(entries, func(a, b bundle.Entry) int { return strings.Compare(a.Path, b.Path) })
		out.Digest = string(bundle.TreeDigest(entries))
	}
	src := t[skill.FileName].Data
	doc, err := skill.Read(src)
	if err != nil || doc == nil {
		return
	}
	out.Costs = Costs{chunk.Tokens([]byte(doc.Name + ": " + doc.Description)), chunk.Tokens(src[min(doc.Body, len(src)):])}
	out.Needs = append(out.Needs, apply.Requires(doc)...)
	trust, ungated := out.Terms.Trust, out.Terms.Ungated
	out.Terms = termsOf(doc)
	out.Terms.Trust, out.Terms.Ungated = trust, ungated
	out.Description, out.License, out.Format = doc.Description, doc.License, doc.Format
	out.AllowedTools, out.Dialects = append(out.AllowedTools, doc.AllowedTools...), append(out.Dialects, doc.Dialects...)
	if doc.V1 != nil {
		for _, e := range doc.V1.SideEffects {
			out.SideEffects = append(out.SideEffects, string(e))
		}
	}
	out.LoadCommands = append(out.LoadCommands, apply.Says(src).Lines...)
	out.Findings = len(doc.Warnings)
}

// scriptEndings are those of files that an interpreter runs.
var scriptEndings = []string{
	".awk", ".bash", ".bat", ".cjs", ".cmd", ".fish", ".js", ".lua", ".mjs", ".php", ".pl", ".ps1", ".py", ".r", ".rb", ".sh", ".tcl", ".ts", ".zsh",
}

// isScript reports whether a file is something to run: by its name or first line a script, or a program. The bit
// that makes a file executable says little: some systems set it for all.
func isScript(path string, data []byte) bool {
	if slices.Contains(scriptEndings, strings.ToLower(filepath.Ext(path))) {
		return true
	}
	for _, magic := range []string{"#!", "\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	return false
}
