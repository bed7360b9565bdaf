package cli

import (
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/manifest"
)

// targets decides which agent hosts get the skills and records it in m: those
// named by --host besides the recorded ones, else the recorded ones, else those that a
// person chooses, else those found. What is recorded is never asked again.
func (w *world) targets(m *manifest.Manifest, flagged []string) ([]string, error) {
	for _, id := range flagged {
		if _, ok := hosts.Find(id); !ok {
			return nil, unknownHost(id)
		}
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
	case w.config.Hosts != nil:
		chosen = slices.Clone(w.config.Hosts)
	default:
		var err error
		if chosen, err = w.chooseHosts(); err != nil {
			return nil, err
		}
	}
	if len(chosen) == 0 {
		return nil, nil // nothing was found: look again next time
	}
	return chosen, m.SetHosts(chosen)
}

// found is the ids of the hosts that left traces in the project, else on the machine.
func (w *world) foundHosts() []string {
	var project, user []string
	for _, d := range hosts.Detect(w.hostEnv()) {
		if d.Evidence != "" {
			project = append(project, d.Host.ID)
		}
		if d.User != "" {
			user = append(user, d.Host.ID)
		}
	}
	if w.scope == hosts.Project && len(project) > 0 {
		return project
	}
	return user
}

func (w *world) chooseHosts() ([]string, error) {
	found := w.foundHosts()
	if !w.ui.CanAsk() || w.ui.Yes {
		return found, nil
	}
	ids := slices.Clone(found)
	for _, id := range []string{"claude-code", "github-copilot", "codex", "cursor", "opencode", "gemini-cli"} {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	options := make([]ui.Option, len(ids))
	for i, id := range ids {
		h, _ := hosts.Find(id)
		canonical, link := hosts.WriteDirs(h, w.hostEnv(), w.scope)
		dir := canonical
		if link != "" {
			dir = link
		}
		options[i] = ui.Option{Label: id, Detail: h.Name + " (" + w.short(dir) + ")", Default: slices.Contains(found, id)}
	}
	picked, err := w.ui.Choose("which agents do you use here? (kept in skl.toml)", options)
	if err != nil {
		return nil, err
	}
	var chosen []string
	for _, n := range picked {
		chosen = append(chosen, ids[n])
	}
	return chosen, nil
}
