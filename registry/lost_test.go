package registry_test

import (
	"fmt"
	"testing"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/registrytest"
)

// TestLostReleases has databases go back that lack releases and decisions which clients saw in the log: what was decided counts, and a version
// is never another than it was.
func TestLostReleases(t *testing.T) {
	metatest.OnlyFiles(t)
	const was = "1.0.0" // is in the database that went back
	for _, tt := range []struct {
		name    string
		version string
		actions []registry.Action
		other   bool   // published again as another
		state   string // of the version then, or the code of the error
		event   string
	}{
		{"lost", "2.0.0", nil, false, "approved", `{"changed":0,"from":2,"lost":1,"to":3}`},
		{"lost and another", "2.0.0", nil, true, "version_exists", `{"changed":0,"from":2,"lost":1,"to":3}`},
		{"lost and yanked", "2.0.0", []registry.Action{registry.Yank}, false, "approved", `{"changed":0,"from":2,"lost":1,"to":4}`},
		{"lost and blocked", "2.0.0", []registry.Action{registry.Block}, false, "blocked", `{"changed":0,"from":2,"lost":1,"to":4}`},
		{"lost, blocked and unblocked", "2.0.0", []registry.Action{registry.Block, registry.Unblock}, false, "approved", `{"changed":0,"from":2,"lost":1,"to":5}`},
		{"lost, blocked, unblocked and another", "2.0.0", []registry.Action{registry.Block, registry.Unblock}, true, "version_exists", `{"changed":0,"from":2,"lost":1,"to":5}`},
		{"lost and held back", "2.0.0", []registry.Action{registry.Quarantine}, false, "quarantined", `{"changed":0,"from":2,"lost":1,"to":4}`},
		{"blocked", was, []registry.Action{registry.Block}, false, "blocked", `{"changed":1,"from":2,"lost":0,"to":3}`},
		{"deprecated, blocked and unblocked", was, []registry.Action{registry.Deprecate, registry.Block, registry.Unblock}, false, "deprecated", `{"changed":3,"from":2,"lost":0,"to":5}`},
		{"yanked", was, []registry.Action{registry.Yank}, false, "yanked", `{"changed":1,"from":2,"lost":0,"to":3}`},
		{"yanked and unyanked", was, []registry.Action{registry.Yank, registry.Unyank}, false, "approved", `{"changed":2,"from":2,"lost":0,"to":4}`},
		{"held back and approved", was, []registry.Action{registry.Quarantine, registry.Approve}, false, "approved", `{"changed":2,"from":2,"lost":0,"to":4}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, kept := open(t, meta.Policy{}), &registrytest.Shelf{}
			f.Heads = kept
			f.release("0.9.0")
			f.release(was)
			back := f.copied()
			if tt.version != was {
				f.release(tt.version)
			}
			want, err := f.Release(t.Context(), root, "acme", "pdf", tt.version)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range tt.actions {
				if want, err = f.Act(t.Context(), root, "acme", "pdf", tt.version, a, "for "+string(a)); err != nil {
					t.Fatal(err)
				}
			}
			f.show()

			late := f.again(back, kept)
			if err := late.CompareLog(t.Context()); err != nil {
				t.Fatal(err)
			}
			events, err := late.Events(t.Context(), root, meta.AuditQuery{Action: "log-append-again", Limit: 10})
			if err != nil || len(events) != 1 || events[0].Detail != tt.event {
				t.Errorf("%+v, %v", events, err)
			}
			state := ""
			if tt.version != was {
				body := tt.version
				if tt.other {
					body = "another"
				}
				if _, err := late.push(publisher, "acme/pdf", tt.version, late.build("pdf", tt.version, body)); err != nil {
					state = code(err)
				}
			}
			if state == "" {
				r, err := late.Release(t.Context(), root, "acme", "pdf", tt.version)
				if err != nil {
					t.Fatal(err)
				}
				state = string(r.State)
				if tt.version == was && r.Reason != want.Reason {
					t.Errorf("reason %q, want %q", r.Reason, want.Reason)
				}
			}
			if state != tt.state {
				t.Errorf("it is %s, want %s", state, tt.state)
			}
			if state == "quarantined" { // somebody lets it out
				if _, err := late.Act(t.Context(), root, "acme", "pdf", tt.version, registry.Approve, ""); err != nil {
					t.Error(err)
				}
				state = "approved"
			}
			report, err := late.Fsck(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			for _, p := range report.Problems {
				found += fmt.Sprintln(p.Code, p.What)
			}
			if lost := tt.version != was && state != "approved"; lost == (found == "") {
				t.Errorf("%s: fsck finds %q", state, found)
			}
		})
	}
}
