package run

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A Done is a person's word that an effect which nobody saw end did take place.
type Done struct {
	Node  string  // path of the visit, or id of the node
	Value *string // what it gave; nil where it gives nothing
}

// byWord is how the result of an effect is known that nobody saw end.
const byWord = "done"

// matches reports whether name means the visit or the node of e.
func (e effect) matches(name string) bool { return name == e.path || name == e.node }

// finished gives the result of an effect that a person says took place.
func (s *session) finished(e effect) (reply, bool, error) {
	i := slices.IndexFunc(s.r.Done, func(d Done) bool { return e.matches(d.Node) })
	if i < 0 {
		return reply{}, false, nil
	}
	switch value := s.r.Done[i].Value; {
	case value == nil && e.gives != "":
		return reply{}, false, diag.New(diag.Misuse, CodeDone, "node %s (visit %s) gives %s: --done needs the value that it gave", e.node, e.path, e.gives).
			Hint("%s", s.again("--done", e.path+"=VALUE"))
	case value != nil && e.take == nil:
		return reply{}, false, diag.New(diag.Misuse, CodeDone, "node %s (visit %s) gives no value (%s), and --done has one for it", e.node, e.path, e.kind).
			Hint("%s", s.again("--done", e.path))
	case value == nil:
		return reply{How: byWord}, true, nil
	default:
		got, err := e.take(*value)
		got.How = byWord
		return got, err == nil, err
	}
}

// unfinished is the error of an effect that acts and that nobody saw end; call is the one that a leaf had begun, if it is known.
func (s *session) unfinished(e effect, call *pastTool) error {
	done, what := e.path, e.kind
	if e.gives != "" {
		done += "=VALUE"
	}
	if e.tool != "" {
		what = "a call of the tool " + diag.Printable(e.tool)
	}
	if call != nil {
		what = asCalled(call.started.Name, call.started.Input)
	}
	return diag.New(diag.NeedsInput, CodeUnfinished,
		"node %s (visit %s) had begun %s when the run was interrupted, and nobody saw it end", e.node, e.path, what).
		Hint("%s", s.again("--done", done)+", if it happened").
		Hint("%s", s.again("--rerun", e.path)+", if it may run again")
}

// takeText takes what a script printed.
func takeText(value string) (reply, error) { return reply{Text: value}, nil }

// takeAnswer returns what takes the answer of a leaf: text without a schema; else JSON, or for a single key its bare value.
func takeAnswer(e effect, schema json.RawMessage, keys []string) func(string) (reply, error) {
	if schema == nil {
		return takeText
	}
	return func(value string) (reply, error) {
		v, err := decode(json.RawMessage(value))
		object, isObject := v.(map[string]any)
		if len(keys) == 1 && (err != nil || !isObject || !has(object, keys[0])) {
			if err != nil || value == "" {
				v = value
			}
			return reply{Output: encode(map[string]any{keys[0]: v})}, nil
		}
		if err != nil || value == "" {
			return reply{}, diag.New(diag.Misuse, CodeDone, "the value that --done has for node %s (visit %s) must be JSON with %s", e.node, e.path, e.gives)
		}
		for _, k := range keys {
			if !has(object, k) {
				return reply{}, diag.New(diag.Misuse, CodeDone, "the value that --done has for node %s (visit %s) lacks %s", e.node, e.path, k)
			}
		}
		return reply{Output: encode(v)}, nil
	}
}

// words checks that every --done and --rerun means an effect that was begun and not seen to end, and that none means both.
func (h *history) words(r *Runner) error {
	open := map[string][]string{} // visits, by what names them
	var visits []string
	for key, p := range h.effects {
		if p.done != nil {
			continue
		}
		path, _, _ := strings.Cut(key, "!")
		visits = append(visits, path)
		open[path] = append(open[path], path)
		if p.started.Node != path {
			open[p.started.Node] = append(open[p.started.Node], path)
		}
	}
	slices.Sort(visits)
	unknown := func(flag, name string) error {
		e := diag.New(diag.Misuse, CodeDone, "%s %s: the run has no such effect that was begun and not seen to end", flag, name)
		if len(visits) > 0 {
			return e.Meant(visits...)
		}
		return e.Hint("skl trace %s", cmp.Or(r.Name, "last"))
	}
	taken := map[string]bool{}
	for _, d := range r.Done {
		paths := open[d.Node]
		switch {
		case len(paths) == 0:
			return unknown("--done", d.Node)
		case len(paths) > 1 && d.Value != nil:
			slices.Sort(paths)
			return diag.New(diag.Misuse, CodeDone, "--done %s has one value for %d visits", d.Node, len(paths)).Meant(paths...)
		}
		for _, p := range paths {
			if taken[p] {
				return diag.New(diag.Misuse, CodeDone, "--done names visit %s twice", p)
			}
			taken[p] = true
		}
	}
	for _, name := range r.Rerun {
		if name == "*" {
			continue
		}
		if len(open[name]) == 0 {
			return unknown("--rerun", name)
		}
		for _, p := range open[name] {
			if taken[p] {
				return diag.New(diag.Misuse, CodeDone, "visit %s cannot both have happened (--done) and run again (--rerun)", p)
			}
		}
	}
	return nil
}

// schemaKeys are the properties of an object schema, sorted; nil if it says none.
func schemaKeys(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}
