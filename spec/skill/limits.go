package skill

import (
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// limits reads what limits a skill that names no format: the safety keys of corteza.skill in either encoding, and what looks like one of them. Its
// other keys have no effect then. A limit that somebody wrote is not lifted by what is missing beside it.
func (r *reader) limits(keys []Field) {
	v := &v1Reader{reader: r, keys: keys, v1: &V1{Encoding: TopLevel}}
	for _, f := range keys {
		switch f.Key {
		case "model_invocation":
			r.limited, r.doc.Invocation = true, v.modelInvocation(f)
		case "side_effects":
			r.doc.SideEffects = v.sideEffects(f)
		case "tools":
			r.doc.Tools = v.tools(f)
		case "critical":
			v.critical(f)
		default:
			continue
		}
		r.report(RuleNoFormat, f.KeySpan, "%s holds with skl run, and nowhere else without skill_format: %s", f.Key, FormatV1)
	}
	for _, f := range r.fm.root {
		v.nearLimit(f, f.Key)
		if f.Key == "tools" && slices.ContainsFunc(namesIn(f.Value), isKnownTool) {
			r.report(RuleNoFormat, f.KeySpan, "tools is not a map with allow and deny, so it limits nothing; allowed-tools asks for tools")
		}
	}
	for _, f := range r.metadataFields() {
		if _, _, carried := portableKey(f.Key); !carried {
			v.nearLimit(f, strings.TrimPrefix(f.Key, portablePrefix))
		}
	}
}

// isLimit reports whether the value of f, whose key is a safety key of corteza.skill or near one, is what that key takes. Other tools have keys of
// such names: "tools: [claude, cursor]" lists agents.
func isLimit(meant string, v Value) bool {
	switch meant {
	case "model_invocation", "side_effects", "tools.allow", "tools.deny":
		return true
	case "tools":
		return v.Kind == Map && slices.ContainsFunc(v.Fields, func(f Field) bool {
			_, ok := hostBool(f.Value)
			return ok || near(f.Key, "allow") && len(f.Key) > 3 || f.Key == "deny" || f.Key == "denied"
		})
	case "critical":
		return v.Kind == List
	}
	return false
}

// nearLimit reads a key that looks like a limit as that limit's strictest value.
func (v *v1Reader) nearLimit(f Field, key string) {
	if _, host := LookupKey(key); host || isBaseKey(key) || isExtension(key) {
		return
	}
	_, isV1 := lookupV1(key)
	meant := nearSafety(key)
	switch {
	case isV1 && slices.ContainsFunc(v.fm.root, func(top Field) bool { return top.KeySpan == f.KeySpan }):
		return
	case key == "allow" || key == "deny":
		if f.Value.Kind != List && f.Value.Kind != Scalar {
			return
		}
	case !isLimit(meant, f.Value) && !(meant != "" && strings.HasPrefix(f.Key, portablePrefix)):
		return
	}
	v.unknownKey(f, key)
	v.limited = v.limited || meant == "model_invocation"
}

// wasNear reports whether f was read as the limit that it looks like.
func (r *reader) wasNear(f Field) bool {
	return slices.ContainsFunc(r.findings, func(g diag.Finding) bool {
		return g.Rule == RuleNearSafety && g.Line == f.KeySpan.Line && g.Column == f.KeySpan.Column
	})
}

// metadataFields are the entries of metadata.
func (r *reader) metadataFields() []Field {
	meta, _ := find(r.fm.root, "metadata")
	return meta.Value.Fields
}

// Doubts say of each limit that was not understood how it is read: "SKILL.md:4: …", at most four lines that are safe to print.
func (d *Document) Doubts() (out []string) {
	more := 0
	for _, w := range d.Warnings {
		switch w.Rule {
		case RuleNearSafety, RuleTools, RuleToolName, RuleIndent, RuleSideEffects, RuleModelInvocation:
			if len(out) < maxDoubts {
				out = append(out, FileName+":"+strconv.Itoa(w.Line)+": "+diag.Printable(diag.Clip(w.Message, 200)))
			} else {
				more++
			}
		}
	}
	if more > 0 {
		out = append(out, strconv.Itoa(more)+" more of its limits were not understood")
	}
	return out
}

const maxDoubts = 3

// Keys of hosts that limit a skill, below metadata too, where a tree has them. What differs from one in little is read as it.
var limitsOfHosts = []string{KeyNoModel, keyUser, KeyNoTools}

const keyUser = "user-invocable"

// hostLimit is the key of limitsOfHosts that a key of the frontmatter or of its metadata is, or nearly is; "" for another.
func hostLimit(key string) (name string, exact bool) {
	for _, name := range limitsOfHosts {
		if key == name {
			return name, true
		}
		if spell.Distance(plainKey(key), plainKey(name), 2) < 2 {
			return name, false
		}
	}
	return "", false
}

// hostLimits reads the keys of hosts that limit the skill, wherever they stand.
func (r *reader) hostLimits() (byModel, byUser bool, by Field) {
	byModel, byUser = true, true
	read := func(f Field, inMeta bool) {
		name, exact := hostLimit(f.Key)
		if name == "" {
			return
		}
		label := f.Key
		if inMeta {
			label = "metadata." + f.Key
		}
		if !exact {
			r.report(RuleNearSafety, f.KeySpan, "unknown key %q, did you mean %s? It is read as that", diag.Printable(label), name)
		}
		on, ok := hostBool(f.Value)
		switch name {
		case KeyNoModel:
			byModel = byModel && ok && !on
		case keyUser:
			byUser = byUser && ok && on
		case KeyNoTools:
			r.noTools(f)
			return
		}
		by = Field{Key: label, KeySpan: f.KeySpan}
	}
	for _, f := range r.fm.root {
		read(f, false)
	}
	for _, f := range r.metadataFields() {
		read(f, true)
	}
	return byModel, byUser, by
}

// noTools adds the tools of disallowed-tools to those that are denied. One that is no tool's name leaves none that may be called.
func (r *reader) noTools(f Field) {
	if f.Value.Kind == Scalar && (f.Value.IsNull() || strings.TrimSpace(f.Value.Text) == "") {
		return
	}
	names := namesIn(f.Value)
	if r.doc.Tools == nil {
		r.doc.Tools = &Tools{}
	}
	nothing := func(why string) {
		r.report(RuleTools, f.Value.Span, "%s; no tool may be called", why)
		r.doc.Tools = &Tools{Limited: true}
	}
	if names == nil || len(names) > maxTools {
		nothing(diag.Printable(f.Key) + " is not a list of names")
		return
	}
	for _, name := range names {
		t, err := claudeTool(name)
		if err != nil {
			nothing(err.Error())
			return
		}
		if t != (Tool{}) && !slices.Contains(r.doc.Tools.Deny, t) {
			r.doc.Tools.Deny = append(r.doc.Tools.Deny, t)
		}
	}
	if !r.doc.Tools.Limited && len(r.doc.Tools.Deny) == 0 {
		r.doc.Tools = nil // it names what only the agent has
	}
}

// namesIn are the names of a value: a list of them, or a text in which blanks or commas separate them. Nil is none.
func namesIn(v Value) []string {
	if v.Kind == Scalar {
		return splitTools(v.Text)
	}
	names, _ := v.texts()
	return names
}
