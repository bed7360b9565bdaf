package run

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// A skill without a tree is one leaf: its model sees all of the text and works with the tools until it has a result. A
// skill that is conversational then hands the turn to the person, and goes on with what they say.

// ResultField is the field of the response that the result of a skill without a tree is in.
const ResultField = "result"

const (
	wholeTurns = 200      // turns with tools that one answer takes at most
	maxTalk    = 64 << 10 // bytes of a conversation that a model is told; the newest are kept
)

// A said is one exchange of a conversation.
type said struct{ model, person string }

// A proseRun is the visit that a run of a skill without a tree is.
type proseRun struct{ visit }

func (at proseRun) run(ctx context.Context) error {
	at.begin(nil)
	var talk []said
	for turn := 0; ; turn++ {
		got, err := at.fill(ctx, model.Request{Purpose: model.Whole, System: at.system(), Prompt: at.prompt(talk), MaxTurns: wholeTurns}, false)
		if err != nil {
			return err
		}
		var value any = got.Text
		if got.Output != nil {
			if value, err = decode(got.Output); err != nil {
				return err
			}
		}
		if got.Output == nil && at.s.plan.Skill.Doc.IsConversational() {
			id := at.path
			if turn > 0 {
				id += "[" + strconv.Itoa(turn) + "]"
			}
			words, err := at.put(ctx, Question{ID: id, Node: at.n.ID, Question: got.Text, Options: []string{}, Turn: true})
			if err != nil {
				return err
			}
			if strings.TrimSpace(words) != "" {
				talk = append(talk, said{got.Text, words})
				continue
			}
		}
		if text, ok := value.(string); ok && strings.TrimSpace(text) == "" { // nothing was given, which is not an empty text
			const why = "the model ended without a result"
			value, at.st.Unfilled = nil, map[string]string{ResultField: why}
			at.warn("response_null", ResultField+" of the response is null: "+why)
		}
		at.assign(ResultField, value, "")
		at.st.Response = map[string]any{ResultField: value}
		at.bound(ResultField, value)
		at.finish(OK, encode(value))
		return nil
	}
}

// system is what holds for the whole of a skill without a tree.
func (at proseRun) system() string {
	var p prompt
	fmt.Fprintf(&p, "You carry out the skill %s. Its text says what to do and how. Work in turns with the tools that you are given, and with no others; a call that is not allowed stays so, and you go on without it or say that it cannot be done.\n", at.s.plan.Skill.Name)
	if at.s.plan.Skill.Doc.IsConversational() {
		p.line("Each of your answers goes to a person, who answers it. Call the tool finalize, if you have it, when the work is done.")
	} else {
		p.line("Nobody answers you. When the work is done, give its result: as your answer, or by the tool finalize if you have it.")
	}
	return p.String()
}

// prompt is the text of the skill with its arguments and what was said so far.
func (at proseRun) prompt(talk []said) string {
	var p prompt
	p.line(at.n.Body)
	if names, more := at.s.plan.Files(); len(names) > 0 {
		list := "skill:" + strings.Join(names, "\nskill:")
		if more {
			list += "\nand more"
		}
		p.part("Files of the skill, which the tool read takes by these names", list)
	}
	p.foreign("Arguments ($ARGUMENTS)", at.s.args)
	var rows []string
	for _, name := range at.names() {
		if v, ok := at.binding(name); ok {
			rows = append(rows, name+" = "+diag.Clip(string(encode(v)), maxValue))
		}
	}
	p.foreign("Values", strings.Join(rows, "\n"))
	p.part("The conversation so far", told(talk))
	return p.String()
}

// told is a conversation as a model reads it.
func told(talk []said) string {
	room, from := maxTalk, len(talk)
	for from > 0 && (from == len(talk) || room-len(talk[from-1].model)-len(talk[from-1].person) >= 0) {
		from--
		room -= len(talk[from].model) + len(talk[from].person)
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString(diag.Count(from, "earlier exchange") + " left out\n")
	}
	for _, s := range talk[from:] {
		b.WriteString("You: " + s.model + "\nThe person: " + s.person + "\n")
	}
	return b.String()
}
