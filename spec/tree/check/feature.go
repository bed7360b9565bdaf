package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
	"github.com/skl-project/skl/spec/tree"
)

// featureNames are the names that canopy-features can list.
var featureNames = [...]string{"control-flow", "explore", "interaction", "parallel", "subagent", "verify"}

const manifestKey = "canopy-features"

// Features returns the parts of the language that the tree and all ops of s use,
// beyond those that every tree has, sorted: some of control-flow, explore,
// interaction, parallel, subagent and verify. It is never nil.
func Features(s *tree.Skill) []string {
	used := map[string]bool{}
	visit := func(n *tree.Node) bool {
		switch n.Kind {
		case tree.Ask, tree.ShowPlan:
			used["interaction"] = true
		case tree.Switch, tree.Case, tree.Default, tree.ForEach:
			used["control-flow"] = true
		case tree.Parallel:
			used["parallel"] = true
		case tree.Explore:
			used["explore"] = true
		case tree.Verify:
			used["verify"] = true
		case tree.Call:
			if n.Bold {
				used["subagent"] = true
			}
		}
		return true
	}
	if s.Tree != nil {
		tree.Walk(s.Tree.Nodes, visit)
	}
	if s.Agent != nil {
		used["explore"] = true
	}
	for _, op := range s.Ops {
		if op.Subagent {
			used["subagent"] = true
		}
		if op.Tree != nil {
			tree.Walk(op.Tree.Nodes, visit)
		}
	}
	out := slices.Sorted(maps.Keys(used))
	if out == nil {
		out = []string{}
	}
	return out
}

// manifest compares canopy-features with what is used.
func (c *checker) manifest() {
	d := c.skill.Doc
	if d == nil {
		return
	}
	used := Features(c.skill)
	meta, _ := field(d.Fields, "metadata")
	entry, ok := field(meta.Value.Fields, manifestKey)
	if !ok {
		at := tree.Pos{File: c.skill.File, Line: 1}
		if meta.Key != "" {
			at = pos(c.skill.File, meta.KeySpan)
		}
		c.report(NoManifest, at, "metadata has no "+manifestKey+": agents then load the whole language; this skill uses "+listed(used)).Fix = c.addManifest(meta, used)
		return
	}
	at := pos(c.skill.File, entry.KeySpan)
	fix := c.setManifest(entry, used)
	declared := c.skill.Features
	for _, name := range declared {
		switch {
		case name == "core":
			c.report(CoreListed, at, "core is always there and is not listed").Fix = fix
		case !slices.Contains(featureNames[:], name):
			message := "there is no feature " + diag.Clip(name, 60)
			if near := spell.Nearest(name, featureNames[:], 1); len(near) > 0 {
				message += "; did you mean " + near[0] + "?"
			}
			c.report(UnknownFeature, at, message).Fix = fix
		case !slices.Contains(used, name):
			c.report(UnusedFeature, at, manifestKey+" lists "+name+", which nothing uses").Fix = fix
		}
	}
	for _, name := range used {
		if !slices.Contains(declared, name) {
			c.report(MissingFeature, at, manifestKey+" lacks "+name+", which is used").Fix = fix
		}
	}
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none of its parts"
	}
	return strings.Join(names, ", ")
}

func flow(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

// addManifest writes the list as text, which every reader of the format accepts.
func (c *checker) addManifest(meta skill.Field, used []string) *diag.Fix {
	line := manifestKey + `: "` + flow(used) + `"`
	if meta.Key == "" {
		f := c.source(c.skill.File)
		at, ok := c.keyLine(len(c.skill.Doc.Fields))
		if !ok || c.created {
			return nil
		}
		nl := f.newline()
		return &diag.Fix{Note: "list the features", Start: at, End: at, Text: "metadata:" + nl + "  " + line + nl}
	}
	if meta.Value.Kind != skill.Map || meta.Value.Style != skill.Lines || len(meta.Value.Fields) == 0 {
		return nil
	}
	f, first := c.source(c.skill.File), meta.Value.Fields[0].KeySpan
	if f == nil {
		return nil
	}
	at := f.offset(first.Line)
	if at > first.Start || first.Start > len(f.text) || strings.Trim(f.text[at:first.Start], " ") != "" {
		return nil
	}
	return &diag.Fix{Note: "list the features", Start: at, End: at, Text: f.text[at:first.Start] + line + f.newline()}
}

// setManifest writes the right list in the style of the present one.
func (c *checker) setManifest(entry skill.Field, used []string) *diag.Fix {
	f, v := c.source(c.skill.File), entry.Value
	if f == nil || v.End > len(f.text) || v.Start >= v.End {
		return nil
	}
	text := flow(used)
	switch v.Style {
	case skill.Flow:
	case skill.Quoted, skill.Plain:
		text = `"` + text + `"`
	case skill.Lines:
		if len(used) > 0 {
			indent := f.text[f.offset(v.Line):v.Start]
			if strings.Trim(indent, " ") != "" {
				return nil
			}
			text = "- " + strings.Join(used, f.newline()+indent+"- ")
		}
	default:
		return nil
	}
	end := v.Start + len(strings.TrimRight(f.text[v.Start:v.End], " \t\r\n"))
	return &diag.Fix{Note: "list the features that are used", Start: v.Start, End: end, Text: text}
}
