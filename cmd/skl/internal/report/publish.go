package report

import (
	"cmp"
	"fmt"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// Published is the report of a release that was sent, or of a dry run. One that waits for a signature ends with exit 3.
func Published(out ship.Published, dry bool) Report {
	return Verdict(out, out.OK, Unmet("signature_required"), func(t *Text) { published(t, out, dry) })
}

func published(t *Text, out ship.Published, dry bool) {
	what := fmt.Sprintf("%s@%s   %s, %s", out.Name, out.Version, diag.Count(out.Files, "file"), diag.Size(out.Bytes))
	switch {
	case dry:
		t.Print("%s", what)
		t.Print("manifest %s", out.Digest)
		if out.Reason != "" {
			t.Note("it would not be visible at once: %s", out.Reason)
		}
		t.Note("would be published to %s; nothing was sent (--dry-run)", out.To)
		return
	case !out.Created && !out.Waits() && out.Signer == "":
		t.Print("%s is published already, the same", what)
		healed(t, out)
		if out.State != wire.Approved {
			t.Note("%s", reasoned("it is "+string(out.State), out.Reason))
		}
		return
	}
	// The next step may need another person, whom who then names.
	who, next := "", cmp.Or(out.Next, "skl install "+out.InstallRef)
	if out.State == wire.Quarantined {
		who = "a maintainer of " + out.Name + " can"
	}
	t.Page(func(k screen.Look) string {
		p := draw.Publishing{Name: out.Name, Version: out.Version, To: out.To, Size: diag.Size(out.Bytes), Signer: out.Signer, Reason: waiting(out), State: string(out.State), Files: out.Files, Entry: -1, Next: next}
		if out.Log != nil {
			p.Entry = int64(out.Log.Index)
		}
		if who != "" {
			p.Next = who + ": " + next
		}
		return draw.Publish(k, p)
	}, func(t *Text) {
		var mark any = screen.Done
		if out.Waits() {
			mark = "sent"
		}
		t.Print("%s %s   %s", mark, what, out.State)
		t.Print("manifest %s", out.Digest)
		if out.Signer != "" {
			t.Print("signed by %s", out.Signer)
		}
		if out.Log != nil {
			t.Print("entry %d of the log of %s", out.Log.Index, out.To)
		}
		if out.Waits() {
			t.Note("%s", reasoned("it is not visible yet", out.Reason))
		}
		healed(t, out)
		if who != "" {
			t.Hint("%s approve it: %s", who, next)
		} else {
			t.Hint("%s", next)
		}
	})
	for _, u := range out.URLs {
		t.Detail("%s", u)
	}
}

// waiting is why a release is not visible yet.
func waiting(out ship.Published) string {
	if !out.Waits() {
		return ""
	}
	return cmp.Or(out.Reason, "it is not visible yet")
}

// reasoned is what with why, if that is known.
func reasoned(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// healed says that a release is whole again.
func healed(t *Text, out ship.Published) {
	if out.Healed > 0 {
		t.Note("%s had damaged or lost %s of it, and has %s whole again", out.To, diag.Count(out.Healed, "blob"), map[bool]string{true: "it", false: "them"}[out.Healed == 1])
	}
}
