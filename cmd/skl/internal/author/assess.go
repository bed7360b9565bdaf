package author

import (
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// assess fills in a plan what drafts change: the files, what is lost, what lint finds before and after, and what the skills may do then.
func (a *Author) assess(p *author.Plan, all []placed) (Outcome, error) {
	p.V, p.Skills, p.Losses, p.Lint = 1, []author.Part{}, remarks(p.Losses), author.Lint{Errors: []diag.Finding{}}
	p.Left, p.Questions = append([]string{}, p.Left...), append([]string{}, p.Questions...)
	out := Outcome{Plan: p, Diff: []trees.FileDiff{}, Needs: []string{}, Wrote: []string{}}
	gains := gains{added: map[string]bool{}, removed: map[string]bool{}, needs: map[string]bool{}}
	var planned []plannedSkill
	for i := range all {
		d := &all[i]
		was, now, base, result, err := treesOf(d)
		if err != nil {
			return Outcome{}, err
		}
		files, err := author.FilesOf(d.Draft)
		if err != nil {
			return Outcome{}, err
		}
		p.Skills = append(p.Skills, author.Part{Skill: a.relative(d.dir), Base: base, Result: result, Files: files})
		for _, f := range trees.Diff(was, now) {
			if len(all) > 1 {
				f.Path = d.Name + "/" + f.Path
			}
			out.Diff = append(out.Diff, f)
		}
		a.countLint(&p.Lint, d, all)
		planned = append(planned, plannedSkill{d, sightOf(was), sightOf(now)})
	}
	losses, err := lost(planned)
	if err != nil {
		return Outcome{}, err
	}
	p.Losses, p.Whole = append(p.Losses, losses...), p.Sum()
	gains.compareAll(planned)
	p.Permissions = author.Permissions{Added: sorted(gains.added), Removed: sorted(gains.removed)}
	out.Needs, out.OK = sorted(gains.needs), out.Clean()
	return out, nil
}

// remarks are the losses that only who converts knows: the others are looked for anew, whatever a plan says.
func remarks(losses []skill.Loss) []skill.Loss {
	return slices.DeleteFunc(append([]skill.Loss{}, losses...), func(l skill.Loss) bool { return l.Code == skill.LossText || l.Code == skill.LossRule })
}

func sorted(set map[string]bool) []string {
	return append([]string{}, slices.Sorted(maps.Keys(set))...)
}

// relative is a folder as plans name it: below the working directory relative to that, elsewhere whole.
func (a *Author) relative(dir string) string {
	cwd, err := filepath.EvalSymlinks(a.Scope.Cwd)
	if err == nil && scope.Below(cwd, dir) || cwd == dir {
		if rel, err := filepath.Rel(cwd, dir); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(dir)
}

// countLint adds what lint finds in a skill before and after. After is beside all skills of the plan.
func (a *Author) countLint(l *author.Lint, d *placed, all []placed) {
	beside := map[string]fs.FS{}
	for i := range all {
		beside[all[i].dir] = all[i].FS()
	}
	lint := (&form.Linter{Scope: a.Scope, Beside: beside}).Findings(d.dir, skill.LintOptions{})
	count := func(c *author.Count, found []diag.Finding) {
		for _, f := range found {
			switch f.Severity {
			case diag.SeverityError:
				c.Errors++
			case diag.SeverityWarning:
				c.Warnings++
			}
		}
	}
	if !d.IsNew() {
		count(&l.Before, a.linter(d.dir)(d.Before()))
	}
	after := lint(d.FS())
	count(&l.After, after)
	for _, f := range after {
		if f.Severity == diag.SeverityError {
			f.Fix = nil
			f.File = filepath.ToSlash(a.Scope.Short(filepath.Join(d.dir, filepath.FromSlash(f.File))))
			l.Errors = append(l.Errors, f)
		}
	}
}

// gains are what skills may do after a change and not before, and the other way round, in the words of --accept.
type gains struct{ added, removed, needs map[string]bool }

func (g gains) compare(was, now sight) {
	for _, c := range audit.Compare(was.asks, now.asks) {
		name := c.Permission.String()
		switch {
		case c.Gone:
			g.removed[name] = true
		case c.Escalates:
			g.needs[name] = true
			fallthrough
		default:
			g.added[name] = true
		}
	}
	for host := range now.hosts {
		if !was.hosts[host] {
			g.add("url:" + host)
		}
	}
	for name, n := range now.hidden {
		if n > was.hidden[name] {
			g.add("hidden:" + name)
		}
	}
	if total(now.veiled) > total(was.veiled) {
		for name, n := range now.veiled {
			if n > was.veiled[name] {
				g.add("hidden:" + name)
			}
		}
	}
	for name, from := range now.needs {
		if was.needs[name] != from {
			g.add("requires:" + diag.Clip(diag.Printable(from), 255))
		}
	}
	had := map[string]bool{} // wherever it stood
	for name, sum := range was.obeyed {
		had[path.Base(name)+" "+sum] = true
	}
	for name, sum := range now.obeyed {
		if !had[path.Base(name)+" "+sum] {
			g.add("file:" + name)
		}
	}
	found := map[string]int{}
	for _, f := range was.findings {
		found[f.Rule]++
	}
	for _, f := range now.findings {
		if found[f.Rule]--; found[f.Rule] < 0 && f.Severity.AtLeast(content.Medium) {
			g.add(f.Rule)
		}
	}
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func (g gains) add(name string) { g.added[name], g.needs[name] = true, true }
