package trace

import (
	"io"

	"github.com/skl-project/skl/runtime/run"
)

// Lines writes the nodes of a run as lines indented by their depth, parents first, and the texts that a run
// addresses to a person. It is for logs and pipes. Each line starts with "skl: ".
func Lines(w io.Writer) Sink { return &lines{w: w} }

// PlainLines is Lines with words and letters for signs: for those who listen, and for terminals without Unicode.
func PlainLines(w io.Writer) Sink { return &lines{w: w, ascii: true} }

type lines struct {
	w       io.Writer
	ascii   bool
	outline outline
}

func (l *lines) Event(e run.Event) { l.write(l.outline.event(e)) }

func (l *lines) Close() error {
	l.write(l.outline.rest())
	return nil
}

func (l *lines) write(all []line) {
	for _, line := range all {
		text := line.text + line.tail
		if l.ascii {
			text = asciiSigns.Replace(text)
		}
		io.WriteString(l.w, "skl: "+text+"\n")
	}
}
