package refactor

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

const (
	opsFile        = "references/ops.md"
	maxDescription = 300 // characters: hosts list descriptions, and cut long lists
)

// shared makes the changes of the skill that takes the ops.
func (c *comparison) shared(moving []*group, into string) map[string]Change {
	changes := map[string]Change{}
	h := c.holders[into]
	var add []*heldOp
	for _, g := range moving {
		if h != nil && len(h.byName[g.name]) > 0 {
			continue // it has the op already
		}
		add = append(add, g.ops[0])
		for _, file := range g.files {
			f := g.ops[0].in.files[file]
			changes[file] = Change{Now: append([]byte{}, f.Data...), Executable: f.Executable}
		}
	}
	// A heading ends ops of its level and deeper ones only: the deepest stand first.
	order.Stable(add, func(a, b *heldOp) int { return cmp.Or(b.Level-a.Level, cmp.Compare(a.Name, b.Name)) })
	if h == nil {
		changes[opsFile] = Change{Now: appendOps([]byte("# Ops\n"), add)}
		changes["SKILL.md"] = Change{Now: c.newSkill(moving, into)}
		return changes
	}
	if len(add) > 0 {
		h.takeOps(add, changes)
	}
	return changes
}

// takeOps adds ops to a skill that is there: to its file of ops, or to a file of its own for one that would be read there as a part
// of the op before it.
func (h *holder) takeOps(add []*heldOp, changes map[string]Change) {
	file := opsFile
	if _, ok := h.files[file]; !ok {
		if _, ok := h.files["ops.md"]; ok {
			file = "ops.md"
		}
	}
	level := 6
	for _, o := range h.ops {
		if o.Pos.File == file {
			level = o.Level
		}
	}
	var fit []*heldOp
	for _, o := range add {
		if o.Level <= level {
			fit = append(fit, o)
			continue
		}
		own := path.Join(path.Dir(file), "ops", strings.ReplaceAll(strings.ToLower(o.Name), "_", "-")+".md")
		changes[own] = Change{Was: h.files[own].Data, Now: appendOps(slices.Clone(h.files[own].Data), []*heldOp{o})}
	}
	if len(fit) > 0 {
		was := h.files[file].Data
		changes[file] = Change{Was: was, Now: appendOps(slices.Clone(was), fit), Executable: h.files[file].Executable}
	}
	for name, change := range changes { // files of the ops that are there already
		if f, ok := h.files[name]; ok && change.Was == nil {
			change.Was, change.Executable = f.Data, f.Executable
			if string(f.Data) == string(change.Now) {
				delete(changes, name)
				continue
			}
			changes[name] = change
		}
	}
}

// appendOps writes ops below a text, each behind an empty line, in the line ends that it has.
func appendOps(text []byte, ops []*heldOp) []byte {
	for _, o := range ops {
		eol := "\n"
		if strings.Contains(o.text, "\r\n") {
			eol = "\r\n"
		}
		if len(text) > 0 {
			if text[len(text)-1] != '\n' {
				text = append(text, eol...)
			}
			text = append(text, eol...)
		}
		text = append(text, o.text...)
		if !strings.HasSuffix(o.text, "\n") {
			text = append(text, eol...)
		}
	}
	return text
}

// newSkill is the SKILL.md of a skill that holds ops alone. It has a tree where one of them is a subagent: lint takes such a skill for
// one that is meant for a runtime.
func (c *comparison) newSkill(moving []*group, into string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ndescription: %s\n", into, describe(moving))
	if license := licenseOf(moving); license != "" {
		fmt.Fprintf(&b, "license: %s\n", license)
	}
	if !slices.ContainsFunc(moving, func(g *group) bool { return g.ops[0].Subagent }) {
		b.WriteString("---\n\nThe ops in `" + opsFile + "` are steps of other skills, which name this one in `metadata.skl-requires`.\n")
		return []byte(b.String())
	}
	used := check.Features(c.opsAlone(moving))
	fmt.Fprintf(&b, "compatibility: %s\nmetadata:\n  canopy-features: \"[%s]\"\n---\n\n%s\n", check.CanonicalCompatibility, strings.Join(used, ", "), check.CanonicalGuard)
	b.WriteString("## Tree\n\n* END << This skill holds ops of other skills, and does nothing by itself.\n\n## Rules\n\n" +
		"* The ops in `" + opsFile + "` are steps of other skills, which name this one in `metadata.skl-requires`.\n\n## Response\n")
	return []byte(b.String())
}

// opsAlone is a skill of nothing but the ops that move.
func (c *comparison) opsAlone(moving []*group) *tree.Skill {
	var ops []*heldOp
	for _, g := range moving {
		ops = append(ops, g.ops[0])
	}
	order.Stable(ops, func(a, b *heldOp) int { return b.Level - a.Level })
	s, err := tree.Load(bundle.Memory{
		"SKILL.md": {Data: []byte("---\ndescription: d\n---\n")}, opsFile: {Data: appendOps(nil, ops)},
	}, "")
	if err != nil {
		return &tree.Skill{}
	}
	return s
}

// describe says which ops the skill holds, as many as fit.
func describe(moving []*group) string {
	text := "Ops that other skills call: "
	for i, g := range moving {
		rest := fmt.Sprintf(" and %d more", len(moving)-i)
		if i > 0 && len(text)+len(g.name)+len(rest)+2 > maxDescription {
			text += rest
			break
		}
		if i > 0 {
			text += ", "
		}
		text += g.name[:min(len(g.name), 100)]
	}
	return `"` + text + `. It is required by these skills, and no task of its own."`
}

// licenseOf is the licence that all skills which held the ops name in the same words, "" if they do not.
func licenseOf(moving []*group) string {
	license := moving[0].ops[0].in.tree.Doc.License
	for _, g := range moving {
		for _, o := range g.ops {
			if o.in.tree.Doc.License != license {
				return ""
			}
		}
	}
	if strings.Trim(license, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-+") != "" {
		return ""
	}
	return license
}
