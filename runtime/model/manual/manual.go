// Package manual lets a person answer at the terminal.
//
//   - A request is shown with its node, its text and what is wanted, made safe
//     for a terminal: no escape sequence of a skill reaches it.
//   - A text is typed line by line and ends with a line that is a single dot.
//     An object with one field of any kind is typed as that field: JSON, or else text.
//     An object whose fields are all simple (texts, numbers, yes or no, one of
//     several words, lists of these) is asked for field by field; any other is
//     typed as JSON, and ends with a dot too.
//   - An answer that does not fit is asked for again, and never returned.
//   - :q at any question interrupts: the error has code [CodeInterrupted].
//     :tools lists the tools of the request and ":call NAME {…}" calls one, with
//     the same permissions as a model has; they work where a text begins.
//   - One request at a time: a person has one terminal.
//
// An answer has at most 1 MiB, as everywhere.
package manual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// CodeInterrupted is the error after :q, or when the terminal is gone.
const CodeInterrupted = "model_interrupted"

// Config is the terminal. Without In nobody is there, and every request has
// the error model_no_answer.
type Config struct {
	// In reads a line, without its end; io.EOF when there will be no more. It
	// should return when ctx ends.
	In  func(ctx context.Context) (string, error)
	Out func(text string) // shows text, which is safe for a terminal; lines end with \n
}

// New gives the model.
func New(c Config) model.Model {
	if c.Out == nil {
		c.Out = func(string) {}
	}
	return &person{Config: c}
}

type person struct {
	Config
	mu sync.Mutex // held while a request is at the terminal
}

func (*person) Name() string { return "manual" }

func (*person) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Person: true}
}

// Fill asks the person.
func (p *person) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	if p.In == nil {
		return model.Reply{}, diag.New(diag.NeedsInput, model.CodeNoAnswer, "node %s needs an answer, and there is no terminal to ask at", r.Node).
			Hint("choose a model with --model, or run it in a terminal")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d := dialog{person: p, r: r}
	if r.Schema != nil {
		var err error
		if d.schema, err = model.Compile(r.Schema); err != nil {
			return model.Reply{}, err
		}
	}
	reply := model.Reply{Model: "manual", Usage: model.Usage{Calls: 1}}
	var err error
	if d.show(); d.schema == nil {
		reply.Text, err = d.text(ctx, "answer, then a line with a single dot (:q stops)")
	} else {
		reply.Value, err = d.object(ctx)
	}
	if err != nil {
		return model.Reply{}, err
	}
	if r.Stream != nil && reply.Text != "" {
		r.Stream(reply.Text)
	}
	return reply, nil
}

// A dialog is one request at the terminal.
type dialog struct {
	*person
	r      model.Request
	schema *model.Schema
}

func (d *dialog) printf(format string, args ...any) { d.Out(fmt.Sprintf(format, args...)) }

func (d *dialog) show() {
	d.printf("\n── %s  %s · node %s\n", diag.Printable(string(d.r.Purpose)), diag.Printable(d.r.Skill), diag.Printable(d.r.Node))
	if d.r.System != "" {
		d.Out(indented(d.r.System))
		d.Out("\n")
	}
	d.Out(indented(d.r.Prompt))
	if len(d.r.Tools) > 0 {
		d.printf("  (%d tools: :tools lists them, :call NAME {…} calls one)\n", len(d.r.Tools))
	}
}

// indented is text with its lines kept and all else made safe.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")
		b.WriteString("  " + diag.Printable(line) + "\n")
	}
	return b.String()
}

// line reads a line. :q and the end of input interrupt.
func (d *dialog) line(ctx context.Context, prompt string) (string, error) {
	d.Out(prompt)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	s, err := d.In(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, io.EOF) && s == "":
		return "", diag.New(diag.NeedsInput, CodeInterrupted, "the input ended before node %s was answered", d.r.Node)
	case err != nil && !errors.Is(err, io.EOF):
		return "", err
	}
	s = strings.TrimRight(s, "\r\n")
	if strings.TrimSpace(s) == ":q" {
		return "", diag.New(diag.NeedsInput, CodeInterrupted, "node %s was left without an answer", d.r.Node).
			Hint("skl resume last")
	}
	return s, nil
}

// text reads lines up to a single dot.
func (d *dialog) text(ctx context.Context, what string) (string, error) {
	d.printf("%s\n", what)
	var b strings.Builder
	for first := true; ; {
		s, err := d.line(ctx, "> ")
		if err != nil {
			return "", err
		}
		if s == "." {
			return b.String(), nil
		}
		if first && d.command(ctx, s) {
			continue
		}
		if !first {
			b.WriteByte('\n')
		}
		first = false
		b.WriteString(strings.ToValidUTF8(s, "\uFFFD"))
		if b.Len() > model.MaxAnswer {
			d.printf("that is more than %d bytes: start again\n", model.MaxAnswer)
			b.Reset()
			first = true
		}
	}
}

// command carries out :tools and :call, and says whether s was one.
func (d *dialog) command(ctx context.Context, s string) bool {
	word, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	switch word {
	case ":tools":
		for _, t := range d.r.Tools {
			d.printf("  %s  %s\n", diag.Printable(t.Name), diag.Printable(t.Description))
		}
		return true
	case ":call":
		name, input, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if input = strings.TrimSpace(input); input == "" {
			input = "{}"
		}
		if d.r.Call == nil || !json.Valid([]byte(input)) {
			d.Out("  write :call NAME {\"field\": \"value\"}, with a name that :tools lists\n")
			return true
		}
		for _, t := range d.r.Tools {
			if t.Name == name {
				d.Out(indented(d.r.Call(ctx, name, json.RawMessage(input)).Text))
				return true
			}
		}
		d.printf("  there is no tool %s\n", diag.Printable(name))
		return true
	}
	return false
}

// object asks for a value that fits the schema, until one does.
func (d *dialog) object(ctx context.Context) (json.RawMessage, error) {
	fields := simpleFields(d.r.Schema)
	only, single := onlyField(d.r.Schema)
	for {
		var value json.RawMessage
		var err error
		switch {
		case fields != nil:
			value, err = d.fields(ctx, fields)
		case single:
			var s string
			s, err = d.text(ctx, diag.Printable(only)+": text or JSON, then a line with a single dot (:q stops)")
			value = d.wrapped(only, s)
		default:
			var s string
			d.Out("  the answer is an object of this schema:\n" + indented(string(d.r.Schema)))
			s, err = d.text(ctx, "JSON, then a line with a single dot (:q stops)")
			value = json.RawMessage(s)
		}
		if err != nil {
			return nil, err
		}
		if wrong := d.schema.Check(value); wrong != nil {
			d.printf("  this does not fit: %s\n", diag.Printable(wrong.Error()))
			continue
		}
		return value, nil
	}
}
