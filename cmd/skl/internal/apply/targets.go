package apply

import (
	"errors"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
)

// Targets decides which agent hosts get the skills and records it in m: those
// named by --host ("*" names all that read this scope) besides the recorded ones, else the recorded ones, else those that a
// person chooses, else those found. What is recorded is never asked again.
func (a *Applier) Targets(m *manifest.Manifest, flagged []string) ([]string, error) {
	all := slices.Contains(flagged, "*")
	flagged, err := scope.ExpandHosts(flagged)
	if err != nil {
		return nil, err
	}
	if all {
		flagged = slices.DeleteFunc(flagged, a.readsNothing)
	}
	for _, id := range flagged {
		if h, ok := hosts.Find(id); ok && !a.Scope.ReadsScope(h) {
			return nil, diag.New(diag.Misuse, "host_scope", "%s reads no skills of this scope (%s)", id, a.Scope.Short(a.Scope.Root)).
				Hint("install for it in a project: --scope project")
		}
	}
	if err := a.Scope.CheckHosts(m); err != nil {
		return nil, err
	}
	chosen := slices.Clone(m.Targets.Hosts)
	switch {
	case len(flagged) > 0:
		for _, id := range flagged {
			if !slices.Contains(chosen, id) {
				chosen = append(chosen, id)
			}
		}
	case chosen != nil:
		return chosen, nil
	case a.Scope.Config.Hosts != nil:
		chosen = slices.DeleteFunc(slices.Clone(a.Scope.Config.Hosts), a.readsNothing)
	default:
		if chosen, err = a.chooseHosts(); err != nil {
			return nil, err
		}
	}
	if len(chosen) == 0 {
		return nil, nil // nothing was found: look again next time
	}
	return chosen, m.SetHosts(chosen)
}

// readsNothing reports whether the agent with this id reads no skills of the scope.
func (a *Applier) readsNothing(id string) bool {
	h, ok := hosts.Find(id)
	return ok && !a.Scope.ReadsScope(h)
}

func (a *Applier) chooseHosts() ([]string, error) {
	found := slices.DeleteFunc(a.Scope.FoundHosts(), a.readsNothing)
	if !a.Ask.CanAsk() {
		return found, nil
	}
	choice, rows := a.hostChoice()
	if len(rows) == 0 {
		return nil, nil // skills of the machine
	}
	picked, err := a.Ask.Choose(choice)
	if errors.Is(err, ask.ErrNobody) {
		return found, nil // a yes to all picks nobody who was not found
	}
	if err != nil {
		return nil, err
	}
	var chosen []string
	for _, n := range picked {
		chosen = append(chosen, rows[n].ids...)
	}
	return chosen, nil
}
