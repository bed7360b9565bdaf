package apply

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/spell"
)

// record writes into the manifest of a plan what a person agreed to of its skills: who, when, why, and of which release.
func (j *job) record(ctx context.Context, in *plan.Intent) error {
	if j.req.dry || j.req.mode == removes {
		return nil
	}
	due, by := j.due(in), ""
	if len(due) == 0 && j.req.agreed.Reason != "" {
		j.a.Scope.Tell.Note("nothing had to be accepted, so the --reason is kept nowhere")
	}
	for _, w := range due {
		if by == "" {
			by = j.a.Scope.Person()
		}
		s, _ := in.Lock.Skill(w.Skill)
		if err := in.Manifest.AddAck(acceptance(w.Permission, s, by, cmp.Or(j.req.agreed.Reason, j.seen.why[s.Name]))); err != nil {
			return err
		}
	}
	return nil
}

// acceptance is the record of what s asks for, accepted today.
func acceptance(code string, s lock.Skill, by, reason string) manifest.Ack {
	return manifest.Ack{Code: code, Name: s.Name, Version: s.Version, By: by, On: time.Now().Format(time.DateOnly), Reason: reason}
}

// checkReason refuses a reason that skl.toml cannot hold, and the word that hints have for one, before anything is asked.
func checkReason(reason string) error {
	if reason == "WHY" {
		return diag.New(diag.Misuse, "usage", "WHY stands for the reason").Hint("write in its place why it is accepted")
	}
	if reason != diag.Printable(reason) {
		return diag.New(diag.Misuse, "usage", "the --reason holds control or invisible characters: %s", diag.Printable(reason)).Hint("write it as one line of text")
	}
	return nil
}

// acknowledgeAsked records that somebody accepts what the locked release of a skill asks for.
func (a *Applier) acknowledgeAsked(ctx context.Context, f *scope.Files, r AckRequest) (acks []manifest.Ack, err error) {
	s, ok := f.Lock.Skill(r.Name)
	if !ok {
		return nil, diag.New(diag.Misuse, "unknown_skill", "skl.lock has no skill called %s, so nobody asks for %s", diag.Quote(r.Name), r.Code).Hint("skl list")
	}
	by := a.Scope.Person()
	asks := slices.Concat(s.Permissions, s.Findings)
	asks = slices.DeleteFunc(asks, func(p string) bool { return audit.Marked([]string{p}) })
	for _, code := range strings.Split(r.Code, ",") {
		p, _ := audit.Parse(code)
		if limit := p.Kind == audit.Allow || p.Kind == audit.Effect; !limit && !slices.Contains(asks, code) { // one that is lifted is in no list
			e := diag.New(diag.Misuse, "not_asked", "%s does not ask for %s", strings.TrimSpace(s.Name+" "+s.Version), diag.Quote(code))
			if near := spell.Nearest(code, asks, 3); len(near) > 0 {
				return nil, e.Meant(near...)
			}
			return nil, e.Hint("skl info %s", diag.Quote(s.Name))
		}
		acks = append(acks, acceptance(code, s, by, r.Reason))
	}
	return acks, nil
}

// Acceptances are what the project accepted by a record that counts since a git revision.
type Acceptances struct {
	now, base []manifest.Ack
	wanted    map[string]bool // skills that are new since, and that a person asks for
}

// Acceptances reads the records of skl.toml as it is and as it was at rev.
func (a *Applier) Acceptances(ctx context.Context, f *scope.Files, rev string) (out Acceptances, err error) {
	src, err := git.ReadRevision(ctx, a.Scope.Base, rev, filepath.Base(f.ManifestPath))
	if err != nil {
		return out, err
	}
	if m, err := manifest.Parse(src, rev); err == nil { // one that cannot be read accepted nothing
		out.base = m.Acks
	}
	out.now = f.Manifest.Acks
	return out, nil
}

// of is the record by which somebody accepted what s newly asks for, nil if there is none. It says who did, and when. A record that the revision has
// already is about another time that s asked, unless it names this very release.
func (all Acceptances) of(s lock.Skill, code string) *manifest.Ack {
	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly) // it is later elsewhere
	for i := range all.now {
		k := &all.now[i]
		if k.Code != code || k.Name != s.Name || k.By == "" || k.On == "" || k.On > tomorrow {
			continue
		}
		if k.Version == s.Version || !slices.Contains(all.base, *k) {
			return k
		}
	}
	return nil
}

// predecessor is the entry of an older lock that has s under another name: the same skill of the same place, whose name stays not. Somebody who gives a
// skill another name has not accepted more of it.
func predecessor(s *lock.Skill, old *lock.Lock, stays func(o *lock.Skill) bool) (lock.Skill, bool) {
	for i := range old.Skills {
		o := &old.Skills[i]
		if o.Name != s.Name && o.SamePlace(*s) && o.Path == s.Path && o.Called() == s.Called() && !stays(o) {
			return *o, true
		}
	}
	return lock.Skill{}, false
}

// An Ask is one thing that needs a yes before a release that newly asks for it is used.
type Ask struct {
	Permission string        `json:"permission"` // or the rule of a finding
	Places     []string      `json:"places"`     // FILE:LINE
	Accepted   *manifest.Ack `json:"accepted"`   // the record of who accepted it, null if there is none
	Accept     string        `json:"accept"`     // the command that records a yes
}

// newAsk is what s newly asks for, and who accepted that.
func (all Acceptances) newAsk(s lock.Skill, code string, places []string) Ask {
	words := []string{"skl", "ack", code, s.Name, "--reason", "WHY"}
	return Ask{Permission: code, Places: append([]string{}, places...), Accepted: all.of(s, code), Accept: diag.Words(words)}
}

// Recorded is who accepted something, when and why, on one line.
func Recorded(k manifest.Ack) string {
	var out []string
	if k.By != "" {
		out = append(out, "by "+k.By)
	}
	if k.On != "" {
		out = append(out, "on "+k.On)
	}
	if len(out) == 0 {
		out = append(out, "by nobody who is named")
	}
	if k.Reason == "" {
		return strings.Join(out, " ") + ", who gave no reason"
	}
	return strings.Join(out, " ") + ": " + k.Reason
}
