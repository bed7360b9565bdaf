package author

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/resource"
)

// schemaDir is where contracts lie.
const schemaDir = "assets/schemas/"

// maxTries is how often lint is asked which ops cannot have contracts.
const maxTries = 64

// whyContract is the reason of the plan.
const whyContract = "a contract of an op that had none"

// Contracts writes a schema for each side of each op that has no contract, with the names of its signature as texts, and names it in the
// marker of the op. Every other byte stays. An op that calls a tool is passed over. left names each op that gets none, and why: a schema
// is there already, contracts are strict so that a scaffold would be enforced, or lint would find something new.
func Contracts(d *Draft) (left []string, err error) {
	s, err := tree.Load(d.FS(), d.Name)
	if err != nil || s.Tree == nil {
		return nil, nil // lint says why
	}
	c := &contracting{draft: d, skill: s, before: check.Check(s)}
	leave := func(op *tree.Op, why string) {
		left = append(left, diag.Clip(diag.Printable(op.Name+" gets no contract: "+why), 400))
	}
	var all []contracted
	for _, op := range s.Ops {
		x, why := c.scaffold(op)
		if why != "" {
			leave(op, why)
		} else if len(x.sides) > 0 {
			all = append(all, x)
		}
	}
	switch {
	case len(all) == 0:
		return left, nil
	case s.Strict:
		return append(left, "contracts are strict, so that a scaffold would be enforced as it stands: write them by hand"), nil
	case len(d.changes)+3*len(all) > MaxChanges:
		return append(left, "too many files would change: "+diag.Count(len(all), "op")+" without a contract"), nil
	}
	good, refused := c.fit(all)
	for _, x := range refused {
		leave(x.op, x.why)
	}
	files, err := c.files(good)
	for _, f := range files {
		if err == nil {
			err = d.Put(f.File, []byte(f.New), whyContract)
		}
	}
	return left, err
}

// A contracting is a skill whose ops get contracts.
type contracting struct {
	draft  *Draft
	skill  *tree.Skill
	before []diag.Finding
}

// A contracted op has its sides, and why it cannot have them.
type contracted struct {
	op    *tree.Op
	sides []side
	why   string
}

// A side of an op is what goes in, or what comes out.
type side struct{ key, path, schema string }

// scaffold is an op with the contracts that it gets; none if it has some, needs none or cannot have them.
func (c *contracting) scaffold(op *tree.Op) (x contracted, why string) {
	if op.Input != nil || op.Output != nil || op.CallsTool() || len(op.Params)+len(op.Outs) == 0 {
		return x, ""
	}
	if c.skill.Op(op.Name) != op {
		return x, "nothing calls this definition in " + op.Pos.File
	}
	x.op = op
	var in, out []string
	for _, p := range op.Params {
		in = append(in, p.Name)
	}
	for _, t := range op.Outs {
		out = append(out, t.Name)
	}
	base := schemaDir + strings.ToLower(strings.ReplaceAll(op.Name, "_", "-"))
	for _, y := range [...]struct {
		key, end string
		names    []string
	}{{"Input", "-input.json", in}, {"Output", "-output.json", out}} {
		if len(y.names) == 0 {
			continue
		}
		name := base + y.end
		if err := bundle.CheckPortable(name); err != nil {
			return contracted{}, err.Error()
		}
		for _, at := range [...]string{name, resource.Mapped(name)} {
			if _, err := fs.Lstat(c.draft.FS(), at); err == nil {
				return contracted{}, at + " is there and may be another's"
			}
		}
		x.sides = append(x.sides, side{y.key, name, schemaOf(y.names)})
	}
	return x, ""
}

// schemaOf is the schema of an object in which each name is a text.
func schemaOf(names []string) string {
	var b strings.Builder
	b.WriteString("{\n  \"type\": \"object\",\n  \"additionalProperties\": true,\n  \"properties\": {")
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		if len(seen) > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    " + quoted(name) + ": {\n      \"type\": \"string\"\n    }")
		seen[name] = true
	}
	b.WriteString("\n  }\n}\n")
	return b.String()
}

func quoted(name string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(name); err != nil {
		panic("author: a text is no JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fit parts ops into those that can have contracts and those for which lint would find something new. Halves of a group that cannot are
// tried by themselves.
func (c *contracting) fit(all []contracted) (good, refused []contracted) {
	queue := [][]contracted{all}
	for tries := 0; len(queue) > 0; tries++ {
		group := queue[0]
		queue = queue[1:]
		why := "lint finds something new for too many ops"
		if tries < maxTries {
			why = c.refused(append(slices.Clone(good), group...))
		}
		switch {
		case why == "":
			good = append(good, group...)
		case len(group) == 1 || tries >= maxTries:
			for _, x := range group {
				x.why = why
				refused = append(refused, x)
			}
		default:
			half := len(group) / 2
			queue = append([][]contracted{group[:half], group[half:]}, queue...)
		}
	}
	return good, refused
}

// refused says why ops cannot have contracts, "" if they can.
func (c *contracting) refused(ops []contracted) string {
	files, err := c.files(ops)
	if err != nil {
		return err.Error()
	}
	for _, f := range files {
		if len(f.New) > MaxFile {
			return f.File + " would be too large"
		}
	}
	after, err := tree.Load(check.Rewritten(c.draft.FS(), files), c.draft.Name)
	if err != nil {
		return err.Error()
	}
	for _, x := range ops {
		now := after.Op(x.op.Name)
		if now == nil || now.Kind != x.op.Kind || now.Prose != x.op.Prose || now.Subagent != x.op.Subagent {
			return "the op would be read as something else"
		}
		for _, y := range x.sides {
			if has := now.Input; y.key == "Input" && (has == nil || has.Path != y.path) {
				return "its input contract would not be read"
			}
			if has := now.Output; y.key == "Output" && (has == nil || has.Path != y.path) {
				return "its output contract would not be read"
			}
		}
	}
	if f := newFinding(c.before, check.Check(after)); f != nil {
		return "lint would find something new: " + f.Sentence() + " [" + f.Rule + "]"
	}
	return ""
}

// files are the schemas of ops, and the files with their markers.
func (c *contracting) files(ops []contracted) (out []check.Rewrite, err error) {
	fixes := map[string][]diag.Fix{}
	texts := map[string]string{}
	for _, x := range ops {
		name := x.op.Pos.File
		if _, ok := texts[name]; !ok {
			data, err := c.draft.Read(name)
			if err != nil {
				return nil, err
			}
			texts[name] = string(data)
			out = append(out, check.Rewrite{File: name, Old: string(data)})
		}
		for _, y := range x.sides {
			out = append(out, check.Rewrite{File: y.path, New: y.schema})
		}
	}
	starts := map[string][]int{}
	for _, x := range ops {
		name := x.op.Pos.File
		if starts[name] == nil {
			starts[name] = lineStarts(texts[name])
		}
		fixes[name] = append(fixes[name], marked(x, texts[name], starts[name]))
	}
	for i := range out {
		if f := &out[i]; fixes[f.File] != nil {
			f.New = string(skill.Apply([]byte(f.Old), fixes[f.File]))
		}
	}
	return out, nil
}

// marked is the splice that names the contracts of an op: behind the first line of its marker, or in a new one below its heading.
func marked(x contracted, text string, starts []int) diag.Fix {
	line := x.op.Pos.Line
	if x.op.Subagent {
		line = x.op.MarkerPos.Line
	}
	at := len(text)
	if line < len(starts) {
		at = starts[line]
	}
	nl := "\n"
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		nl = "\r\n"
	}
	var b strings.Builder
	if !x.op.Subagent {
		b.WriteString(nl)
	}
	for _, y := range x.sides {
		b.WriteString("> **" + y.key + " contract:** `" + y.path + "`" + nl)
	}
	if next, _, _ := strings.Cut(text[at:], "\n"); !x.op.Subagent && strings.TrimSpace(next) != "" {
		b.WriteString(nl)
	}
	add := b.String()
	if at > 0 && text[at-1] != '\n' { // the file has no last line end, and gets none
		add = nl + strings.TrimSuffix(add, nl)
	}
	return diag.Fix{Start: at, End: at, Text: add}
}
