package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// negatives are the words that options which say no begin with.
var negatives = []string{"no", "cancel", "abort", "stop", "quit", "decline"}

// An asking is a visit of ASK.
type asking struct{ visit }

func (at asking) run(ctx context.Context) error {
	at.begin(nil)
	q, err := at.question()
	if err != nil {
		return err
	}
	text, err := at.answered(ctx, q)
	if err != nil {
		return err
	}
	at.owner().Answer = &answered{text, q.Options}
	bound := map[string]any{}
	if len(q.Options) == 0 {
		bound["answer"] = text // ruling 5.17
	}
	if len(at.n.Outs) > 0 {
		bound[at.n.Outs[0].Name] = text
	}
	for _, name := range sorted(bound) {
		at.assign(name, text, "")
		s, _ := at.scope()
		s.Asked = with(s.Asked, name)
		at.bound(name, text)
	}
	if child := optionBranch(at.n, text); child != nil {
		i := slices.Index(at.n.Children, child)
		for j, c := range at.n.Children {
			if j != i {
				at.to(c, at.path+"/"+strconv.Itoa(j)).pass()
			}
		}
		taken := at.to(child, at.path+"/"+strconv.Itoa(i))
		at.into(&frame{Kind: branchFrame, Base: taken.path, Take: i + 1, ByAnswer: true, nodes: branchNodes(at.n, i+1)})
		taken.begin(nil)
		return nil
	}
	if starts(text, negatives) && len(q.Options) > 0 && at.s.r.AskNegative != NegativeContinues && !at.consumed(q, text) {
		return endSignal{Status: Ended, Message: "Cancelled."} // ruling 5.16
	}
	at.finish(OK, values(bound))
	return nil
}

// answered is the answer: the one that was set, or what a person says.
func (at asking) answered(ctx context.Context, q Question) (string, error) {
	raw, ok := at.override()
	if !ok {
		text, err := at.put(ctx, q)
		if err != nil {
			return "", err
		}
		return at.adjust(ctx, q, text)
	}
	v, err := decode(raw)
	if err != nil {
		return "", err
	}
	at.eff.set = true
	text, err := option(q, cond.Text(v))
	if err == nil {
		at.tell(Event{Kind: Answered, Text: q.Question, Value: encode(text), How: bySet})
	}
	return text, err
}

// question is what an ASK asks: a person cannot answer what has a name in it that has no value.
func (at asking) question() (q Question, err error) {
	q = Question{ID: at.path, Node: at.id(), Options: []string{}}
	if q.Question, err = at.shown(at.n.Question); err != nil {
		return q, err
	}
	for _, o := range at.n.Options {
		if o, err = at.shown(o); err != nil {
			return q, err
		}
		q.Options = append(q.Options, o)
	}
	return q, nil
}

// optionBranch is the child of an ASK that is the branch of an answer, nil if there is none.
func optionBranch(n *tree.Node, answer string) *tree.Node {
	child := n.Option(answer)
	if head, _ := splitOption(answer); child == nil && head != "" {
		child = n.Option(head)
	}
	return child
}

func sorted(object map[string]any) []string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// put asks a question and gives the answer: one of the options, if there are any.
func (at visit) put(ctx context.Context, q Question) (string, error) {
	at.tell(Event{Kind: Asked, Text: q.Question, Value: encode(q.Options)})
	recorded := true
	got, err := at.do(ctx, effect{kind: "ask", digest: digest(q.Question, string(encode(q.Options)))}, func(ctx context.Context, _ string) (reply, error) {
		recorded = false
		a, err := at.s.answer(ctx, q)
		return reply{Text: a.Text, How: a.How}, err
	})
	if err != nil {
		return "", err
	}
	if recorded {
		at.s.hold(q, got.Text)
	}
	at.tell(Event{Kind: Answered, Text: q.Question, Value: encode(got.Text), How: got.How})
	return got.Text, nil
}

// answer finds an answer (ruling 5.18): one that was given beforehand, the person's; else the run is suspended.
func (s *session) answer(ctx context.Context, q Question) (Answer, error) {
	if key, a, ok := s.given(q); ok {
		s.took(key)
		text, err := option(q, a.Text)
		if err != nil { // the question waits for another one
			return Answer{}, suspendSignal{pending: &Pending{q.ID, q.Node, q.Question, q.Options}, message: err.Error(), err: err}
		}
		return Answer{text, cmp.Or(a.How, "flag")}, nil
	}
	if err := s.overruled(); err != nil {
		return Answer{}, err
	}
	if s.r.Ask == nil {
		return Answer{}, waits(q)
	}
	s.await(s.asking.Lock)
	defer s.asking.Unlock()
	for try := 1; ; try++ {
		a, err := s.r.Ask(ctx, q)
		switch {
		case errors.Is(err, ErrNoAnswer), err == nil && try > 3:
			return Answer{}, waits(q)
		case err != nil:
			return Answer{}, err
		}
		if text, err := option(q, a.Text); err == nil {
			if a.How == "" {
				a.How = "person"
			}
			return Answer{text, a.How}, nil
		}
	}
}

func waits(q Question) error {
	return suspendSignal{pending: &Pending{q.ID, q.Node, q.Question, q.Options}, message: "waits for an answer to: " + q.Question}
}

// took says that a question takes the answer of key.
func (s *session) took(key string) {
	s.mu.Lock()
	delete(s.held, key)
	s.mu.Unlock()
	if s.r.Took != nil {
		s.r.Took(key)
	}
}

// hold compares an answer that was given beforehand with the one that the journal has.
func (s *session) hold(q Question, recorded string) {
	key, a, ok := s.given(q)
	if !ok {
		return
	}
	if text, err := option(q, a.Text); err == nil && text == recorded {
		s.took(key)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[string]string{}
	}
	s.held[key] = recorded
}

// overruled is the error of an answer to a question that was answered otherwise before, once the run goes on: it would change nothing of what
// was done. A later question may take it, which is asked first.
func (s *session) overruled() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(s.held)) {
		err := diag.New(diag.Misuse, CodeAnswered, "the answer to %q is %q already, and cannot be changed", diag.Clip(diag.Printable(key), 80), diag.Clip(diag.Printable(s.held[key]), 80)).
			Hint("skl run %s, to start anew", s.called())
		return suspendSignal{message: err.Message, err: err}
	}
	return nil
}

// given looks an answer up by the visit, the node, or the longest prefix of the question.
func (s *session) given(q Question) (string, Answer, bool) {
	for _, key := range []string{q.ID, q.Node} {
		if a, ok := s.r.Answers[key]; ok && (key == q.ID || !q.Turn) {
			return key, a, true
		}
	}
	if q.Turn {
		return "", Answer{}, false
	}
	best, found := "", false
	for key := range s.r.Answers {
		if k := strings.TrimSpace(key); k != "" && len(k) > len(best) && len(k) <= len(q.Question) && strings.EqualFold(q.Question[:len(k)], k) {
			best, found = k, true
		}
	}
	if !found {
		return "", Answer{}, false
	}
	for key, a := range s.r.Answers {
		if strings.TrimSpace(key) == best {
			return key, a, true
		}
	}
	return "", Answer{}, false
}

// option finds the option that an answer means: the whole of it, what stands before its dash, or the only one that begins so.
func option(q Question, text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(q.Options) == 0 {
		return text, nil
	}
	var begins []string
	for _, o := range q.Options {
		if tree.SameOption(o, text) {
			return o, nil
		}
		if head, _ := splitOption(o); tree.SameOption(head, text) {
			return o, nil
		}
		if text != "" && len(o) >= len(text) && strings.EqualFold(o[:len(text)], text) {
			begins = append(begins, o)
		}
	}
	if len(begins) == 1 {
		return begins[0], nil
	}
	return "", diag.New(diag.Misuse, CodeAnswer, "%q is not an answer to %q", diag.Clip(text, 80), diag.Clip(q.Question, 120)).Meant(q.Options...)
}

// splitOption cuts "Yes — do it" at the dash or arrow.
func splitOption(text string) (head, rest string) {
	at, width := len(text), 0
	for _, dash := range [...]string{" — ", " – ", " - ", " → "} {
		if i := strings.Index(text, dash); i >= 0 && i < at {
			at, width = i, len(dash)
		}
	}
	return strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+width:])
}

// starts reports whether an option is one of words, alone or before a dash or a comma.
func starts(option string, words []string) bool {
	head, _ := splitOption(option)
	head, _, _ = strings.Cut(head, ",")
	head = strings.ToLower(strings.TrimRight(strings.TrimSpace(head), ".!:"))
	return slices.Contains(words, head)
}

// consumed reports whether a node after the ASK, here or around it in the same op, looks at the answer: it tests
// the option or what the user chose, is the ELSE of a chain that tests another option, or reads the name that the ASK binds.
func (at asking) consumed(q Question, answer string) bool {
	for i := len(at.Frames) - 1; i >= 0; i-- {
		f := at.Frames[i]
		chain := false
		for _, next := range f.nodes[min(f.Index+1, len(f.nodes)):] {
			switch next.Kind {
			case tree.If, tree.ElseIf:
				c := at.s.plan.Cond(next)
				if cond.Offers(c, answer) || strings.Contains(strings.ToLower(next.Cond), "user chose") {
					return true
				}
				chain = chain && next.Kind == tree.ElseIf || slices.ContainsFunc(q.Options, func(o string) bool { return cond.Offers(c, o) })
			case tree.Else:
				if chain {
					return true
				}
			default:
				chain = false
			}
			if len(at.n.Outs) > 0 && reads(next, at.n.Outs[0].Name) {
				return true
			}
		}
		if f.owns() {
			return false
		}
	}
	return false
}

// reads reports whether a node or one below it mentions name.
func reads(n *tree.Node, name string) bool {
	found := false
	tree.Walk([]*tree.Node{n}, func(n *tree.Node) bool {
		for _, text := range [...]string{n.Text, n.Body} {
			for rest := text; !found; {
				i := strings.Index(rest, name)
				if i < 0 {
					break
				}
				end := i + len(name)
				found = (i == 0 || !wordByte(rest[i-1])) && (end == len(rest) || !wordByte(rest[end]))
				rest = rest[end:]
			}
		}
		return !found
	})
	return found
}

// adjust handles an answer "Adjust …" that no branch looks at: it asks what to adjust, shows the plan again, and asks once more.
func (at asking) adjust(ctx context.Context, q Question, text string) (string, error) {
	if len(q.Options) == 0 || !strings.HasPrefix(strings.ToLower(text), "adjust") || at.consumed(q, text) ||
		optionBranch(at.n, text) != nil {
		return text, nil
	}
	what, err := at.put(ctx, Question{ID: at.path + ":adjust", Node: q.Node, Question: plan.Adjusting, Options: []string{}})
	if err != nil {
		return "", err
	}
	at.assign("adjustment", what, "")
	at.bound("adjustment", what)
	if shown, _, ok := at.s.plan.NodeByID(at.owner().Plan); ok {
		if _, err := (showing{at.to(shown, at.path)}).show(ctx, true); err != nil {
			return "", err
		}
	}
	q.ID = at.path + ":again"
	return at.put(ctx, q)
}

// fields asks for the values of fields that no binding has.
func (at visit) fields(ctx context.Context, purpose model.Purpose, names []string, task string) (map[string]any, error) {
	var p prompt
	p.line(task)
	p.part("Fields", strings.Join(names, "\n"))
	at.writeValues(&p, "", at.names(), true)
	at.loaded(&p)
	got, err := at.fill(ctx, model.Request{Purpose: purpose, Isolated: len(at.Frames) > 0 && at.top().Agent, System: at.system(""), Prompt: p.String(), Schema: keysSchema(names)}, true)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if json.Unmarshal(got.Output, &object) != nil {
		return nil, diag.New(diag.Failed, CodeValue, "the model's answer for %s is not an object", at.path)
	}
	for name := range object {
		if !slices.Contains(names, name) {
			delete(object, name)
		}
	}
	return object, nil
}
