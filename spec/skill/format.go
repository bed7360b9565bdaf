package skill

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// format decides which format the document has, finds its keys in either
// encoding and reads them.
func (r *reader) format() {
	top := r.topLevelKeys()
	portable := r.portableKeys()
	topFormat, hasTop := find(top, "skill_format")
	portableFormat, hasPortable := find(portable, "skill_format")
	if !hasTop && !hasPortable {
		r.withoutFormat(top, portable)
		return
	}
	for _, f := range []Field{topFormat, portableFormat} {
		if f.Key != "" && !r.supported(f) {
			return
		}
	}
	if key, same := agree(top, portable, hasTop); !same {
		finding := r.report(RuleDualEncoding, Span{Line: 2, Column: 1}, "%s is not the same at top level and in metadata", key)
		r.refuse(Invalid, CodeDualEncoding, finding)
		return
	}
	keys, encoding := top, TopLevel
	if !hasTop {
		keys, encoding = withRest(portable, top), Portable
	}
	v := &v1Reader{reader: r, keys: keys, v1: &V1{Encoding: encoding, Trust: "local", Interaction: "conversational"}}
	r.doc.V1 = v.v1
	r.doc.Invocation = Auto
	v.read()
}

// topLevelKeys returns the fields of encoding A.
func (r *reader) topLevelKeys() []Field {
	var keys []Field
	for _, f := range r.fm.root {
		if _, ok := lookupV1(f.Key); ok || isExtension(f.Key) {
			keys = append(keys, f)
		}
	}
	return keys
}

// agree compares what both encodings say, where both say something. Without a
// top-level skill_format, what stands there may be a host's own.
func agree(top, portable []Field, hasTop bool) (key string, same bool) {
	if len(portable) == 0 {
		return "", true
	}
	inTop, inMeta := facts(top), facts(portable)
	if hasTop {
		return sameFacts(inTop, inMeta)
	}
	for _, f := range top {
		switch {
		case f.Key == "trust" || f.Key == "arguments" && f.Value.Kind != Map:
		case isExtension(f.Key):
			if _, both := inMeta[f.Key]; both && inTop[f.Key] != inMeta[f.Key] {
				return f.Key, false
			}
		default:
			return sameFacts(inTop, inMeta)
		}
	}
	return "", true
}

// withRest adds the keys that a portable file may still have at top level: trust,
// which is never in metadata, and extensions.
func withRest(portable, top []Field) []Field {
	keys := slices.Clone(portable)
	for _, f := range top {
		if _, both := find(portable, f.Key); !both && (f.Key == "trust" || isExtension(f.Key)) {
			keys = append(keys, f)
		}
	}
	return keys
}

func isExtension(key string) bool { return strings.HasPrefix(key, "x-") && len(key) > 2 }

// supported reports whether f names the version this package knows, and sets doc.Format.
func (r *reader) supported(f Field) bool {
	text, ok := f.Value.text()
	r.doc.Format = text
	number, isFormat := strings.CutPrefix(text, "corteza.skill/v")
	switch {
	case text == FormatV1:
		return true
	case ok && isFormat && isDigits(number, "") && number[0] != '0':
		finding := r.report(RuleFormatUnsupported, f.Value.Span, "skill_format is %s, this program reads %s", diag.Printable(text), FormatV1)
		r.refuse(Unsupported, CodeFormatUnsupported, finding)
	default:
		finding := r.report(RuleFormat, f.Value.Span, "skill_format is %q, which is not corteza.skill/v and a number", diag.Printable(text))
		r.refuse(Unsupported, CodeFormatUnsupported, finding)
	}
	return false
}

// withoutFormat reads the limits of a skill without skill_format, and reports the keys that do nothing because it is missing.
// A misspelt skill_format makes the skill unsupported, since its other keys meant something.
func (r *reader) withoutFormat(top, portable []Field) {
	for _, f := range r.fm.root {
		text, ok := f.Value.text()
		if ok && strings.HasPrefix(text, "corteza.skill/") && near(f.Key, "skill_format") {
			finding := r.report(RuleNearSafety, f.KeySpan, "unknown key %q, did you mean skill_format?", diag.Printable(f.Key))
			r.refuse(Unsupported, CodeFormatUnsupported, finding)
			return
		}
	}
	var limits []Field
	for _, f := range slices.Concat(top, portable) {
		if _, isPortable := find(portable, f.Key); !isPortable && !isV1Shaped(f) {
			continue
		}
		if isLimit(f.Key, f.Value) {
			limits = append(limits, f)
		} else if !isExtension(f.Key) {
			r.doc.Idle = append(r.doc.Idle, f.Key)
			r.report(RuleNoFormat, f.KeySpan, "%s has no effect without skill_format: %s", f.Key, FormatV1)
		}
	}
	r.limits(limits)
}

// IdleText says of [Document.Idle] what it means.
func IdleText(keys []string) string {
	verb := "have"
	if len(keys) == 1 {
		verb = "has"
	}
	return strings.Join(keys, ", ") + " " + verb + " no effect without skill_format: " + FormatV1
}

// isV1Shaped reports whether f is a key of corteza.skill by its value too, where a host's key has the same name.
func isV1Shaped(f Field) bool {
	switch f.Key {
	case "arguments":
		return f.Value.Kind == Map
	case "tools":
		return f.Value.Kind == Map
	case "critical":
		return f.Value.Kind == List
	case "attach":
		_, ok := hostBool(f.Value)
		return ok
	case "trust":
		k, _ := lookupV1(f.Key)
		text, ok := f.Value.text()
		return ok && k.known(text)
	}
	return true
}

// IsConversational reports whether the skill hands its answers to a person and goes on with theirs. One of another format than
// corteza.skill/v1 says nothing of it: it gives its result and ends. d may be nil.
func (d *Document) IsConversational() bool {
	return d != nil && d.V1 != nil && d.V1.Interaction == "conversational"
}

// IsWithheld reports whether d keeps itself from the model of agents that know these keys: "disable-model-invocation: true", whatever
// model_invocation says, or "paths", until a file there is read.
func (d *Document) IsWithheld() bool {
	return slices.ContainsFunc(d.Fields, func(f Field) bool {
		switch f.Key {
		case "disable-model-invocation":
			on, ok := hostBool(f.Value)
			return ok && on
		case "paths":
			return f.Value.Kind != Scalar || f.Value.Text != ""
		}
		return false
	})
}

// invocation combines the v1 key with the switches of hosts.
func (r *reader) invocation() {
	d := r.doc
	byModel, byUser, found := r.hostLimits()
	switch {
	case d.State == Unsupported || d.State != Ready && d.V1 == nil:
		d.Invocation = Disabled
		return
	case d.V1 == nil && !r.limited:
		d.Invocation = InvocationOf(byModel, byUser)
		return
	}
	if found.Key == "" || d.Invocation == InvocationOf(byModel, byUser) {
		return
	}
	strictest := InvocationOf(byModel && d.Invocation.ByModel(), byUser && d.Invocation.ByUser())
	r.report(RuleInvocationConflict, found.KeySpan, "%s and model_invocation differ; read as %s", found.Key, strictest)
	d.Invocation = strictest
}

// hostBool reads a switch as hosts do. What it does not know is not ok, and closes.
func hostBool(v Value) (value, ok bool) {
	if v.Kind != Scalar {
		return false, false
	}
	switch strings.ToLower(v.Text) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0":
		return false, true
	}
	return false, false
}

// unknownKeys names the keys that nobody, or only some hosts, read.
func (r *reader) unknownKeys() {
	dialects := map[string]bool{}
	for _, f := range r.fm.root {
		if isBaseKey(f.Key) {
			continue
		}
		if _, ok := lookupV1(f.Key); (ok || isExtension(f.Key)) && r.doc.V1 != nil {
			continue
		}
		if k, ok := LookupKey(f.Key); ok && !slices.Contains(r.doc.Idle, f.Key) {
			dialects[k.Dialect] = true
			r.report(RuleHostKey, f.KeySpan, "%s is read by %s only", f.Key, strings.Join(k.Hosts, ", "))
			continue
		}
		if _, ok := lookupV1(f.Key); !ok && !isExtension(f.Key) && r.doc.V1 == nil && r.doc.State == Ready && !r.wasNear(f) {
			r.report(RuleUnknownKey, f.KeySpan, "unknown key %q%s", diag.Printable(f.Key), didYouMean(f.Key))
		}
	}
	if meta, ok := find(r.fm.root, "metadata"); ok {
		for _, f := range meta.Value.Fields {
			if k, ok := LookupKey("metadata." + f.Key); ok {
				dialects[k.Dialect] = true
			}
		}
	}
	if len(dialects) > 0 {
		for d := range dialects {
			r.doc.Dialects = append(r.doc.Dialects, d)
		}
		slices.Sort(r.doc.Dialects)
	}
}

func isBaseKey(key string) bool {
	switch key {
	case "name", "description", "license", "compatibility", "metadata", "allowed-tools":
		return true
	}
	return false
}

// didYouMean is a question about the known key nearest to key, or "".
func didYouMean(key string) string {
	switch key {
	case "version", "author", "tags", "category", "homepage":
		return ", did you mean metadata." + key + "?"
	}
	best, distance := "", 3
	consider := func(known string) {
		if d := spell.Distance(plainKey(key), plainKey(known), distance); d < distance && d*2 < len(known) {
			best, distance = known, d
		}
	}
	for _, known := range []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"} {
		consider(known)
	}
	for _, k := range v1Keys {
		consider(k.name)
	}
	for _, k := range hostKeys {
		if !strings.HasPrefix(k.Key, "metadata.") {
			consider(k.Key)
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// near reports whether key is a likely misspelling of known: at most two edits
// away, hyphens, underscores and case aside.
func near(key, known string) bool {
	return spell.Distance(plainKey(key), plainKey(known), 3) <= 2
}

var hyphens = strings.NewReplacer("-", "", "_", "")

// plainKey is key without case, hyphens and underscores.
func plainKey(key string) string {
	return hyphens.Replace(strings.ToLower(key))
}
