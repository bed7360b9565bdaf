package ui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/ui/vt"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// latePreviews are a skill whose files come when the cursor left it, one whose files cannot be had, and a hostile one.
func latePreviews() ask.Choice {
	return ask.Choice{Question: "which?", Options: []ask.Option{
		{Label: "slow", Detail: "Takes its time", Version: "0.0.0-20261104101112-3f9c2ab1d0e4", Preview: []string{"Takes its time"}, Later: func(ctx context.Context) ([]string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		{Label: "gone", Detail: "Is not there", Preview: []string{"Is not there"}, Later: func(context.Context) ([]string, error) {
			return nil, errors.New("git.acme.example does not answer,\nand \x1b[2J" + strings.Repeat("never did ", 20))
		}},
		{Label: "loud", Detail: "Clears screens", Preview: []string{strings.Repeat("says much of itself ", 90)}, Later: func(context.Context) ([]string, error) {
			return []string{"2 files, 1 kB: SKILL.md, \x1b[2J\x1b]0;mine\a", "findings  several · licence \u202eTIM"}, nil
		}},
	}}
}

// One preview is computed at a time, that of the row on which the cursor rests; one that the cursor left is cancelled, one that
// was computed is not computed again, and none goes on when the picker ended.
func TestPreviewsOneAtATime(t *testing.T) {
	var running, most, slow, quick atomic.Int32
	enter := func() func() {
		most.Store(max(most.Load(), running.Add(1)))
		return func() { running.Add(-1) }
	}
	c := ask.Choice{Question: "which?", Options: []ask.Option{
		{Label: "slow", Later: func(ctx context.Context) ([]string, error) {
			defer enter()()
			slow.Add(1)
			<-ctx.Done()
			time.Sleep(30 * time.Millisecond) // it does not end at once
			return []string{"too late"}, ctx.Err()
		}},
		{Label: "quick", Later: func(context.Context) ([]string, error) {
			defer enter()()
			quick.Add(1)
			return []string{"all of it"}, nil
		}},
	}}
	wide := forms[4]
	shots, picked, _, err := shown(wide, c, "UNTIL reading", "j", "UNTIL all of it", "LOOK", "k", "UNTIL reading", "j", "UNTIL all of it", "k", "UNTIL reading", "LOOK", " ", "\r")
	if err != nil || !slices.Equal(picked, []int{0}) {
		t.Fatal(picked, err)
	}
	if most.Load() != 1 || quick.Load() != 1 || slow.Load() != 3 || running.Load() != 0 {
		t.Errorf("at once %d, quick %d times, slow %d times, running still %d", most.Load(), quick.Load(), slow.Load(), running.Load())
	}
	if strings.Contains(strings.Join(shots, ""), "too late") {
		t.Errorf("shown after it was cancelled:\n%s", strings.Join(shots, ""))
	}
	if _, _, _, err := shown(forms[1], c, "IDLE", "j", "k", " ", "\r"); err != nil || slow.Load() != 3 || quick.Load() != 1 {
		t.Errorf("computed where no pane is shown: %v, %d, %d", err, slow.Load(), quick.Load())
	}
	if _, _, _, err := shown(wide, c, "p", "IDLE", "j", "k", " ", "\r"); err != nil || slow.Load() != 3 || quick.Load() != 1 {
		t.Errorf("computed with the pane off: %v, %d, %d", err, slow.Load(), quick.Load())
	}
}

// A preview that never ends, not even when it is cancelled, is a line that says so.
func TestPreviewThatNeverEnds(t *testing.T) {
	long.Slow(t)
	forever := make(chan struct{})
	defer close(forever)
	p := newPicker(ask.Choice{Options: []ask.Option{{Label: "a", Later: func(context.Context) ([]string, error) { <-forever; return nil, nil }}}})
	p.paned = true
	v := newPreviewer(p, 20*time.Millisecond)
	now := time.Now()
	v.turn(now)
	v.turn(now.Add(previewRest))
	if v.cancel == nil || p.later[0] != nil {
		t.Fatal("it was not started")
	}
	if changed, _ := v.turn(now.Add(v.limit + previewEnds + time.Millisecond)); !changed || p.later[0] == nil || p.later[0].lines[0] != "no preview: not there after 20ms" {
		t.Errorf("after its time: %v", p.later[0])
	}
	start := time.Now()
	v.end()
	if took := time.Since(start); took > previewEnds+long.Within(5*time.Second) {
		t.Errorf("the picker ended after %v", took)
	}
}

// Messages of a source while a preview is computed are printed after the picker, and its progress is not drawn into it.
func TestPreviewsAreMuted(t *testing.T) {
	s := &vt.Screen{Width: 120}
	k := &typist{keys: []string{"UNTIL done", "LOOK", " ", "\r"}, screen: s, look: (*vt.Screen).Text}
	u := &UI{Err: s, Out: s, Terminal: true, ErrScreen: true, Screen: true, keyboard: k, sized: func() (int, int) { return 120, 40 }}
	c := ask.Choice{Question: "which?", Options: []ask.Option{{Label: "a", Later: func(context.Context) ([]string, error) {
		u.Progress(diag.Event{Stage: "fetch", Name: "a"})
		u.Warn("the cache is full")
		return []string{"done"}, nil
	}}}}
	if _, err := u.Choose(c); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(k.shots[0], "cache is full") || !strings.Contains(s.Text(), "warning: the cache is full") || u.progress.tasks != nil {
		t.Errorf("during:\n%safter:\n%s", k.shots[0], s.Text())
	}
}
