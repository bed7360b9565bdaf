package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

// Listed is what "skl list --json" prints.
type Listed struct {
	roots.Listing
	Missing []string `json:"missing,omitempty"` // names in skl.lock of which there is no copy in this scope
	// Withdrawn are the releases among them that their registry took back.
	Withdrawn []apply.Withdrawal `json:"withdrawn,omitempty"`
}

// Listing is what of a list a person wants to see.
type Listing struct {
	Shadowed bool     // also copies that are hidden, and by what
	All      bool     // every copy in every state
	Roots    bool     // the directories that are searched, and nothing else
	Fields   []string // these columns, and nothing else
}

// List is the report of the copies of all roots. Where one was blocked by its registry it ends with exit 4.
func (d *Desk) List(l inspect.Listed, want Listing) Report {
	return Report{Result: Listed{l.Listing, l.Missing, l.Withdrawn}, End: apply.Blocked(l.Withdrawn), Text: func(t *Text) {
		for _, warning := range l.Warnings {
			t.Warn("%s", warning.Message)
		}
		if lines := inspect.BudgetLines(l.Listing); len(lines) > 0 && !want.Roots {
			for _, line := range lines {
				t.Note("%s", line)
			}
			t.Hint("skl doctor says what helps")
		}
		switch {
		case want.Roots:
			d.roots(t, l.Listing)
			return
		case len(want.Fields) > 0:
			d.fields(t, l.Skills, want.Fields)
			return
		}
		t.Either(func(t *Text) { drawList(t, l, want.Shadowed, d.Scope.Short) }, func(t *Text) {
			d.list(t, l.Skills)
			warnings(t, l.Warned, want.Shadowed || want.All)
		})
		if want.Shadowed && len(l.Skills) > 0 && !collides(l.Skills) {
			searched := slices.DeleteFunc(slices.Clone(l.Roots), func(r roots.Root) bool { return r.State != roots.RootOK })
			t.Note("no skill has a second copy: looked at %s in %s", diag.Count(len(l.Skills), "skill"), diag.Count(len(searched), "root"))
		}
		if n := len(l.Missing); n > 0 {
			t.Warn("skl.lock has %s %s nowhere here: %s", diag.Count(n, "skill"), map[bool]string{true: "that lies", false: "that lie"}[n == 1], strings.Join(l.Missing[:min(n, 5)], ", ")+map[bool]string{true: ", …"}[n > 5])
			t.Hint("skl doctor")
		} else if len(l.Skills) == 0 {
			t.none()
		}
	}}
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
func drawList(t *Text, l inspect.Listed, shadowed bool, short func(string) string) {
	t.Draw(func(k screen.Look) string {
		if shadowed {
			return draw.Shadowed(k, l.Skills, short)
		}
		shown := slices.Clone(l.Skills)
		for i, r := range shown {
			shown[i].Source = draw.From(r.Source, r.URL())
		}
		return draw.List(k, shown)
	})
	var hidden []roots.Record
	var hints []string
	for _, r := range l.Warned {
		inList := slices.ContainsFunc(l.Skills, func(o roots.Record) bool { return o.Path == r.Path })
		if !inList || shadowed || t.All {
			hidden = append(hidden, r)
			continue
		}
		for _, warning := range r.Warnings {
			hints = apply.AddMend(hints, inspect.Mend(warning.Code, r, shadowed))
		}
	}
	warnings(t, hidden, shadowed)
	for _, hint := range hints[:min(len(hints), 2)] {
		t.Hint("%s", hint)
	}
}

// maxHostColumns is how many agents get a column of their own.
const maxHostColumns = 5

// list is the table of the contract: one group of rows per name, the
// winning copy first.
func (d *Desk) list(t *Text, records []roots.Record) {
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
		copyAt := d.Scope.Short(r.Path)
		if r.Source == "" && r.Scope != "system" {
			copyAt += " (not skl)"
		}
		if r.State != roots.Active {
			copyAt += " [" + r.State + "]"
		}
		row := []string{name, copyAt, OrDash(r.Version), trustOf(r)}
		if signed {
			row = append(row, OrDash(stateOf(r)))
		}
		for i, h := range columns {
			use := r.Hosts[i].Word()
			if inspect.LoadedHidden(r, h.Host) {
				use = "LOADS"
			}
			if d.Inspect.LoadsCopy(r, h.Host) {
				use = "copy"
			}
			row = append(row, use)
		}
		if copied {
			row = append(row, d.copiesOf(r))
		}
		rows = append(rows, row)
	}
	t.Rows(rows)
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
func (d *Desk) copiesOf(r roots.Record) string {
	var out []string
	for _, c := range r.Copies {
		text := d.Scope.Short(filepath.Dir(c.Path))
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

// warnings says what is wrong with the copies, with the command that mends it; shown is that of inspect.Mend.
func warnings(t *Text, records []roots.Record, shown bool) {
	var hints []string
	for _, r := range records {
		for _, warning := range r.Warnings {
			say := t.Warn
			switch warning.Code {
			case "W_ALIAS", "W_DUPLICATE_IDENTICAL", "W_SHADOWED":
				say = t.Detail
			case "W_OFF":
				say = t.Note
			}
			say("%s: %s [%s]", r.Qualified, warning.Message, warning.Code)
			hints = apply.AddMend(hints, inspect.Mend(warning.Code, r, shown))
		}
	}
	for _, hint := range hints {
		t.Hint("%s", hint)
	}
}

func (d *Desk) roots(t *Text, l roots.Listing) {
	rows := [][]string{{"ROOT", "SCOPE", "PRIORITY", "TRUST", "STATE", "HOST"}}
	for _, r := range l.Roots {
		rows = append(rows, []string{d.Scope.Short(r.Path), r.Scope, fmt.Sprint(r.Priority), r.TrustCeiling, r.State, OrDash(r.Host)})
	}
	t.Rows(rows)
}

func (d *Desk) fields(t *Text, records []roots.Record, fields []string) {
	rows := [][]string{nil}
	for _, f := range fields {
		rows[0] = append(rows[0], strings.ToUpper(f))
	}
	for _, r := range records {
		values := map[string]string{"name": r.Name, "copy": d.Scope.Short(r.Path), "path": r.Path, "version": OrDash(r.Version), "trust": r.Trust, "trust_reason": cmp.Or(r.TrustReason, "by its place"), "state": r.State,
			"source": OrDash(r.Source), "digest": OrDash(r.Digest), "scope": r.Scope, "description": Cut(r.Description, 80), "qualified": r.Qualified,
			"format": OrDash(r.Format), "signature": OrDash(stateOf(r)), "signer": "-", "copy_of": OrDash(r.CopyOf), "root": r.Root, "priority": fmt.Sprint(r.Priority), "shadowed_by": "-",
			"model_invocation": cmp.Or(r.ModelInvocation, "auto"), "side_effects": "undeclared", "tools": cmp.Or(r.Tools, "any"), "library_depends": OrDash(strings.Join(r.LibraryDepends, ", "))}
		if r.State == roots.Invalid {
			values["model_invocation"] = "-"
		}
		if values["permissions"] = OrDash(strings.Join(r.Permissions, ",")); r.Permissions == nil {
			values["permissions"] = "not known"
		}
		if r.SideEffects != nil {
			values["side_effects"] = strings.Join(r.SideEffects, ",")
		}
		if r.Signature != nil {
			values["signer"] = OrDash(r.Signature.Signer)
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
		values["hosts"], values["ungated"] = OrDash(strings.Join(uses, " ")), OrDash(strings.Join(ungated, " "))
		values["generated_from"] = OrDash(strings.TrimSpace(r.GeneratedFrom["package"] + " " + r.GeneratedFrom["version"]))
		var row []string
		for _, f := range fields {
			row = append(row, values[f])
		}
		rows = append(rows, row)
	}
	t.Rows(rows)
}
