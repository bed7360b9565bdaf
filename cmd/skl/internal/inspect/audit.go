package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// An AuditRequest says what is audited.
type AuditRequest struct {
	Args   []string         // paths of skills, of folders with skills, and names of installed skills; none is all skills of the scope
	FailOn content.Severity // findings from here on do not hold; "" is high
}

// Audited is what an audit found.
type Audited struct {
	OK     bool             `json:"ok"`
	FailOn content.Severity `json:"fail_on"`
	Skills []AuditedSkill   `json:"skills"`
}

// An AuditedSkill is what was found in one skill.
type AuditedSkill struct {
	Name        string                   `json:"name"`
	Path        string                   `json:"path"`
	Installed   bool                     `json:"installed"` // a copy of the scope, and not a folder that was named
	Permissions []string                 `json:"permissions"`
	Asks        []string                 `json:"asks"`   // these in at most three lines for people
	Places      map[string][]audit.Place `json:"places"` // where each permission shows
	Findings    []content.Finding        `json:"findings"`
	Failed      int                      `json:"failed"`   // findings that do not hold
	Accepted    []string                 `json:"accepted"` // rules whose findings were accepted when it was installed
	Allows      []content.Allow          `json:"allows"`   // remarks of its publisher
	Coverage    content.Coverage         `json:"coverage"`
	NotAudited  string                   `json:"not_audited,omitempty"` // why the skill was not read as a whole; then the audit does not hold
}

// Findings are those of all skills for SARIF; files are relative to base.
func (a Audited) Findings(base string) []diag.Finding {
	out := []diag.Finding{}
	for _, s := range a.Skills {
		dir := s.Path
		if rel, err := filepath.Rel(base, s.Path); err == nil && !strings.HasPrefix(rel, "..") {
			dir = rel
		}
		if s.NotAudited != "" {
			out = append(out, diag.Finding{File: filepath.ToSlash(dir), Rule: "AUD-UNREAD", Severity: diag.SeverityError, Message: "not audited: " + s.NotAudited})
		}
		for _, f := range s.Findings {
			one := f.Lint()
			one.File = filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(f.File)))
			out = append(out, one)
		}
	}
	return out
}

// Audit says what skills do or tell an agent to do against their user, and what they ask for. Of installed skills, findings that were
// accepted when they were installed hold; of folders, which somebody works on, those that skl:allow names. Structural findings
// never do.
func (in *Inspector) Audit(ctx context.Context, q AuditRequest) (Audited, error) {
	out := Audited{OK: true, FailOn: q.FailOn, Skills: []AuditedSkill{}}
	if out.FailOn == "" {
		out.FailOn = content.High
	}
	f, err := in.Applier.Scope.Load()
	if err != nil {
		return Audited{}, err
	}
	targets, err := in.auditTargets(ctx, q.Args)
	if err != nil {
		return Audited{}, err
	}
	for _, t := range targets {
		if err := ctx.Err(); err != nil {
			return Audited{}, err
		}
		var files []audit.File
		unread := []content.Unread{{File: ".", Why: fmt.Sprint(t.why)}}
		if t.why == nil {
			if files, unread, err = auditFiles(t.files); err != nil {
				return Audited{}, err
			}
		}
		one := t.audit(files, unread, f.Lock, out.FailOn)
		for _, u := range unread {
			if u.Why != isLink && one.NotAudited == "" {
				one.NotAudited = u.File + ": " + u.Why
			}
		}
		out.OK = out.OK && one.Failed == 0 && one.NotAudited == ""
		out.Skills = append(out.Skills, one)
	}
	return out, nil
}

// An auditTarget is a skill that is audited.
type auditTarget struct {
	name, path, digest string
	installed          bool
	files              fs.FS
	why                error // it is not read
}

func (t auditTarget) audit(files []audit.File, unread []content.Unread, l *lock.Lock, failOn content.Severity) AuditedSkill {
	r := content.Scan(files)
	r.Coverage.Unread = append(r.Coverage.Unread, unread...)
	one := AuditedSkill{Name: t.name, Path: t.path, Installed: t.installed, Permissions: append([]string{}, r.Asks.Set().Texts()...), Asks: append([]string{}, r.Asks.Summary(5)...),
		Places: map[string][]audit.Place{}, Findings: r.Findings, Accepted: []string{}, Allows: r.Allows, Coverage: r.Coverage}
	for _, p := range r.Asks.Set() {
		one.Places[p.String()] = r.Asks.At(p)
	}
	if s, ok := l.Skill(t.name); ok && t.installed && string(s.Tree) == t.digest {
		one.Accepted = append(one.Accepted, s.Findings...)
	}
	for _, f := range r.Findings {
		if one.fails(f, failOn) {
			one.Failed++
		}
	}
	return one
}

// fails reports whether a finding does not hold.
func (s AuditedSkill) fails(f content.Finding, failOn content.Severity) bool {
	spared := slices.Contains(s.Accepted, f.Rule) || !s.Installed && f.Allowed != ""
	return f.Severity.AtLeast(failOn) && (f.Severity == content.Refuse || !spared)
}

// auditTargets are the skills that are meant.
func (in *Inspector) auditTargets(ctx context.Context, args []string) (out []auditTarget, err error) {
	l, err := in.Applier.Scope.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	installed := func(r roots.Record) error {
		files, err := scope.FilesOf(r)
		out = append(out, auditTarget{name: r.Name, path: r.Path, digest: r.Digest, installed: true, files: files})
		return err
	}
	if len(args) == 0 {
		for _, r := range l.Skills {
			if r.Scope == string(in.Applier.Scope.Kind) && r.CopyOf == "" {
				if err := installed(r); err != nil {
					out[len(out)-1].why = err // the others are audited all the same
				}
			}
		}
		return out, nil
	}
	for _, arg := range args {
		dir := scope.Absolute(in.Applier.Scope.Cwd, arg)
		if (ref.IsWord(arg) || roots.IsQualified(arg)) && (len(l.Lookup(arg)) > 0 || !scope.Exists(dir)) {
			found, err := scope.Copies(l, arg)
			if err != nil {
				return nil, err
			}
			for _, r := range found {
				if r.CopyOf == "" {
					if err := installed(r); err != nil {
						return nil, err
					}
				}
			}
			continue
		}
		if filepath.Base(dir) == skill.FileName {
			dir = filepath.Dir(dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder, and no skill of that name is installed", arg).Hint("skl list")
		}
		if scope.Exists(filepath.Join(dir, skill.FileName)) {
			out = append(out, auditTarget{name: filepath.Base(dir), path: dir, files: scope.FilesIn(dir)})
			continue
		}
		below, err := skillFolders(dir)
		if err != nil {
			return nil, err
		}
		if len(below) == 0 {
			below = []string{dir}
		}
		for _, d := range below {
			out = append(out, auditTarget{name: filepath.Base(d), path: d, files: scope.FilesIn(d)})
		}
	}
	return out, nil
}

// skillFolders are the folders below dir that hold a SKILL.md.
func skillFolders(dir string) (out []string, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == ".skl"):
			return filepath.SkipDir
		case d.Name() == skill.FileName && !d.IsDir():
			out = append(out, filepath.Dir(p))
		}
		return nil
	})
	return out, err
}

// isLink is why a link is not read that leads to no file of the skill.
const isLink = "it is no regular file, or a link to none of the skill"

// auditFiles reads all files of a folder, also those that no bundle has. Links out of it are not followed, and what is over the limit of an
// installed skill is not read; both are said.
func auditFiles(fsys fs.FS) (files []audit.File, unread []content.Unread, err error) {
	links := map[string]string{}
	left := bundle.InstallLimits.Bytes
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && p == ".":
			return err
		case err != nil:
			unread = append(unread, content.Unread{File: p, Why: "it cannot be read"})
			return nil
		case d.IsDir():
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		case d.Type() == fs.ModeSymlink:
			if target, err := fs.ReadLink(fsys, p); err == nil {
				links[p] = filepath.ToSlash(target)
				return nil
			}
			fallthrough
		case !d.Type().IsRegular():
			unread = append(unread, content.Unread{File: p, Why: isLink})
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if left -= info.Size(); left < 0 || len(files) >= bundle.InstallLimits.Entries {
			unread = append(unread, content.Unread{File: p, Bytes: int(info.Size()), Why: "the folder is larger than a skill may be"})
			return nil
		}
		data, err := fs.ReadFile(fsys, p)
		if errors.Is(err, fs.ErrPermission) {
			unread = append(unread, content.Unread{File: p, Bytes: int(info.Size()), Why: "it cannot be read"})
			return nil
		}
		files = append(files, audit.File{Path: p, Data: data, Executable: info.Mode()&0o100 != 0})
		return err
	})
	own := len(files)
	files = audit.Linked(files, links)
	for _, f := range files[own:] {
		delete(links, f.Path)
	}
	for _, p := range slices.Sorted(maps.Keys(links)) {
		if info, err := fs.Stat(fsys, p); err != nil || !info.IsDir() { // one to a folder of the skill has nothing of its own
			unread = append(unread, content.Unread{File: p, Why: isLink})
		}
	}
	return files, unread, err
}

// auditProblems are the findings that do not hold, as lines.
func auditProblems(a Audited) (lines []string) {
	for _, s := range a.Skills {
		if s.NotAudited != "" {
			lines = append(lines, s.Name+": not audited: "+s.NotAudited)
		}
		for _, f := range s.Findings {
			if s.fails(f, a.FailOn) {
				lines = append(lines, s.Name+": "+diag.Position{File: f.File, Line: f.Line}.String()+": "+f.Message+" ["+f.Rule+"]")
			}
		}
	}
	return lines
}
