package apply_test

import (
	"errors"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// Of a skill that nobody signs there is nothing to accept, and of one that is not here nothing can be; a pin is revoked by its id, or its
// name where that is one skill's, and taken back only by accepting.
func TestPins(t *testing.T) {
	b := newBench(t)
	a := b.applier()
	if _, err := apply.AcceptSigner(t.Context(), a, "pdf", false); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("accepted of a skill that is not here: %v", err)
	}
	one := lock.Skill{Name: "pdf", Source: "oci", URL: "oci://a.example/acme/pdf", Version: "1.0.0"}
	two := lock.Skill{Name: "pdf", Source: "oci", URL: "oci://b.example/acme/pdf", Version: "1.0.0"}
	pins := []*scope.Pin{scope.NewPin(a.Scope, &one, &lock.Signer{Key: "SHA256:a"}), scope.NewPin(a.Scope, &two, &lock.Signer{Key: "SHA256:b"})}
	if err := scope.SetPins(a.Scope, pins...); err != nil {
		t.Fatal(err)
	}
	if _, err := apply.Revoke(a, "pdf", false); !errors.Is(err, diag.Code("ambiguous_pin")) {
		t.Errorf("one of two was revoked: %v", err)
	}
	if out, err := apply.Revoke(a, pins[0].ID, true); err != nil || !out.Changed {
		t.Errorf("a dry run: %+v, %v", out, err)
	}
	if out, err := apply.Revoke(a, pins[0].ID, false); err != nil || !out.Changed {
		t.Errorf("it was not revoked: %+v, %v", out, err)
	}
	list, err := apply.TrustList(a)
	if err != nil || len(list.Pins) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, p := range list.Pins {
		if want := map[bool]string{true: scope.Revoked, false: scope.Pinned}[p.ID == pins[0].ID]; p.State != want {
			t.Errorf("%s is %s, want %s", p.From, p.State, want)
		}
	}
	if len(apply.PinIDs(a)) != 4 {
		t.Errorf("completions are %q", apply.PinIDs(a))
	}
}
