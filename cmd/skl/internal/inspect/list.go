package inspect

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

// A ListRequest says which copies are listed.
type ListRequest struct {
	Hosts    []string // agents to look at; nil is those of the project and those found
	Shadowed bool     // also copies that others hide
	All      bool     // every copy in every state, and the skills that come with skl
	Asks     bool     // also what the files of each ask for, which takes reading them all
}

// A Listed is what a ListRequest asked for.
type Listed struct {
	roots.Listing                    // of the copies asked for
	Missing       []string           // names in skl.lock of which there is no copy in this scope
	Withdrawn     []apply.Withdrawal // releases among the copies that their registry took back
	Warned        []roots.Record     // copies whose warnings concern a reader: those listed, and hidden ones that lower trust or are edited copies of skl's
}

// List lists the copies of all roots.
func (in *Inspector) List(ctx context.Context, q ListRequest) (Listed, error) {
	if err := in.Applier.Scope.Settled(); err != nil {
		return Listed{}, err
	}
	f, err := in.Applier.Scope.Load()
	if err != nil {
		return Listed{}, err
	}
	l, err := in.Applier.Scope.Discover(ctx, q.Hosts)
	if err != nil {
		return Listed{}, err
	}
	out := Listed{Listing: l}
	for _, s := range f.Lock.Skills {
		if !slices.ContainsFunc(l.Skills, func(r roots.Record) bool {
			return r.Scope == string(in.Applier.Scope.Kind) && (r.Name == s.Name || filepath.Base(r.Path) == s.Name)
		}) {
			out.Missing = append(out.Missing, s.Name)
		}
	}
	out.Skills = []roots.Record{}
	for _, r := range l.Skills {
		wanted := q.wants(r) || q.Shadowed && r.State == roots.Invalid && usable(l.Skills, r.Name)
		if wanted {
			out.Skills = append(out.Skills, r)
		}
		if wanted || slices.ContainsFunc(r.Warnings, func(x roots.Warning) bool {
			return x.Code == "W_TRUST_DOWNGRADE" || x.Code == "E_DRIFT" && r.CopyOf != ""
		}) {
			out.Warned = append(out.Warned, r)
		}
	}
	for i := range out.Skills {
		if q.Asks {
			out.Skills[i].Permissions = asks(out.Skills[i])
		}
	}
	out.Withdrawn, err = in.Applier.Withdrawals(ctx, apply.Glance, in.Applier.ReleasesOf(out.Skills))
	return out, err
}

// asks is what the files of a copy ask for, nil if they cannot be read.
func asks(r roots.Record) []string {
	files, err := scope.FilesOf(r)
	if err != nil {
		return nil
	}
	t, err := trees.Read(files)
	if err != nil {
		return nil
	}
	return append([]string{}, t.Asks().Set().Texts()...)
}

// usable reports whether a copy with this name is active: one that is broken, and stands before it, does not take its name.
func usable(all []roots.Record, name string) bool {
	return slices.ContainsFunc(all, func(r roots.Record) bool { return r.Name == name && r.State == roots.Active })
}

func (q ListRequest) wants(r roots.Record) bool {
	if r.Scope == roots.ScopeSystem && len(r.Shadows) == 0 && !q.All {
		return false // comes with skl, nobody put it there
	}
	switch r.State {
	case roots.Active, roots.Untrusted, roots.Gated:
		return true
	case roots.Shadowed:
		return q.All || q.Shadowed
	}
	return q.All
}

// Mend is the command to type for a warning about a copy, "" if there is none. shown says that all copies are in sight.
func Mend(code string, r roots.Record, shown bool) string {
	scope := ""
	if r.Scope == "user" {
		scope = " --scope user"
	}
	switch code {
	case "W_TRUST_DOWNGRADE":
		return fmt.Sprintf("skl diff %s%s, skl disable %s%s, or skl ack W_TRUST_DOWNGRADE %s --reason WHY", r.Name, scope, r.Name, scope, r.Name)
	case "W_HOST_DIVERGENCE":
		if shown {
			return fmt.Sprintf("skl which %s --host HOST shows the copy that an agent loads", r.Name)
		}
		return fmt.Sprintf("skl list --shadowed shows the copies, skl which %s --host HOST the one that an agent loads", r.Name)
	case "E_DRIFT":
		if r.CopyOf != "" {
			return fmt.Sprintf("skl diff %s%s shows the edits; skl install%s --force replaces them, after a backup", r.Qualified, scope, scope)
		}
		return fmt.Sprintf("skl diff %s%s shows the edits", r.Name, scope)
	case "E_RESIDUE":
		return "skl install" + scope + " removes them"
	case "E_EOL":
		if slices.ContainsFunc(r.Warnings, func(w roots.Warning) bool { return w.Code == "E_DRIFT" }) {
			return "skl init writes the .gitattributes lines that keep line endings" // install leaves local edits alone
		}
		return "skl install" + scope + " mends them; skl init writes the .gitattributes lines that keep line endings"
	case "W_UNGATED":
		return "skl install" + scope + " --gate says how to keep it from them"
	case "E_INCOMPLETE", "E_FORM", "E_MODE", "E_LINK":
		return "skl install" + scope + " mends it"
	}
	return ""
}

// LoadsCopy reports whether a host does not read r itself, but a copy that skl made of it.
func (in *Inspector) LoadsCopy(r roots.Record, host string) bool {
	h, ok := hosts.Find(host)
	if !ok || len(r.Copies) == 0 || use(r, host) != hosts.Unread {
		return false
	}
	reads := h.Reads(in.Applier.Scope.HostEnv())
	return slices.ContainsFunc(r.Copies, func(c roots.CopyState) bool { return slices.Contains(reads, filepath.Dir(c.Path)) })
}

// A Winner is the copy of a name that skl, or an agent, loads, and all copies of it.
type Winner struct {
	Name   string         `json:"name"`
	Path   string         `json:"path"`
	Copies []roots.Record `json:"copies"`
}

// Which finds the copy that wins, or the one that the first of hostIDs loads. Where none does, the error lists the copies.
func (in *Inspector) Which(ctx context.Context, name string, hostIDs []string) (Winner, error) {
	if err := in.Applier.Scope.Settled(); err != nil {
		return Winner{}, err
	}
	l, err := in.Applier.Scope.Discover(ctx, hostIDs)
	if err != nil {
		return Winner{}, err
	}
	found, err := scope.Copies(l, name)
	if err != nil {
		return Winner{}, err
	}
	winner := active(found)
	if len(hostIDs) > 0 {
		winner = slices.IndexFunc(found, func(r roots.Record) bool { return use(r, hostIDs[0]) == hosts.Loads })
	}
	if winner < 0 && len(hostIDs) == 0 && strings.Contains(name, "@") { // a copy that is named as such, which run takes too
		winner = slices.IndexFunc(found, func(r roots.Record) bool { return r.State == roots.Shadowed })
	}
	if winner < 0 {
		return Winner{}, in.noWinner(found, name, hostIDs)
	}
	return Winner{found[winner].Name, found[winner].Path, found}, nil
}

// noWinner explains that no copy is the one that skl, or the host, loads.
func (in *Inspector) noWinner(found []roots.Record, name string, hostIDs []string) error {
	e := diag.New(diag.Unmet, "no_active_copy", "no copy of %s is active", name)
	if len(hostIDs) > 0 {
		e = diag.New(diag.Unmet, "no_active_copy", "there is no one copy of %s that %s loads", name, hostIDs[0])
	}
	for _, r := range found {
		state := r.State
		if len(hostIDs) > 0 {
			state = use(r, hostIDs[0])
		}
		e.Candidates = append(e.Candidates, in.Applier.Scope.Short(r.Path)+" ["+state+"]")
	}
	return e.Hint("skl list --all")
}

// Remarks are the codes of remarks about copies and roots, with what each means.
func Remarks() (all [][2]string) {
	for _, c := range roots.Codes() {
		all = append(all, [2]string{c.Code, c.Meaning})
	}
	return all
}
