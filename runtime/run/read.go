package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/resource"
)

// A reader is a visit of a node that reads a file.
type reader struct{ visit }

// run loads a file; what that means is said by its category. Files of the skill are part of the plan, and reading
// one is no effect.
func (at reader) run(ctx context.Context) error {
	at.begin(nil)
	value, err := at.read(ctx)
	if err != nil {
		return err
	}
	var bound map[string]any
	if len(at.n.Outs) > 0 {
		if bound, err = at.bindOuts(value); err != nil {
			return err
		}
	}
	at.finish(OK, values(bound))
	return nil
}

// read gives the value of a Read node, and keeps it for the leaves that follow where no name takes it.
func (at reader) read(ctx context.Context) (any, error) {
	file, err := at.shown(at.n.Path)
	if err != nil {
		return nil, err
	}
	sibling := strings.HasPrefix(file, "../") || strings.HasPrefix(file, "<skills-root>/")
	if resource.CategoryOf(file) == resource.Project && !sibling {
		text, err := at.readProject(ctx, file)
		if err != nil {
			return nil, err
		}
		return at.keep(document{Path: file, Text: text})
	}
	r, err := at.s.plan.Resource(at.home(), file)
	if err != nil {
		return nil, at.placed(err)
	}
	if r.Legacy {
		at.warn("path_legacy", "there is no "+file+"; "+r.Path+" is read")
	}
	d := document{Path: r.Path, Text: r.Text}
	if d.Section, err = plan.Part(r, at.n); at.n.Section != "" {
		d.Section, err = at.section()
	}
	if err != nil {
		return nil, at.placed(err)
	}
	if d.Section != "" {
		text, ok := plan.Section(r, d.Section)
		if !ok {
			return nil, diag.New(diag.Unmet, CodeFile, "%s has no section %q", r.Path, d.Section).At(at.position())
		}
		d.Text = text
	}
	switch r.Category {
	case resource.Script:
		return at.script(ctx, d)
	case resource.Template:
		return at.template(ctx, d)
	case resource.Policy:
		at.adopt(d)
		return d.Text, nil
	case resource.VerifyDoc:
		at.warn("verify_read", r.Path+" is a checklist of VERIFY_EXPECTED, and a Read does not check it")
	}
	return at.keep(d)
}

// section is the name of the section that n reads.
func (at reader) section() (string, error) {
	if !at.n.Matching {
		return at.shown(at.n.Section)
	}
	v, ok := at.lookup(strings.Trim(at.n.Section, "`"))
	if !ok {
		return "", diag.New(diag.Unmet, CodeUnbound, "the section of %s is named by %s, which has no value", at.n.Path, at.n.Section).At(at.position())
	}
	text, ok := v.(string)
	if !ok {
		return "", diag.New(diag.Unmet, CodeValue, "the section of %s is named by %s, which is not text", at.n.Path, at.n.Section).At(at.position())
	}
	return text, nil
}

// keep gives the value of a file's text, and shows it to the leaves that follow when no name takes it.
func (at reader) keep(d document) (any, error) {
	if len(at.n.Outs) == 0 {
		at.load(d)
		return nil, nil
	}
	if resource.CategoryOf(d.Path) == resource.Checks {
		items := []any{}
		for _, item := range resource.ParseChecklist(d.Text).Items {
			items = append(items, item.Text)
		}
		return items, nil
	}
	if strings.HasSuffix(d.Path, ".json") && d.Section == "" {
		if v, err := decode(json.RawMessage(d.Text)); err == nil {
			return v, nil
		}
	}
	return strings.TrimRight(d.Text, "\r\n"), nil
}

func (at visit) readProject(ctx context.Context, file string) (string, error) {
	file = at.projectPath(file)
	got, err := at.do(ctx, effect{kind: "read", digest: digest(file)}, func(context.Context, string) (reply, error) {
		if at.s.r.Tools == nil {
			return reply{}, diag.New(diag.Failed, CodeTools, "%s is a file of the project, and there are no tools to read it with", file).At(at.position())
		}
		data, err := at.s.r.Tools.ReadFile(file)
		switch {
		case err != nil:
			return reply{}, at.failedFile("reading", file, err)
		case !utf8.Valid(data):
			return reply{}, diag.New(diag.Failed, CodeFile, "%s is not text", file).At(at.position())
		case len(data) > plan.MaxFile:
			return reply{}, diag.New(diag.Failed, CodeFile, "%s is larger than %d KiB, the limit of a file that a tree reads", file, plan.MaxFile>>10).At(at.position())
		}
		return reply{Text: string(data)}, nil
	})
	return got.Text, err
}

func (at place) failedFile(verb, file string, err error) error {
	if class := diag.ClassOf(err); class == diag.Refused || class == diag.NeedsInput {
		return err
	}
	return diag.New(diag.Failed, CodeFile, "%s %s: %w", verb, file, err).At(at.position())
}

// script runs a script, or the section of one that the node names.
func (at reader) script(ctx context.Context, d document) (any, error) {
	s := Script{Path: d.Path, Section: d.Section, Text: d.Text, Env: at.environment(d.Text)}
	e := effect{kind: "script", path: at.path, node: at.id(), acts: true, digest: digest(d.Path, d.Section, d.Text, string(encode(s.Env))), gives: strings.Join(targetNames(at.n.Outs), ", "), take: takeText}
	got, err := at.do(ctx, e, func(ctx context.Context, key string) (reply, error) {
		if at.s.r.Tools == nil {
			return reply{}, diag.New(diag.Refused, CodeScriptDeny, "the script %s may not run: there is nothing to run it with", d.Path).At(at.position())
		}
		if err := at.s.budget.timeLeft(); err != nil { // it did not begin
			return reply{}, cmp.Or(at.s.journal.append(Record{Type: ReleasedRecord, Key: key}, true), err)
		}
		ctx, cancel := at.s.budget.timed(ctx)
		defer cancel()
		result, deed, err := at.s.r.Tools.Script(ctx, s)
		did := &deed
		switch cause := context.Cause(ctx); {
		case cause != nil && (err != nil || result.IsError):
			return reply{Did: did}, at.s.cut(e, "the script "+d.Path+d.section(), cause)
		case diag.ClassOf(err) == diag.NeedsInput:
			return reply{}, err
		case err != nil:
			return reply{}, diag.New(diag.Refused, CodeScriptDeny, "the script %s%s may not run: %s", d.Path, d.section(), diag.Clip(err.Error(), 500)).At(at.position()).Hint("skl run %s --dry-run shows which tools are allowed, and why not", at.s.called())
		case result.IsError:
			return reply{Did: did}, diag.New(diag.Failed, CodeScript, "the script %s%s failed: %s", d.Path, d.section(), diag.Clip(result.Text, 2000)).At(at.position())
		}
		return reply{Text: result.Text, Did: did}, nil
	})
	at.acted("script", d.Path+d.section(), got, err)
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(got.Text, "\r\n")
	switch {
	case len(at.n.Outs) == 0:
		at.note(at.path, text)
		return nil, nil
	case len(at.n.Outs) == 1 && !at.n.Outs[0].Group:
		return text, nil
	}
	return several(at.n, text), nil
}

// acted tells of a script that ran, or of a file that was written: done, failed, or stopped in the middle. Of one that did not begin it tells nothing.
func (at visit) acted(kind, what string, got reply, err error) {
	e := Event{Kind: Acted, Name: kind, Text: what, Status: OK, Did: got.Did}
	switch {
	case err == nil:
	case got.Did == nil && !errors.Is(err, diag.Code(CodeScript)):
		return
	case errors.Is(err, diag.Code(CodeScript)):
		e.Status = Errored
	default:
		e.Status = Suspended
	}
	at.tell(e)
}

// cut is the end of a script, or of a tool's call, that was stopped in the middle: by the time budget, or by a person. What it did
// until then nobody knows.
func (s *session) cut(e effect, what string, cause error) error {
	message, more, why := "interrupted", "", "the run was interrupted"
	if cause == errTime {
		message = s.budget.inTime(cause).Error()
		more, why = " --budget time="+(10*s.r.Limits.Time).String(), "the time budget of "+s.r.Limits.Time.String()+" was spent"
	}
	done := e.path
	if e.gives != "" {
		done += "=VALUE"
	}
	stopped := diag.New(diag.NeedsInput, CodeUnfinished, "%s was stopped in the middle when %s, at node %s (visit %s): its work until then stays", what, why, e.node, e.path).
		Hint("%s", s.again("--rerun", e.path)+more+", if it may run again").
		Hint("%s", s.again("--done", done)+more+", if it did all that it should")
	stopped.Err = cause
	return suspendSignal{message: message, err: stopped}
}

// several reads what a script printed for several names: a JSON object, or one line each.
func several(n *tree.Node, text string) any {
	if v, err := decode(json.RawMessage(text)); err == nil {
		if _, ok := v.(map[string]any); ok {
			return v
		}
	}
	if lines := strings.Split(text, "\n"); len(lines) == len(n.Outs) {
		object := map[string]any{}
		for i, t := range n.Outs {
			object[t.Name] = strings.TrimRight(lines[i], "\r")
		}
		return object
	}
	return text
}

// environment is what a script gets in its environment: the names that the node mentions, and the variables of the script that
// are spelled like a bound name ("$NEW_VERSION" is new_version). Nothing is filled into the script's text.
func (at reader) environment(text string) map[string]string {
	env := map[string]string{"ARGUMENTS": at.s.args}
	for _, name := range resource.Mentions(at.n.Text, at.known) {
		if v, ok := at.lookupText(name); ok && isName(name) {
			env[name] = v
		}
	}
	bound := map[string]string{}
	for _, name := range at.names() {
		bound[tree.NameOf(name)] = name
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		rest := strings.TrimPrefix(text[i+1:], "{")
		if len(rest) > 4 && strings.EqualFold(rest[:4], "env:") {
			rest = rest[4:]
		}
		end := 0
		for end < len(rest) && wordByte(rest[end]) {
			end++
		}
		if name, ok := bound[tree.NameOf(rest[:end])]; ok && end > 0 {
			env[rest[:end]], _ = at.lookupText(name)
		}
	}
	return env
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !wordByte(s[i]) {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// template fills the slots, and writes the text where the node says so.
func (at reader) template(ctx context.Context, d document) (any, error) {
	text, unknown := resource.Fill(d.Text, at.slot)
	if len(unknown) > 0 {
		at.warn("slot_unknown", d.Path+" keeps the slots "+strings.Join(unknown, ", "))
	}
	target := plan.WriteTarget(at.n)
	if target == "" {
		d.Text = text
		return at.keep(d)
	}
	target, err := at.shown(target)
	if err != nil {
		return nil, err
	}
	target = at.projectPath(target)
	tools := at.s.r.Tools
	already := func() bool {
		if tools == nil {
			return false
		}
		data, err := tools.ReadFile(target)
		return err == nil && string(data) == text
	}
	got, err := at.do(ctx, effect{kind: "write", acts: true, digest: digest(target, text), already: already}, func(ctx context.Context, _ string) (reply, error) {
		if tools == nil {
			return reply{}, diag.New(diag.Failed, CodeTools, "%s is to be written, and there are no tools to write with", target).At(at.position())
		}
		if at.s.past != nil && already() {
			return reply{Text: target}, nil // written just before an interruption
		}
		did, err := tools.WriteFile(ctx, target, []byte(text))
		if err != nil {
			return reply{}, at.failedFile("writing", target, err)
		}
		return reply{Text: target, Did: &did}, nil
	})
	at.acted("write", target, got, err)
	if err != nil {
		return nil, err
	}
	at.tell(Event{Kind: Output, Text: "wrote " + target})
	return text, nil
}
