package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/spec/diag"
)

// skillifyChecked is what skl skillify --check prints.
type skillifyChecked struct {
	OK     bool           `json:"ok"`
	Skills []author.Fresh `json:"skills"`
}

func (w *world) skillifyCheck(ctx context.Context, c *cli.Context) error {
	list, err := w.author().Freshness(ctx, author.FreshRequest{Skills: c.Args().Slice(), From: c.String("from"), Version: build.Current().Version})
	if err != nil {
		return err
	}
	holds := true
	for i := range list {
		holds = holds && list[i].Holds()
	}
	return w.verdict(skillifyChecked{holds, list}, holds, "skills_behind", func(say *report.Text) {
		if len(list) == 0 {
			say.Note("no skill here was made of a package")
			return
		}
		rows := [][]string{{"SKILL", "PACKAGE", "MADE OF", "HERE", "STATE"}}
		for i := range list {
			f := &list[i]
			rows = append(rows, []string{f.Name, report.OrDash(strings.TrimSuffix(f.Ecosystem+":"+f.Package, ":")), report.OrDash(f.From), report.OrDash(f.To), f.Words()})
		}
		say.Rows(rows)
		for i := range list {
			w.sayFresh(say, &list[i])
		}
	})
}

func (w *world) sayFresh(say *report.Text, f *author.Fresh) {
	at := w.scope.Short(f.Path)
	if f.Why != "" {
		say.Note("%s: %s", at, f.Why)
	}
	sayAPI(say, &f.API)
	w.sayMentions(say, at, f.Package, f.Broken)
	sayPlaces(say, "edited", f.Edited)
	switch {
	case f.Copy && !f.Holds():
		say.Note("%s is an installed copy: update where it comes from, then: skl update %s", at, f.Name)
	case !f.Updatable():
	case f.Lost:
		say.Hint("make it anew beside it: skl skillify %s -o DIR", diag.Quote(f.Ecosystem+":"+f.Package))
	default:
		if f.Drift == "older" && f.Against == "" {
			say.Note("%s is older than what it was made of; an update to it names it", f.Package)
		}
		say.Hint("%s", f.Mend(at))
	}
}

func (w *world) sayMentions(say *report.Text, at, pkg string, list []author.Mention) {
	for i, m := range list {
		if i == 10 {
			say.Note("and %d more places that name what is gone: --json has them", len(list)-i)
			break
		}
		say.Warn("%s names %s, which %s does not have", diag.Position{File: at + "/" + m.File, Line: m.Line}, m.Symbol, pkg)
	}
}

// maxNamed is how many names a line has.
const maxNamed = 8

func sayAPI(say *report.Text, d *author.APIDiff) {
	for _, part := range []struct {
		sign  string
		names []string
	}{{"added", d.Added}, {"removed", d.Removed}, {"deprecated", d.Deprecated}} {
		if n := len(part.names); n > 0 {
			more := ""
			if n > maxNamed {
				more = fmt.Sprintf(" and %d more", n-maxNamed)
			}
			say.Note("%s: %s%s", part.sign, strings.Join(part.names[:min(n, maxNamed)], ", "), more)
		}
	}
	for i, c := range d.Changed {
		if i == maxNamed {
			say.Note("and %d more signatures", len(d.Changed)-i)
			break
		}
		if strings.Contains(c.From+c.To, "\n") {
			_, add, remove := trees.Lines(c.From+"\n", c.To+"\n")
			say.Note("changed: %s, +%d -%d lines", c.ID, add, remove)
			continue
		}
		say.Note("changed: %s", report.OrDash(c.From))
		say.Note("     to: %s", report.OrDash(c.To))
	}
}

func sayPlaces(say *report.Text, what string, places []author.Place) {
	for i, p := range places {
		if i == maxNamed {
			say.Note("and %d more places: --json has them", len(places)-i)
			break
		}
		word := what
		if p.What != "edited" && what != "conflict" {
			word = what + " (" + p.What + ")"
		}
		say.Note("%s: %s", word, p)
	}
}

func (w *world) skillifyUpdate(ctx context.Context, c *cli.Context) error {
	if c.Args().Len() != 1 {
		return diag.New(diag.Misuse, "usage", "--update takes one skill").Hint("skl skillify --check lists those that were made")
	}
	r, err := w.author().Renew(ctx, author.RenewRequest{Skill: c.Args().First(), From: c.String("from"), Version: build.Current().Version, Merge: c.Bool("merge"), DryRun: c.Bool("dry-run"),
		Prose: author.Prose{Summarize: c.Bool("summarize"), Model: c.String("model")}})
	if err != nil {
		return err
	}
	text := func(say *report.Text) { w.sayRenewal(say, &r) }
	switch r.Result {
	case author.HasEdits:
		return report.Report{Result: r, Text: text, End: report.Refused("local_edits")}.Write(w.ui)
	case author.Conflicting:
		return report.Report{Result: r, Text: text, End: report.Unmet("merge_conflicts")}.Write(w.ui)
	}
	return w.show(r, nil, text)
}

func (w *world) sayRenewal(say *report.Text, r *author.Renewal) {
	at := w.scope.Short(r.Put)
	to := ""
	if r.To != r.From {
		to = " → " + r.To
	}
	say.Print("%s%s of %s %s%s  %s", map[string]string{author.Renewed: "✓ updated ", author.WouldRenew: "would update ", author.Unchanged: "✓ unchanged ", author.Conflicting: "not updated: ", author.HasEdits: "not updated: "}[r.Result],
		r.Name, r.Package, r.From, to, at)
	sayAPI(say, &r.API)
	for i := range r.Diff {
		f := &r.Diff[i]
		if f.Path == author.IndexName {
			continue
		}
		say.Print("  %s %s +%d -%d", f.Change, f.Path, f.Add, f.Remove)
	}
	for i := range r.Diff {
		if r.Diff[i].Path == "SKILL.md" && r.Diff[i].Text != "" {
			say.Folded([]byte(report.PrintableLines(r.Diff[i].Text)))
		}
	}
	sayPlaces(say, "kept", r.Kept)
	sayPlaces(say, "conflict", r.Conflicts)
	w.sayMentions(say, at, r.Package, r.Still)
	for _, f := range r.Findings {
		say.Note("%s: %s: %s [%s]", diag.Position{File: f.File, Line: f.Line}, string(f.Severity), f.Message, f.Rule)
	}
	mend := r.Fresh.Mend(w.scope.Short(r.Path))
	switch r.Result {
	case author.HasEdits:
		sayPlaces(say, "edited", r.Edited)
		say.Hint("%s", mend)
	case author.Conflicting:
		if r.Copy == "" { // a dry run
			return
		}
		say.Note("the merged skill, with markers where both changed the same: %s", r.Copy)
		say.Hint("edit it until no marker is left, then: %s", mend)
	case author.Renewed:
		if r.Put != r.Path {
			say.Hint("skl install %s", diag.Quote(r.Put))
		}
	}
}
