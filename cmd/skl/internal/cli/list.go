package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

func listCommand() command {
	return command{name: "list", instead: "skl which %s", aliases: []string{"ls"}, group: "Skills", usage: "show the skills of all roots, and which copy each agent loads",
		output:  listResult{},
		example: "skl list\nskl list --shadowed\nskl list --host claude-code\nskl list --all --fields name,version,path\nskl list --roots",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "shadowed", Usage: "also copies that are hidden, and by what"},
			&cli.BoolFlag{Name: "all", Usage: "every copy in every state, and the skills that come with skl"},
			&cli.BoolFlag{Name: "roots", Usage: "the directories that are searched, strongest first"},
			hostFlag("show what the agent `HOST` does (repeatable)"),
			&cli.StringFlag{Name: "fields", Usage: "columns, such as name,version,trust,state,signature,signer,hosts,ungated,path"},
		},
		run: runList}
}

type listResult struct {
	roots.Listing
	Missing []string `json:"missing,omitempty"` // names in skl.lock of which there is no copy in this scope
	// Withdrawn are the releases among them that their registry took back.
	Withdrawn []apply.Withdrawal `json:"withdrawn,omitempty"`
}

// listFields are the columns that --fields can name.
var listFields = []string{"name", "copy", "version", "trust", "state", "source", "digest", "scope", "path", "description", "qualified",
	"format", "signature", "signer", "hosts", "ungated", "copy_of", "generated_from", "shadowed_by", "trust_reason", "root", "priority",
	"model_invocation", "side_effects", "tools", "library_depends"}

func runList(ctx context.Context, w *world, c *cli.Context) error {
	for _, f := range splitList([]string{c.String("fields")}) {
		if !slices.Contains(listFields, f) {
			return diag.New(diag.Misuse, "unknown_field", "unknown field %q", f).Meant(spell.Nearest(f, listFields, 3)...).Hint("the fields are: %s", strings.Join(listFields, ", "))
		}
	}
	l, err := w.inspect.List(ctx, inspect.ListRequest{Hosts: hostList(c), Shadowed: c.Bool("shadowed"), All: c.Bool("all")})
	if err != nil {
		return err
	}
	blocked := apply.Blocked(l.Withdrawn)
	if w.ui.JSON {
		if err := w.ui.Result(listResult{l.Listing, l.Missing, l.Withdrawn}); err != nil || blocked == nil {
			return err
		}
		return shown{blocked}
	}
	for _, warning := range l.Warnings {
		w.ui.Warn("%s", warning.Message)
	}
	if c.Bool("roots") {
		w.printRoots(l.Listing)
		return nil
	}
	if fields := c.String("fields"); fields != "" {
		return cmp.Or(w.printFields(l.Skills, splitList([]string{fields})), blocked)
	}
	if shown := c.Bool("shadowed") || c.Bool("all"); w.ui.Screen {
		w.drawList(l, c.Bool("shadowed"))
	} else {
		w.printList(l.Skills)
		w.printWarnings(l.Warned, shown)
	}
	if c.Bool("shadowed") && len(l.Skills) > 0 && !collides(l.Skills) {
		searched := slices.DeleteFunc(slices.Clone(l.Roots), func(r roots.Root) bool { return r.State != roots.RootOK })
		w.ui.Note("no skill has a second copy: looked at %s in %s", diag.Count(len(l.Skills), "skill"), diag.Count(len(searched), "root"))
	}
	if n := len(l.Missing); n > 0 {
		w.ui.Warn("skl.lock has %s %s nowhere here: %s", diag.Count(n, "skill"), map[bool]string{true: "that lies", false: "that lie"}[n == 1], strings.Join(l.Missing[:min(n, 5)], ", ")+map[bool]string{true: ", …"}[n > 5])
		w.ui.Hint("skl doctor")
	} else if len(l.Skills) == 0 {
		w.ui.Note("no skills are installed here")
		w.ui.Hint("skl install owner/repo")
	}
	return blocked
}

// collides reports whether two of the copies have one name.
func collides(list []roots.Record) bool {
	seen := map[string]bool{}
	for _, r := range list {
		if seen[r.Name] {
			return true
		}
		seen[r.Name] = true
	}
	return false
}

// drawList is the list on a terminal; what is wrong with copies that are not in it is told below.
func (w *world) drawList(l inspect.Listed, shadowed bool) {
	if shadowed {
		w.ui.Page(ui.Painted(draw.Shadowed(w.ui.Look(), l.Skills, w.scope.Short)))
	} else {
		shown := slices.Clone(l.Skills)
		for i, r := range shown {
			shown[i].Source = draw.From(r.Source, r.URL())
		}
		w.ui.Page(ui.Painted(draw.List(w.ui.Look(), shown)))
	}
	var hidden []roots.Record
	var hints []string
	for _, r := range l.Warned {
		inList := slices.ContainsFunc(l.Skills, func(o roots.Record) bool { return o.Path == r.Path })
		if !inList || shadowed || w.ui.Verbose {
			hidden = append(hidden, r)
			continue
		}
		for _, warning := range r.Warnings {
			hints = apply.AddMend(hints, inspect.Mend(warning.Code, r, shadowed))
		}
	}
	w.printWarnings(hidden, shadowed)
	for _, hint := range hints[:min(len(hints), 2)] {
		w.ui.Hint("%s", hint)
	}
}

func hostList(c *cli.Context) []string {
	if list := c.StringSlice("host"); len(list) > 0 {
		return list
	}
	return nil
}

// maxHostColumns is how many agents get a column of their own.
const maxHostColumns = 5

// printList is the table of the contract: one group of rows per name, the
// winning copy first.
func (w *world) printList(records []roots.Record) {
	if len(records) == 0 {
		return
	}
	columns := records[0].Hosts
	columns = columns[:min(len(columns), maxHostColumns)]
	head := []string{"NAME", "COPY", "VERSION", "TRUST"}
	signed := slices.ContainsFunc(records, func(r roots.Record) bool { return stateOf(r) != "unsigned" && r.Signature != nil })
	if signed {
		head = append(head, "SIGNED")
	}
	for _, h := range columns {
		head = append(head, h.Host)
	}
	copied := slices.ContainsFunc(records, func(r roots.Record) bool { return len(r.Copies) > 0 })
	if copied {
		head = append(head, "COPIES")
	}
	rows := [][]string{head}
	last := ""
	for _, r := range records {
		name := r.Name
		if name == last {
			name = ""
		}
		last = r.Name
		copyAt := w.scope.Short(r.Path)
		if r.Source == "" && r.Scope != "system" {
			copyAt += " (not skl)"
		}
		if r.State != roots.Active {
			copyAt += " [" + r.State + "]"
		}
		row := []string{name, copyAt, orDash(r.Version), trustOf(r)}
		if signed {
			row = append(row, orDash(stateOf(r)))
		}
		for i, h := range columns {
			use := r.Hosts[i].Word()
			if inspect.LoadedHidden(r, h.Host) {
				use = "LOADS"
			}
			if w.inspect.LoadsCopy(r, h.Host) {
				use = "copy"
			}
			row = append(row, use)
		}
		if copied {
			row = append(row, w.copiesOf(r))
		}
		rows = append(rows, row)
	}
	w.ui.Rows(rows)
}

// trustOf is the level of trust of a copy, and in a word why it is not that of its place.
func trustOf(r roots.Record) string {
	word, _, _ := strings.Cut(r.TrustReason, " by ")
	switch {
	case r.TrustReason == "":
		return r.Trust
	case word == "signed":
	case strings.HasPrefix(word, "in the log"):
		word = "logged"
	case strings.HasPrefix(word, "its files"):
		word = "edited"
	case strings.HasPrefix(word, "it is a link"):
		word = "linked"
	default:
		word = "claimed"
	}
	return r.Trust + " (" + word + ")"
}

// stateOf is the verdict on the signature of a copy: verified, unsigned, failed or skipped; "" of one that skl did not install.
func stateOf(r roots.Record) string {
	if r.Signature == nil {
		return ""
	}
	return r.Signature.State
}

// copiesOf says where skl made copies of r, and which of them are not like it.
func (w *world) copiesOf(r roots.Record) string {
	var out []string
	for _, c := range r.Copies {
		text := w.scope.Short(filepath.Dir(c.Path))
		switch c.State {
		case roots.CopyEdited:
			text += " (edited)"
		case roots.CopyOther:
			text += " (other release)"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// printWarnings says what is wrong with the copies, with the command that mends it; shown is that of inspect.Mend.
func (w *world) printWarnings(records []roots.Record, shown bool) {
	var hints []string
	for _, r := range records {
		for _, warning := range r.Warnings {
			say := w.ui.Warn
			switch warning.Code {
			case "W_ALIAS", "W_DUPLICATE_IDENTICAL", "W_SHADOWED":
				say = w.ui.Detail
			case "W_OFF":
				say = w.ui.Note
			}
			say("%s: %s [%s]", r.Qualified, warning.Message, warning.Code)
			hints = apply.AddMend(hints, inspect.Mend(warning.Code, r, shown))
		}
	}
	for _, hint := range hints {
		w.ui.Hint("%s", hint)
	}
}

func (w *world) printRoots(l roots.Listing) {
	rows := [][]string{{"ROOT", "SCOPE", "PRIORITY", "TRUST", "STATE", "HOST"}}
	for _, r := range l.Roots {
		rows = append(rows, []string{w.scope.Short(r.Path), r.Scope, fmt.Sprint(r.Priority), r.TrustCeiling, r.State, orDash(r.Host)})
	}
	w.ui.Rows(rows)
}

func (w *world) printFields(records []roots.Record, fields []string) error {
	rows := [][]string{nil}
	for _, f := range fields {
		rows[0] = append(rows[0], strings.ToUpper(f))
	}
	for _, r := range records {
		values := map[string]string{"name": r.Name, "copy": w.scope.Short(r.Path), "path": r.Path, "version": orDash(r.Version), "trust": r.Trust, "trust_reason": cmp.Or(r.TrustReason, "by its place"), "state": r.State,
			"source": orDash(r.Source), "digest": orDash(r.Digest), "scope": r.Scope, "description": cut(r.Description, 80), "qualified": r.Qualified,
			"format": orDash(r.Format), "signature": orDash(stateOf(r)), "signer": "-", "copy_of": orDash(r.CopyOf), "root": r.Root, "priority": fmt.Sprint(r.Priority), "shadowed_by": "-",
			"model_invocation": cmp.Or(r.ModelInvocation, "auto"), "side_effects": "undeclared", "tools": cmp.Or(r.Tools, "any"), "library_depends": orDash(strings.Join(r.LibraryDepends, ", "))}
		if r.State == roots.Invalid {
			values["model_invocation"] = "-"
		}
		if r.SideEffects != nil {
			values["side_effects"] = strings.Join(r.SideEffects, ",")
		}
		if r.Signature != nil {
			values["signer"] = orDash(r.Signature.Signer)
		}
		if r.ShadowedBy != nil {
			values["shadowed_by"] = *r.ShadowedBy
		}
		var uses, ungated []string
		for _, h := range r.Hosts {
			uses = append(uses, h.Host+"="+h.Word())
			if len(h.Ungated) > 0 {
				ungated = append(ungated, h.Host)
			}
		}
		values["hosts"], values["ungated"] = orDash(strings.Join(uses, " ")), orDash(strings.Join(ungated, " "))
		values["generated_from"] = orDash(strings.TrimSpace(r.GeneratedFrom["package"] + " " + r.GeneratedFrom["version"]))
		var row []string
		for _, f := range fields {
			row = append(row, values[f])
		}
		rows = append(rows, row)
	}
	w.ui.Rows(rows)
	return nil
}

func whichCommand() command {
	return command{name: "which", args: "NAME", group: "Copies", usage: "print the path of the copy that wins", output: inspect.Winner{}, complete: "skill",
		example: "skl which pdf\nskl which pdf --all\nskl which pdf --host claude-code\ncat \"$(skl which pdf)/SKILL.md\"",
		flags:   []cli.Flag{hostFlag("the copy that the agent `HOST` loads"), &cli.BoolFlag{Name: "all", Usage: "print the paths of all copies, the one that wins first"}},
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			out, err := w.inspect.Which(ctx, name, hostList(c))
			if err != nil || w.ui.JSON {
				return w.result(out, err)
			}
			w.ui.Print("%s", out.Path)
			for _, r := range out.Copies {
				if r.Path != out.Path && c.Bool("all") {
					w.ui.Print("%s", r.Path)
				} else if r.Path != out.Path {
					w.ui.Note("also %s [%s]", w.scope.Short(r.Path), r.State)
				}
			}
			return nil
		}}
}

// oneName is the one argument of commands about one skill.
func oneName(c *cli.Context) (string, error) {
	if c.Args().Len() != 1 {
		return "", diag.New(diag.Misuse, "usage", "name one skill").Hint("skl %s --help", strings.TrimPrefix(c.Command.FullName(), "skl "))
	}
	return c.Args().First(), nil
}
