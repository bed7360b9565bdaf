package inspect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/order"
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
	Permissions  []string       `json:"permissions"`
	Asks         []string       `json:"asks"` // these in at most three lines for people
	Format       string         `json:"format,omitempty"`
	Dialects     []string       `json:"dialects"`
	Findings     int            `json:"findings"`
	Audit        *AuditCount    `json:"audit,omitempty"`  // what an audit of its files finds, if anything
	Signed       string         `json:"signed,omitempty"` // of an installed skill: whose signature was verified, or "unsigned"
	Costs        Costs          `json:"costs"`
	Needs        []string       `json:"needs"`              // other skills
	Terms        Terms          `json:"terms"`              // on which it may be used
	Versions     []string       `json:"versions,omitempty"` // of a ref: those there are, newest first
	Agents       []Agent        `json:"agents"`             // those that are used here
	Copies       []roots.Record `json:"copies"`

	// Withdrawn is what the registry of the installed copy took back.
	Withdrawn []apply.Withdrawal `json:"withdrawn,omitempty"`
}

// An AuditCount is how much an audit finds, by severity, and the worst of it.
type AuditCount struct {
	Refuse int             `json:"refuse,omitempty"`
	High   int             `json:"high,omitempty"`
	Medium int             `json:"medium,omitempty"`
	Low    int             `json:"low,omitempty"`
	First  content.Finding `json:"first"`
}

// countFindings counts; nil if there are none.
func countFindings(found []content.Finding) *AuditCount {
	if len(found) == 0 {
		return nil
	}
	out := &AuditCount{First: found[0]}
	for _, f := range found {
		switch f.Severity {
		case content.Refuse:
			out.Refuse++
		case content.High:
			out.High++
		case content.Medium:
			out.Medium++
		default:
			out.Low++
		}
		if f.Severity != out.First.Severity && f.Severity.AtLeast(out.First.Severity) {
			out.First = f
		}
	}
	return out
}

// String is how many there are and the first of the worst: "1 high, 2 low: SKILL.md:12: what it is [RULE]".
func (a *AuditCount) String() string {
	var words []string
	for _, w := range []struct {
		n    int
		word string
	}{{a.Refuse, "refused"}, {a.High, "high"}, {a.Medium, "medium"}, {a.Low, "low"}} {
		if w.n > 0 {
			words = append(words, strconv.Itoa(w.n)+" "+w.word)
		}
	}
	at := diag.Position{File: a.First.File, Line: a.First.Line}
	return strings.Join(words, ", ") + ": " + diag.Printable(at.String()) + ": " + a.First.Message + " [" + a.First.Rule + "]"
}

// FindingsLine is what an audit finds, and the command that shows all of it; "none" if that is nothing.
func (s *Skill) FindingsLine() string {
	switch {
	case s.Audit == nil:
		return "none"
	case len(s.Copies) > 0:
		return s.Audit.String() + "; all: skl audit " + s.Name
	}
	return s.Audit.String()
}

// Terms are what a skill says of its own use, and where it comes from.
type Terms struct {
	ModelInvocation string            `json:"model_invocation"`          // auto, user-only, model-only or disabled
	Tools           string            `json:"tools,omitempty"`           // "only read, grep; never bash"; "" sets no limit
	Undeclared      bool              `json:"side_effects_undeclared"`   // then every effect is asked for
	LibraryDepends  []string          `json:"library_depends,omitempty"` // "pensar (r)"
	Interaction     string            `json:"interaction,omitempty"`     // returning or conversational
	Trust           string            `json:"trust,omitempty"`           // that counts, of an installed skill
	TrustReason     string            `json:"trust_reason,omitempty"`    // why it is that
	GeneratedFrom   map[string]string `json:"generated_from,omitempty"`
	DerivedFrom     map[string]string `json:"derived_from,omitempty"`
	Attach          bool              `json:"attach,omitempty"`        // asked for, and done by nobody
	Compatibility   string            `json:"compatibility,omitempty"` // as written
	RunOnly         []string          `json:"run_only,omitempty"`      // keys that skl run keeps and no agent does
	NoEffect        []string          `json:"no_effect,omitempty"`     // keys of corteza.skill, where skill_format is missing
	Ungated         []string          `json:"ungated,omitempty"`       // limits that agents which show it do not keep, as sentences
	Off             []string          `json:"off,omitempty"`           // agents that are told not to load it, and by which file, as sentences
	Accepted        []manifest.Ack    `json:"accepted,omitempty"`      // records of what its releases ask for
}

// termsOf reads the terms of a skill.
func termsOf(doc *skill.Document) Terms {
	t := Terms{ModelInvocation: string(doc.Invocation), NoEffect: doc.Idle, Compatibility: doc.Compatibility, Undeclared: doc.SideEffects == nil}
	t.Tools, t.RunOnly = doc.Tools.Words(), doc.RunOnly()
	if doc.V1 == nil {
		return t
	}
	t.Interaction = doc.V1.Interaction
	for _, d := range doc.V1.LibraryDepends {
		t.LibraryDepends = append(t.LibraryDepends, d.String())
	}
	if doc.V1.GeneratedFrom != nil {
		t.GeneratedFrom = doc.V1.GeneratedFrom.Map()
	}
	if doc.V1.DerivedFrom != nil {
		t.DerivedFrom = doc.V1.DerivedFrom.Map()
	}
	t.Attach = doc.V1.Attach
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
	add("made for", t.Compatibility)
	add("packages", strings.Join(t.LibraryDepends, ", "))
	add("interaction", t.Interaction)
	if t.Trust != "" {
		add("trust", t.Trust+", "+t.TrustReason)
	}
	add("made from", originLine(t.GeneratedFrom))
	add("derived from", originLine(t.DerivedFrom))
	if len(t.RunOnly) > 0 {
		add("not kept", strings.Join(t.RunOnly, ", ")+": by no agent, by skl run alone")
	}
	if t.Attach {
		add("not kept", "attach: by nobody; scripts of the skill attach packages by library()")
	}
	if len(t.NoEffect) > 0 {
		add("no effect", skill.IdleText(t.NoEffect)+"; skl convert DIR --to v1 adds it")
	}
	for _, k := range t.Accepted {
		add("accepted", k.Code+" "+apply.Recorded(k))
	}
	for _, u := range t.Ungated {
		add("not kept", u)
	}
	for _, o := range t.Off {
		add("off", o)
	}
	return out
}

// originLine is the package that a skill comes from.
func originLine(from map[string]string) string {
	var out []string
	for _, key := range []string{"ecosystem", "package", "version"} {
		if v := from[key]; v != "" {
			out = append(out, v)
		}
	}
	return strings.Join(out, " ")
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
	f, err := in.Applier.Scope.Load()
	if err != nil {
		return Skill{}, err
	}
	t, out, err := in.lookAt(ctx, arg)
	if err != nil {
		return Skill{}, err
	}
	in.Applier.WarnBlocked(out.Withdrawn)
	out.describe(t)
	out.Agents = agentsFor(in.Applier.Scope.EnabledHosts(f), out.Name, t[skill.FileName].Data)
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
func (in *Inspector) lookAt(ctx context.Context, arg string) (trees.Tree, Skill, error) {
	if ref.IsWord(arg) || roots.IsQualified(arg) || strings.Contains(arg, "@") && !strings.Contains(arg, "/") && !strings.HasPrefix(arg, "skl:") {
		return in.installed(ctx, arg)
	}
	r, err := ref.Parse(arg)
	if err != nil {
		return nil, Skill{}, err
	}
	f, err := in.Applier.Scope.Load()
	if err != nil {
		return nil, Skill{}, err
	}
	o, err := in.Applier.Scope.Resolver(f.Manifest).Open(ctx, resolver.Want{Ref: in.Applier.Rebase(r), Retry: func(r ref.Ref) string { return "skl info " + diag.Quote(r.String()) }})
	if err != nil {
		return nil, Skill{}, err
	}
	found, err := o.Skills(ctx, nil)
	if err != nil {
		return nil, Skill{}, err
	}
	if len(found) > 1 {
		picked, err := in.Applier.ChooseSkills(r, found, nil, true)
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
	t, err := trees.Release(ctx, in.Applier.Scope, s)
	return t, Skill{Name: s.Name, Version: s.Version, Source: s.Source, URL: s.URL, Commit: string(s.Commit), Path: s.Path, Versions: versions, Copies: []roots.Record{}}, err
}

// installed reads the active copy of a name, else the first.
func (in *Inspector) installed(ctx context.Context, name string) (trees.Tree, Skill, error) {
	l, err := in.Applier.Scope.Discover(ctx, nil)
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
	withdrawn, err := in.Applier.Withdrawals(ctx, apply.Glance, in.Applier.ReleaseIn(r.Path))
	if err != nil {
		return nil, Skill{}, err
	}
	t, err := trees.Read(files)
	url, commit := r.Origin()
	terms := Terms{Trust: r.Trust, TrustReason: cmp.Or(r.TrustReason, "by its place")}
	for _, x := range r.Warnings {
		switch x.Code {
		case "W_UNGATED":
			terms.Ungated = append(terms.Ungated, x.Message)
		case "W_OFF":
			terms.Off = append(terms.Off, x.Message)
		}
	}
	if f, err := in.Applier.Scope.Load(); err == nil && r.Scope == string(in.Applier.Scope.Kind) {
		terms.Accepted = slices.DeleteFunc(slices.Clone(f.Manifest.Acks), func(k manifest.Ack) bool { return k.Name != r.Name || k.Winner+k.Loser != "" })
	}
	return t, Skill{Terms: terms, Signed: signed(r), Name: r.Name, Version: r.Version, Source: r.Source, URL: url, Commit: string(commit), Path: r.Path, Digest: r.Digest, Copies: found, Withdrawn: withdrawn}, err
}

// signed is whose signature of a copy was verified here, "unsigned" if it has none, and "" if nothing was verified, or it was not installed.
func signed(r roots.Record) string {
	switch {
	case r.Signature == nil:
		return ""
	case r.Signature.State == string(attest.Verified):
		return r.Signature.Signer
	case r.Signature.State == string(attest.Unsigned):
		return "unsigned"
	}
	return ""
}

// describe fills in what the files say.
func (out *Skill) describe(t trees.Tree) {
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
		order.Sort(entries, func(a, b bundle.Entry) int { return strings.Compare(a.Path, b.Path) })
		out.Digest = string(bundle.TreeDigest(entries))
	}
	out.Audit = countFindings(t.Findings())
	report := t.Asks()
	out.Permissions, out.Asks = report.Set().Texts(), append([]string{}, report.Summary(8)...)
	src := t[skill.FileName].Data
	doc, err := skill.ReadWith(src, t.Sidecar())
	if err != nil || doc == nil {
		return
	}
	out.Costs = Costs{chunk.Tokens([]byte(doc.Name + ": " + doc.Description)), chunk.Tokens(src[min(doc.Body, len(src)):])}
	out.Needs = append(out.Needs, doc.Required()...)
	was := out.Terms
	out.Terms = termsOf(doc)
	out.Terms.Trust, out.Terms.TrustReason, out.Terms.Ungated, out.Terms.Off, out.Terms.Accepted = was.Trust, was.TrustReason, was.Ungated, was.Off, was.Accepted
	out.Description, out.License, out.Format = doc.Description, doc.License, doc.Format
	out.AllowedTools, out.Dialects = append(out.AllowedTools, doc.AllowedTools...), append(out.Dialects, doc.Dialects...)
	out.SideEffects = append(out.SideEffects, doc.SideEffects...)
	out.LoadCommands = append(out.LoadCommands, apply.Says(apply.Front{Text: src, Sidecar: t.Sidecar()}).Lines...)
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
