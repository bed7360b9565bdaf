package ui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ui/vt"
)

// A digit answers without Enter, words with it; what is no answer says why, and escape leaves.
func TestAnswerKeys(t *testing.T) {
	options := []string{"Publish", "Preview", "Stop 9"}
	for _, c := range []struct {
		keys, want, shows string
		err               error
	}{
		{keys: "2", want: "Preview"},
		{keys: "stop 9|\r", want: "Stop 9"},
		{keys: "s|\r", want: "Stop 9"},
		{keys: "st|\x7f|\x7f|1", want: "Publish"},
		{keys: "LOOK|1", want: "Publish", shows: "? Publish these notes?   1 Publish   2 Preview   3 Stop 9"},
		{keys: "p|LOOK|u|\r", want: "Publish", shows: "\n> p\n"},
		{keys: "p|\r|LOOK|3", want: "Stop 9", shows: `"p" begins more than one of them: type more, or a number from 1 to 3`},
		{keys: "later|\r|LOOK|3", want: "Stop 9", shows: `"later" is not one of them: type a number from 1 to 3`},
		{keys: "4|LOOK|3", want: "Stop 9", shows: `"4" is not one of them: type a number from 1 to 3`},
		{keys: "\r|LOOK|3", want: "Stop 9", shows: "type a number from 1 to 3"},
		{keys: "\x1b|IDLE", err: ask.ErrLeft},
		{keys: "pub|\x1b|IDLE|\x1b|IDLE", err: ask.ErrLeft},
		{keys: "\x04|IDLE", err: ask.ErrLeft},
		{keys: "\x03", err: ask.ErrStopped},
	} {
		for _, width := range []int{30, 60, 80, 120} {
			s := &vt.Screen{Width: width}
			k := &typist{keys: strings.Split(c.keys, "|"), screen: s, look: (*vt.Screen).Text}
			u := &UI{Err: s, Terminal: true, ErrScreen: true, keyboard: k, sized: func() (int, int) { return width, 24 }}
			got, err := u.Answer("Publish these notes?", options)
			if got != c.want || !errors.Is(err, c.err) || s.Wrapped > 0 || s.Hidden || len(s.Refused) > 0 {
				t.Errorf("%q at %d: %q, %v, wrapped %d, hidden %v:\n%s", c.keys, width, got, err, s.Wrapped, s.Hidden, s.Text())
			}
			if width >= 80 && c.shows != "" && (len(k.shots) == 0 || !strings.Contains(k.shots[0], c.shows)) {
				t.Errorf("%q at %d: no %q in %q", c.keys, width, c.shows, k.shots)
			}
			if strings.TrimSpace(s.Text()) != "" {
				t.Errorf("%q at %d: left on the screen: %q", c.keys, width, s.Text())
			}
			for _, shot := range k.shots {
				for row := range strings.Lines(shot) {
					if screen.Width(strings.TrimSuffix(row, "\n")) >= width {
						t.Errorf("%q at %d: %q is too wide", c.keys, width, row)
					}
				}
			}
		}
	}
}

// Where nothing may move, and for many options, an answer is a line, and one that is none says why.
func TestAnswerByLine(t *testing.T) {
	many := strings.Fields("a b c d e f g h i j")
	for _, c := range []struct {
		in, want, shows string
		options         []string
		still           bool
	}{
		{"7\n", "g", "", many, false},
		{"x\n10\n", "j", `"x" is not one of them: type a number from 1 to 10`, many, false},
		{"p\npr\n", "Preview", `"p" begins more than one of them`, []string{"Publish", "Preview"}, true},
		{"\nred\n", "red", "type an answer", nil, false},
	} {
		s := &vt.Screen{Width: 80}
		u := &UI{In: strings.NewReader(c.in), Err: s, Terminal: true, ErrScreen: true, Still: c.still}
		got, err := u.Answer("which?", c.options)
		if got != c.want || err != nil || !strings.Contains(s.Text(), c.shows) {
			t.Errorf("%q: %q, %v:\n%s", c.in, got, err, s.Text())
		}
	}
}

// Escape is never a yes, and a yes that was typed before the question is none.
func TestEscapeIsNoYes(t *testing.T) {
	letters := []ask.Letter{{Key: "y", Word: "yes"}, {Key: "f", Word: "files"}, {Key: "n", Word: "no"}}
	s := &vt.Screen{Width: 80}
	u := &UI{Err: s, Terminal: true, ErrScreen: true, keyboard: &typist{keys: []string{"\x1b", "IDLE"}, screen: s}}
	if got, err := u.Letters("install?", letters, "y"); got != "n" || err != nil {
		t.Errorf("escape: %q, %v", got, err)
	}
	for keys, want := range map[string]bool{"y": true, "\r": false, "n": false, "\x1b|IDLE": false} {
		s := &vt.Screen{Width: 80}
		k := &ahead{typist{keys: strings.Split(keys, "|"), screen: s}, []string{"y", "y\r"}}
		u := &UI{Err: s, Terminal: true, ErrScreen: true, keyboard: k, ahead: []byte("y\n")}
		if got, err := u.Confirm("sure?"); got != want || err != nil || !strings.Contains(s.Text(), "? sure?  [y]es  [N]o") {
			t.Errorf("%q: %v, %v: %s", keys, got, err, s.Text())
		}
	}
}

// ahead is a keyboard on which something was typed before anybody asked.
type ahead struct {
	typist
	typed []string
}

func (k *ahead) wait(d time.Duration) ([]byte, error) {
	if len(k.typed) > 0 {
		b := k.typed[0]
		k.typed = k.typed[1:]
		return []byte(b), nil
	}
	if d == 0 {
		return nil, nil
	}
	return k.typist.wait(d)
}
