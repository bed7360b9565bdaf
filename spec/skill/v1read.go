package skill

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A v1Reader reads the keys of corteza.skill/v1, whichever encoding they came
// from. Safety keys that are wrong get their strictest value.
type v1Reader struct {
	*reader
	keys []Field
	v1   *V1
}

func (v *v1Reader) read() {
	for _, f := range v.keys {
		switch f.Key {
		case "model_invocation":
			v.doc.Invocation = v.modelInvocation(f)
		case "side_effects":
			v.doc.SideEffects = v.sideEffects(f)
		case "tools":
			v.doc.Tools = v.tools(f)
		case "trust":
			v.trust(f)
		case "library_depends":
			v.libraryDepends(f)
		case "attach":
			v.attach(f)
		case "generated_from":
			v.v1.GeneratedFrom = v.origin(RuleGeneratedFrom, f)
		case "derived_from":
			v.v1.DerivedFrom = v.origin(RuleDerivedFrom, f)
		case "arguments":
			v.arguments(f)
		case "interaction":
			v.interaction(f)
		case "critical":
			v.critical(f)
		default:
			if isExtension(f.Key) {
				v.v1.Extensions = append(v.v1.Extensions, f)
			}
		}
	}
	if v.doc.Invocation == ModelOnly && !slices.Contains(v.v1.Critical, "model_invocation") {
		f, _ := find(v.keys, "model_invocation")
		v.report(RuleModelOnly, f.Value.Span, "model-only needs critical: [model_invocation], so that readers without it refuse the skill")
	}
	v.unknown()
}

// oneOf returns the value of a key whose values are listed.
func (v *v1Reader) oneOf(f Field) (string, bool) {
	k, _ := lookupV1(f.Key)
	text, ok := f.Value.text()
	return text, ok && k.known(text)
}

func (v *v1Reader) modelInvocation(f Field) Invocation {
	if text, ok := v.oneOf(f); ok {
		return Invocation(text)
	}
	v.report(RuleModelInvocation, f.Value.Span, "model_invocation is not one of auto, user-only, model-only, disabled; read as disabled")
	return Disabled
}

func (v *v1Reader) sideEffects(f Field) []string {
	k, _ := lookupV1(f.Key)
	names, ok := f.Value.texts()
	var effects []string
	bad := func(format string, args ...any) {
		v.report(RuleSideEffects, f.Value.Span, format+"; external is added", args...)
		effects = slices.DeleteFunc(effects, func(e string) bool { return e == "none" })
		if !slices.Contains(effects, "external") {
			effects = append(effects, "external")
		}
	}
	for _, name := range names {
		if k.known(name) && !slices.Contains(effects, name) {
			effects = append(effects, name)
		}
	}
	unknown := slices.IndexFunc(names, func(name string) bool { return !k.known(name) })
	switch {
	case !ok || len(names) == 0:
		bad("side_effects is not a list of none, filesystem, network, session, external")
	case unknown >= 0:
		bad("side effect %q is not one of none, filesystem, network, session, external", diag.Printable(names[unknown]))
	case len(effects) < len(names):
		bad("side_effects names an effect twice")
	case len(effects) > 1 && slices.Contains(effects, "none"):
		bad("side_effects holds none beside other effects")
	}
	return effects
}

// tools returns a list that allows nothing when f is not understood.
func (v *v1Reader) tools(f Field) *Tools {
	nothing := &Tools{Limited: true}
	if f.Value.Kind != Map {
		if !v.misindented(f) {
			v.report(RuleTools, f.Value.Span, "tools is not a map with allow and deny; read as an empty allow list")
		}
		return nothing
	}
	t := &Tools{}
	for _, list := range f.Value.Fields {
		var ok bool
		switch list.Key {
		case "allow":
			t.Limited = true
			t.Allow, ok = v.toolList(list)
		case "deny":
			t.Deny, ok = v.toolList(list)
		default:
			v.report(RuleTools, list.KeySpan, "tools.%s is neither allow nor deny; tools is read as an empty allow list", diag.Printable(list.Key))
		}
		if !ok {
			t = nil
			break
		}
	}
	if t == nil || len(f.Value.Fields) == 0 {
		if len(f.Value.Fields) == 0 {
			v.report(RuleTools, f.Value.Span, "tools is an empty map; read as an empty allow list")
		}
		return nothing
	}
	v.remarks(t, f)
	return t
}

const maxTools = 128

func (v *v1Reader) toolList(f Field) ([]Tool, bool) {
	names, ok := f.Value.texts()
	if !ok || len(names) > maxTools {
		v.report(RuleTools, f.Value.Span, "tools.%s is not a list of at most %d names; tools is read as an empty allow list", f.Key, maxTools)
		return nil, false
	}
	tools := make([]Tool, 0, len(names))
	for i, name := range names {
		t, err := ParseTool(name)
		if err != nil {
			v.report(RuleToolName, f.Value.Items[i].Span, "%s; tools is read as an empty allow list", err.Error())
			return nil, false
		}
		if slices.Contains(tools, t) {
			v.report(RuleTools, f.Value.Items[i].Span, "tools.%s names %s twice; tools is read as an empty allow list", f.Key, diag.Printable(name))
			return nil, false
		}
		tools = append(tools, t)
	}
	return tools, true
}

func (v *v1Reader) remarks(t *Tools, f Field) {
	for _, a := range t.Allow {
		switch {
		case t.denies(a):
			v.report(RuleToolUnreachable, f.Value.Span, "tools.deny takes %s away from tools.allow", diag.Printable(a.String()))
		case a.isInterpreter():
			v.report(RuleToolInterpreter, f.Value.Span, "tools.allow holds %s, through which every other tool can be had", diag.Printable(a.String()))
		}
	}
}

// misindented recognises allow and deny that lost the indentation below an empty
// tools key, and offers it back.
func (v *v1Reader) misindented(tools Field) bool {
	if !tools.Value.IsNull() || v.v1.Encoding != TopLevel {
		return false
	}
	found := false
	for _, f := range v.fm.root {
		if f.Key != "allow" && f.Key != "deny" {
			continue
		}
		found = true
		finding := v.report(RuleIndent, f.KeySpan, "%s is not indented below tools, did you mean tools.%s? tools is read as an empty allow list", f.Key, f.Key)
		if tools.KeySpan.Line < f.KeySpan.Line && f.KeySpan.Column == 1 {
			lines := string(v.fm.src[f.KeySpan.Start:f.Value.End])
			finding.Fix = &diag.Fix{Note: "indent " + f.Key + " below tools", Start: f.KeySpan.Start, End: f.Value.End,
				Text: "  " + strings.ReplaceAll(lines, "\n", "\n  ")}
		}
	}
	return found
}

func (v *v1Reader) trust(f Field) {
	if text, ok := v.oneOf(f); ok {
		v.v1.Trust = text
		return
	}
	v.report(RuleTrust, f.Value.Span, "trust is not one of local, project, user, package, managed; read as local")
}

func (v *v1Reader) attach(f Field) {
	if f.Value.Kind == Scalar && f.Value.Style == Plain {
		switch f.Value.Text {
		case "true", "True", "TRUE":
			v.v1.Attach = true
			return
		case "false", "False", "FALSE":
			return
		}
	}
	v.report(RuleAttach, f.Value.Span, "attach is not true or false; read as false")
}

func (v *v1Reader) interaction(f Field) {
	if text, ok := v.oneOf(f); ok {
		v.v1.Interaction = text
		return
	}
	v.report(RuleInteraction, f.Value.Span, "interaction is not returning or conversational; read as conversational")
}

func (v *v1Reader) libraryDepends(f Field) {
	bad := func(at Span, format string, args ...any) {
		finding := v.report(RuleLibraryDepends, at, format, args...)
		v.refuse(Gated, CodeLibraryDepends, finding)
		v.v1.LibraryDepends = nil
	}
	if f.Value.Kind != List {
		bad(f.Value.Span, "library_depends is not a list of packages")
		return
	}
	for _, item := range f.Value.Items {
		d, ok := dependency(item)
		if !ok {
			bad(item.Span, "library_depends holds an entry that is neither a package name nor a map of name, version and ecosystem")
			return
		}
		if !ValidPackage(d.Ecosystem, d.Name) {
			bad(item.Span, "%q is not the name of a package of ecosystem %q", diag.Printable(d.Name), diag.Printable(d.Ecosystem))
			return
		}
		v.v1.LibraryDepends = append(v.v1.LibraryDepends, d)
	}
}

func dependency(item Value) (Dependency, bool) {
	d := Dependency{Ecosystem: "r"}
	if item.Kind == Scalar {
		var ok bool
		d.Name, ok = item.text()
		return d, ok
	}
	for _, f := range item.Fields {
		text, ok := f.Value.text()
		switch {
		case !ok:
			return Dependency{}, false
		case f.Key == "name":
			d.Name = text
		case f.Key == "version":
			d.Version = text
		case f.Key == "ecosystem":
			d.Ecosystem = text
		default:
			return Dependency{}, false
		}
	}
	return d, d.Name != "" && len(d.Version) <= 128
}

// ValidPackage reports whether r, npm, go or pypi lets a package have that name: at most 214 bytes of ASCII.
func ValidPackage(ecosystem, name string) bool {
	if name == "" || len(name) > 214 {
		return false
	}
	words := func(s, inner string) bool {
		return s != "" && isAlnum(s[0]) && !strings.ContainsFunc(s, func(r rune) bool {
			return r >= 0x80 || !isAlnum(byte(r)) && !strings.ContainsRune(inner, r)
		})
	}
	switch ecosystem {
	case "r":
		return len(name) > 1 && isLetter(name[0]) && words(name, ".") && !strings.HasSuffix(name, ".")
	case "npm":
		if scope, rest, scoped := strings.Cut(name, "/"); scoped {
			return strings.HasPrefix(scope, "@") && words(scope[1:], "._-") && words(rest, "._-")
		}
		return words(name, "._-")
	case "go":
		return words(name, "._-~/") && !strings.Contains(name, "//") && !strings.Contains(name, "..") && !strings.HasSuffix(name, "/")
	case "pypi":
		return words(name, "._-") && isAlnum(name[len(name)-1])
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }

func (v *v1Reader) origin(rule string, f Field) *Origin {
	bad := func(at Span, format string, args ...any) *Origin {
		v.report(rule, at, format+"; "+f.Key+" is ignored", args...)
		return nil
	}
	if f.Value.Kind != Map {
		return bad(f.Value.Span, "%s is not a map", f.Key)
	}
	o := &Origin{}
	for _, e := range f.Value.Fields {
		text, ok := e.Value.text()
		at := o.field(e.Key)
		if at == nil {
			v.report(RuleUnknownField, e.KeySpan, "unknown key %s.%s", f.Key, diag.Printable(e.Key))
			continue
		}
		if !ok {
			return bad(e.Value.Span, "%s.%s is not a string", f.Key, e.Key)
		}
		*at = text
	}
	for _, key := range []string{"package", "version", "source_hash"} {
		if *o.field(key) == "" {
			return bad(f.Value.Span, "%s has no %s", f.Key, key)
		}
	}
	if hash, ok := strings.CutPrefix(o.SourceHash, "sha256:"); !ok || len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return bad(f.Value.Span, "%s.source_hash is not sha256: and 64 lower-case hex digits", f.Key)
	}
	return o
}

// critical refuses the skill when it names what this reader does not know.
func (v *v1Reader) critical(f Field) {
	names, ok := f.Value.texts()
	if !ok {
		v.refuse(Unsupported, CodeFormatUnsupported, v.report(RuleCritical, f.Value.Span, "critical is not a list of keys"))
		return
	}
	for i, name := range names {
		_, known := lookupV1(name)
		switch name {
		case "tools.allow", "tools.deny", "arguments.schema", "arguments.positional":
			known = true
		}
		if !known {
			at := f.Value.Items[i].Span
			v.refuse(Unsupported, CodeFormatUnsupported, v.report(RuleCritical, at, "critical names %q, which this program does not know", diag.Printable(name)))
			return
		}
	}
	v.v1.Critical = names
}

// unknown reports the keys that nobody knows. One that looks like a safety key
// makes that key read as its strictest value.
func (v *v1Reader) unknown() {
	for _, f := range v.fm.root {
		_, isV1 := lookupV1(f.Key)
		_, isHost := LookupKey(f.Key)
		if host, _ := hostLimit(f.Key); host != "" {
			continue // it is read as that
		}
		if !isV1 && !isHost && !isBaseKey(f.Key) && !isExtension(f.Key) {
			v.unknownKey(f, f.Key)
		}
	}
	for _, f := range v.unknownPortable() {
		v.unknownKey(f, strings.TrimPrefix(f.Key, portablePrefix))
	}
	for _, f := range v.metadataFields() {
		if !strings.HasPrefix(f.Key, portablePrefix) {
			v.nearLimit(f, f.Key)
		}
	}
}

func (v *v1Reader) unknownKey(f Field, key string) {
	safety := nearSafety(key)
	if safety == "" {
		v.report(RuleUnknownField, f.KeySpan, "%s does not know the key %q%s", FormatV1, diag.Printable(f.Key), didYouMean(key))
		return
	}
	if key == "allow" || key == "deny" {
		if f, ok := find(v.keys, "tools"); ok && f.Value.IsNull() {
			return // reported with tools
		}
		safety = "tools." + key
	}
	finding := v.report(RuleNearSafety, f.KeySpan, "unknown key %q, did you mean %s? It is read as its strictest value", diag.Printable(f.Key), safety)
	switch safety {
	case "model_invocation":
		v.doc.Invocation = Disabled
	case "side_effects":
		if !slices.Contains(v.doc.SideEffects, "external") {
			v.doc.SideEffects = append(slices.DeleteFunc(v.doc.SideEffects, func(e string) bool { return e == "none" }), "external")
		}
	case "trust":
		v.v1.Trust = "local"
	case "skill_format", "critical":
		v.refuse(Unsupported, CodeFormatUnsupported, finding)
	default:
		v.doc.Tools = &Tools{Limited: true}
	}
}

// nearSafety returns the safety key that key is a likely misspelling of, or "".
func nearSafety(key string) string {
	if key == "allow" || key == "deny" {
		return "tools"
	}
	for _, k := range v1Keys {
		if k.safety && near(key, k.name) {
			return k.name
		}
	}
	for _, half := range []string{"tools.allow", "tools.deny"} { // as encoding B spells them
		if near(key, strings.Replace(half, ".", "_", 1)) {
			return half
		}
	}
	return ""
}

// arguments reads what people may pass. Anything wrong means that people cannot
// invoke the skill, since nothing would check what they pass.
func (v *v1Reader) arguments(f Field) {
	bad := func(at Span, format string, args ...any) {
		v.report(RuleArguments, at, format+"; people cannot invoke the skill", args...)
		v.v1.NoUserArgs, v.v1.Arguments = true, nil
	}
	if f.Value.Kind != Map {
		bad(f.Value.Span, "arguments is not a map with schema and positional; a list of names belongs in arguments.positional")
		return
	}
	a := &Arguments{}
	schema, hasSchema := f.Value.Get("schema")
	if hasSchema {
		var err error
		if a.Schema, err = appendJSON(nil, schema); err == nil {
			err = checkSchema(schema, len(a.Schema))
		}
		if err != nil {
			bad(schema.Span, "arguments.schema %s", err.Error())
			return
		}
	}
	a.Positional = schemaNames(schema, "required")
	properties, _ := schema.Get("properties")
	for _, p := range properties.Fields {
		a.properties = append(a.properties, p.Key)
	}
	for _, e := range f.Value.Fields {
		switch e.Key {
		case "schema":
		case "positional":
			if names, ok := v.positional(e, schema); ok {
				a.Positional = names
			}
		default:
			bad(e.KeySpan, "arguments.%s is neither schema nor positional", diag.Printable(e.Key))
			return
		}
	}
	v.v1.Arguments = a
}

func (v *v1Reader) positional(f Field, schema Value) ([]string, bool) {
	names, ok := f.Value.texts()
	properties, _ := schema.Get("properties")
	for i, name := range names {
		if _, known := properties.Get(name); !known || slices.Contains(names[:i], name) {
			ok = false
		}
	}
	if !ok {
		v.report(RulePositional, f.Value.Span, "arguments.positional is not a list of different properties of the schema; ignored")
	}
	return names, ok
}
