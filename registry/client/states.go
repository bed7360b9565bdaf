package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// States are the releases that a registry took back or warns of, as of a checkpoint of its log. The zero States knows of none.
type States struct {
	At    time.Time                    // when the registry signed that; zero if it never said anything
	Size  int64                        // of its log then
	Known map[string]wire.ReleaseState // by wire.StateOf

	Advisories []wire.Advisory // withdrawn ones too

	line string // of the checkpoint
}

// keptStates is the file of a feed: what verifies it, and its text.
type keptStates struct {
	Checkpoint string `json:"checkpoint"`
	Text       string `json:"text"`
}

// askAgain is how long an answer of Withdrawn counts in this process, so that a run of many skills asks once.
const askAgain = 5 * time.Second

// answerAgain is how long a registry may take to show that it answers, after it did not hand out a list.
const answerAgain = 2 * time.Second

// Withdrawn returns what the registry says of releases that it took back. With ask it asks for the newest checkpoint, which has to
// continue the one that was kept, and for the feed that this names; both are kept. Without, nobody is asked.
//
// A feed that the checkpoint does not name, one that was there before and is not any more, and one that says something else while the log
// did not grow are refused with code log_states; the copy that was kept stays.
func (l *Log) Withdrawn(ctx context.Context, ask bool) (States, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ask && !l.told.IsZero() && time.Since(l.told) < askAgain {
		return l.said, nil
	}
	key, _, err := l.followed().Known(ctx)
	if err != nil || key == "" && !ask {
		return States{}, l.named(err)
	}
	if !ask {
		have, err := l.keptStates(key)
		return have, l.named(err)
	}
	if err := durable.MkdirPrivate(l.dir); err != nil {
		return States{}, err
	}
	unlock, err := durable.Lock(ctx, l.dir, nil)
	if err != nil {
		return States{}, err
	}
	defer unlock()
	for try := 0; ; try++ {
		s, again, err := l.newStates(ctx)
		if !again || try == 2 { // it changed between two requests
			if err == nil {
				l.said, l.told = s, time.Now()
			}
			return s, l.named(err)
		}
	}
}

// newStates asks once. Again says that the feed was not the one of the checkpoint, with the error for that.
func (l *Log) newStates(ctx context.Context) (s States, again bool, err error) {
	head, err := l.followed().Update(ctx)
	if err != nil {
		return States{}, false, err
	}
	l.asked = true
	state, err := os.ReadFile(filepath.Join(l.dir, "checkpoint"))
	if err != nil {
		return States{}, false, err
	}
	key, note, _ := strings.Cut(string(state), "\n")
	have, err := l.keptStates(key)
	if err != nil {
		return States{}, false, err
	}
	switch line := head.States(); {
	case line == "" && have.line != "":
		return States{}, false, badStates("it does not say any more which releases were taken back")
	case line == "":
		return States{}, false, nil // of a registry that has no such feed
	case line == have.line:
		if head.Size == have.Size && head.Time.Sub(have.At) < time.Minute {
			return have, false, nil
		}
		text, err := l.readStates()
		if err == nil {
			err = l.keepStates(note, text.Text)
		}
		have.At, have.Size = head.Time, head.Size
		return have, false, err
	}
	text, err := l.Fetch(ctx, "states")
	if err != nil {
		return States{}, false, l.withheld(ctx, err)
	}
	if s, err = parseStates(head, text); err != nil {
		return States{}, errors.Is(err, diag.Code("log_states")), err
	}
	if gone := have.missing(s); gone != "" {
		return States{}, false, badStates("the advisory %s is not there any more; one that is withdrawn says so", diag.Brief(gone, 64))
	}
	if have.Size == head.Size && !have.sameAs(s) {
		return States{}, false, badStates("other releases were taken back than before, and no entry of the log says so")
	}
	return s, false, l.keepStates(note, string(text))
}

// withheld judges that a list which a checkpoint names was not had, for the reason err: from a registry that answers otherwise, it is
// withheld. One that is gone in between is as any that does not answer.
func (l *Log) withheld(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	if away(err) || ctx.Err() != nil {
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerAgain)
		defer cancel()
		if _, gone := l.Fetch(again, "checkpoint"); gone != nil {
			return err
		}
	}
	return badStates("it withholds which releases were taken back: %w", err)
}

func badStates(what string, args ...any) error {
	return diag.New(diag.Refused, "log_states", "the log is not to be trusted: "+what, args...)
}

// parseStates reads the feed that a checkpoint names.
func parseStates(c tlog.Checkpoint, text []byte) (States, error) {
	if tlog.StatesLine(sha256.Sum256(text)) != c.States() {
		return States{}, badStates("the releases that were taken back are not those that it signed")
	}
	var feed wire.States
	if err := json.Unmarshal(text, &feed); err != nil || feed.V != 1 {
		return States{}, diag.New(diag.Failed, "not_a_registry", "the releases that were taken back are in a form that this skl does not know")
	}
	s := States{At: c.Time, Size: c.Size, Known: make(map[string]wire.ReleaseState), line: c.States(), Advisories: feed.Advisories}
	for _, r := range feed.Releases {
		of := r.Of
		if r.Name != "" {
			of = wire.StateOf(r.Name, r.Manifest) // what it says of itself is what counts
		}
		if of == "" {
			of = r.Manifest // of a registry that does not say whose it is
		}
		if s.Known[of].State != wire.Blocked { // of several versions the worst
			s.Known[of] = r
		}
	}
	return s, nil
}

// sameAs reports whether s and o name the same releases in the same states. Names and reasons come and go with the
// visibility of a namespace.
func (s States) sameAs(o States) bool {
	same := func(a, b wire.Advisory) bool {
		return a.ID == b.ID && a.Own.Severity == b.Own.Severity && a.Withdrawn.Equal(b.Withdrawn) && slices.Equal(a.Own.Of, b.Own.Of)
	}
	if len(s.Known) != len(o.Known) || !slices.EqualFunc(s.Advisories, o.Advisories, same) {
		return false
	}
	for of, r := range s.Known {
		if o.Known[of].State != r.State {
			return false
		}
	}
	return true
}

// missing is an advisory of s that o does not have, "" if there is none.
func (s States) missing(o States) string {
	for _, a := range s.Advisories {
		if !slices.ContainsFunc(o.Advisories, func(b wire.Advisory) bool { return a.ID == b.ID }) {
			return a.ID
		}
	}
	return ""
}

func (l *Log) statesFile() string { return filepath.Join(l.dir, "states.json") }

func (l *Log) readStates() (k keptStates, err error) {
	text, err := durable.ReadFile(l.statesFile())
	if errors.Is(err, fs.ErrNotExist) {
		return keptStates{}, nil
	}
	if err == nil && json.Unmarshal(text, &k) != nil {
		err = errors.New("it is damaged")
	}
	return k, err
}

// keptStates is the feed that was kept, held against the key of the log.
func (l *Log) keptStates(key string) (States, error) {
	k, err := l.readStates()
	if err != nil || k.Checkpoint == "" {
		return States{}, l.unreadable(err)
	}
	c, err := tlog.OpenCheckpoint([]byte(k.Checkpoint), key)
	if err != nil {
		return States{}, l.unreadable(err)
	}
	s, err := parseStates(c, []byte(k.Text))
	return s, l.unreadable(err)
}

// unreadable says which file an error is about.
func (l *Log) unreadable(err error) error {
	if err == nil {
		return nil
	}
	return diag.New(diag.Failed, "log_state", "the stored list of releases that were taken back cannot be read: %w", err).Hint("remove %s", l.statesFile())
}

func (l *Log) keepStates(note, text string) error {
	file, err := json.Marshal(keptStates{note, text})
	if err != nil {
		return err
	}
	return durable.WriteFile(l.statesFile(), append(file, '\n'), 0o600)
}
