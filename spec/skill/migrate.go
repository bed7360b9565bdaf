package skill

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// Migrate writes a skill of format v0 as corteza.skill/v1 in encoding A (section 8 of the specification): what its SKILL.json alone
// says, nil if there is none, comes into the frontmatter, the format is named, and switches of hosts become model_invocation. All
// other bytes stay. The remarks say what means more than before. A skill that names its format already goes through [ToTopLevel].
//
// Its error is that of [ReadWith] or ToTopLevel, and cannot_convert where the result would not be clean.
func Migrate(src, sidecar []byte) (out []byte, remarks []string, err error) {
	doc, err := ReadWith(src, sidecar)
	if err != nil {
		return nil, nil, err
	}
	if doc.Format != "" {
		out, err = ToTopLevel(src)
		return out, nil, err
	}
	out = bytes.Clone(src)
	for range 2 { // a frontmatter first, then its metadata
		r, p := openWith(out, sidecar)
		if p != nil {
			return nil, nil, fileError(CodeYAML, p)
		}
		out = Apply(out, Fixes(slices.DeleteFunc(r.findings, func(f diag.Finding) bool { return f.Rule != RuleSidecar && f.Rule != RuleSidecarAlone })))
	}
	r, p := open(out)
	if p != nil {
		return nil, nil, fileError(CodeYAML, p)
	}
	r.read()
	if r.fm.flowRoot {
		return nil, nil, cannotConvert("the frontmatter is written in braces")
	}
	var keys []Pair
	for _, f := range append(r.topLevelKeys(), r.portableKeys()...) {
		if !isExtension(f.Key) && !isLimit(f.Key, f.Value) {
			keys = append(keys, Pair{Key: f.Key})
		}
	}
	if len(keys) > 0 {
		remarks = append(remarks, names(keys)+": without effect before, for want of skill_format; it counts now")
	}
	if out, err = r.named(doc.Invocation); err != nil {
		return nil, nil, err
	}
	if doc.Invocation != Auto {
		remarks = append(remarks, "model_invocation is "+string(doc.Invocation)+", as the switches of hosts say")
	}
	if sidecar != nil {
		remarks = append(remarks, SidecarName+" is not read any more; delete it when nothing else reads it")
	}
	return out, remarks, clean(out)
}

// named adds the name of the format, and who may start the skill, in encoding A.
func (r *reader) named(by Invocation) ([]byte, error) {
	eol := r.lineBreak()
	if len(r.portableKeys()) > 0 {
		entries := []string{portableName("skill_format") + ": " + FormatV1}
		if _, said := find(r.portableKeys(), "model_invocation"); by != Auto && !said {
			entries = append(entries, portableName("model_invocation")+": "+string(by))
		}
		at, text, err := r.metadataInsert(entries)
		if err != nil {
			return nil, err
		}
		return ToTopLevel(Apply(r.fm.src, []diag.Fix{{Start: at, End: at, Text: text}}))
	}
	text := "skill_format: " + FormatV1 + eol
	if _, said := find(r.fm.root, "model_invocation"); by != Auto && !said {
		text += "model_invocation: " + string(by) + eol
		if by == ModelOnly {
			text += "critical: [model_invocation]" + eol
		}
	}
	return Apply(r.fm.src, []diag.Fix{{Start: r.fm.end, End: r.fm.end, Text: text}}), nil
}

// clean refuses a result that a checker would not take.
func clean(out []byte) error {
	doc, err := Read(out)
	if err == nil {
		err = doc.Problem
	}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return cannotConvert("%s", e.Message).Hint("skl lint")
	}
	for _, f := range doc.Warnings {
		if strings.HasPrefix(f.Rule, "V1-") && f.Severity == diag.SeverityError {
			return cannotConvert("line %d: %s", f.Line, f.Message).Hint("mend it, then migrate again")
		}
	}
	return nil
}
