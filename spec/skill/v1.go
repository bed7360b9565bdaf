package skill

import (
	"slices"
	"strings"
)

// FormatV1 is the value of skill_format that this package reads and writes.
const FormatV1 = "corteza.skill/v1"

// Invocation says who may invoke a skill. Hosts with two switches say the same
// with disable-model-invocation and user-invocable.
type Invocation string

const (
	Auto      Invocation = "auto"       // the model and people
	UserOnly  Invocation = "user-only"  // people
	ModelOnly Invocation = "model-only" // the model
	Disabled  Invocation = "disabled"   // nobody
)

// ByModel reports whether the model may invoke the skill.
func (i Invocation) ByModel() bool { return i == Auto || i == ModelOnly }

// ByUser reports whether people may invoke the skill.
func (i Invocation) ByUser() bool { return i == Auto || i == UserOnly }

// InvocationOf is the value for a pair of permissions.
func InvocationOf(byModel, byUser bool) Invocation {
	switch {
	case byModel && byUser:
		return Auto
	case byUser:
		return UserOnly
	case byModel:
		return ModelOnly
	}
	return Disabled
}

// V1 holds the keys of corteza.skill/v1 after fail-closed reading.
type V1 struct {
	Encoding Encoding

	Trust       string // as declared; "local" when absent. It never raises anything: see the specification
	Interaction string // returning or conversational

	LibraryDepends []Dependency
	Attach         bool
	Arguments      *Arguments // nil: one raw string
	NoUserArgs     bool       // arguments could not be read: people cannot invoke the skill

	GeneratedFrom *Origin // nil: written by hand
	DerivedFrom   *Origin
	Critical      []string
	Extensions    []Field // x-* keys, in source order
}

// Encoding says where the keys of corteza.skill/v1 stand.
type Encoding string

const (
	TopLevel Encoding = "top-level" // keys of their own; encoding A
	Portable Encoding = "portable"  // metadata.corteza-* strings; encoding B
)

// Tools limits what a skill's steps may call.
type Tools struct {
	Limited bool   // Allow is in force, even when empty
	Allow   []Tool // with Limited: nothing else may be called
	Deny    []Tool // beats Allow
}

// Words says what t limits: "only read, grep; never bash", or "" if it limits nothing. A nil t is no limit.
func (t *Tools) Words() string {
	if t == nil {
		return ""
	}
	names := func(tools []Tool) string {
		var out []string
		for _, t := range tools {
			out = append(out, t.String())
		}
		return strings.Join(out, ", ")
	}
	var parts []string
	switch {
	case t.Limited && len(t.Allow) == 0:
		parts = append(parts, "none")
	case t.Limited:
		parts = append(parts, "only "+names(t.Allow))
	}
	if len(t.Deny) > 0 {
		parts = append(parts, "never "+names(t.Deny))
	}
	return strings.Join(parts, "; ")
}

// A Dependency is a language package that the skill's code needs.
type Dependency struct {
	Name      string
	Version   string // a range in the ecosystem's own notation, "" is any
	Ecosystem string // r, npm, go or pypi; r when not written
}

// String is d as people read it: "pensar >= 1.2 (r)".
func (d Dependency) String() string {
	return strings.TrimSpace(d.Name+" "+d.Version) + " (" + d.Ecosystem + ")"
}

// An Origin says what a skill was generated or derived from.
type Origin struct {
	Ecosystem, Package, Version string
	SourceHash                  string // "sha256:" and 64 lower-case hex digits
	Generator, GeneratorVersion string
	Recipe                      string // the options and templates that the generator used
	Integrity                   string // what the ecosystem says of the package's bytes, in its notation: go.sum's h1:…, npm's sha512-…, sha256:…
	SummarizedBy                string // the model that wrote prose of it; "" if none did
}

// Map returns the set fields by their keys in the file.
func (o Origin) Map() map[string]string {
	m := make(map[string]string)
	for _, key := range originKeys {
		if v := *o.field(key); v != "" {
			m[key] = v
		}
	}
	return m
}

// OriginKeys are the keys of an Origin, in the order in which they are written.
func OriginKeys() []string { return slices.Clone(originKeys) }

var originKeys = []string{"ecosystem", "package", "version", "source_hash", "generator", "generator_version", "recipe", "integrity", "summarized_by"}

// field returns where key's value is kept, nil for an unknown key.
func (o *Origin) field(key string) *string {
	switch key {
	case "ecosystem":
		return &o.Ecosystem
	case "package":
		return &o.Package
	case "version":
		return &o.Version
	case "source_hash":
		return &o.SourceHash
	case "generator":
		return &o.Generator
	case "generator_version":
		return &o.GeneratorVersion
	case "recipe":
		return &o.Recipe
	case "integrity":
		return &o.Integrity
	case "summarized_by":
		return &o.SummarizedBy
	}
	return nil
}

// Arguments describes what follows the skill's name when a person invokes it.
type Arguments struct {
	Schema     []byte   // JSON Schema 2020-12 of an object, compact; nil when only Positional is given
	Positional []string // properties that are given by place; the others as name=value

	properties []string // of Schema, in its order
}

// A shape is the type of a key's value, and so how it is spelled as a string.
type shape uint8

const (
	shapeString shape = iota
	shapeBool
	shapeNames   // list of strings
	shapeDepends // list of strings or maps of strings
	shapeTools   // map of allow and deny, each shapeNames
	shapeOrigin  // map of strings
	shapeTyped   // any JSON
)

// A v1Key is one key of corteza.skill/v1. The order of v1Keys is that of both encodings.
type v1Key struct {
	name   string
	shape  shape
	safety bool // misspelling it must not go unnoticed
	values []string
}

var v1Keys = []v1Key{
	{"skill_format", shapeString, true, nil},
	{"model_invocation", shapeString, true, []string{"auto", "user-only", "model-only", "disabled"}},
	{"side_effects", shapeNames, true, []string{"none", "filesystem", "network", "session", "external"}},
	{"tools", shapeTools, true, nil},
	{"trust", shapeString, true, []string{"local", "project", "user", "package", "managed"}},
	{"library_depends", shapeDepends, false, nil},
	{"attach", shapeBool, false, nil},
	{"generated_from", shapeOrigin, false, nil},
	{"derived_from", shapeOrigin, false, nil},
	{"arguments", shapeTyped, false, nil},
	{"interaction", shapeString, false, []string{"returning", "conversational"}},
	{"critical", shapeNames, true, nil},
}

func lookupV1(name string) (v1Key, bool) {
	for _, k := range v1Keys {
		if k.name == name {
			return k, true
		}
	}
	return v1Key{}, false
}

// known reports whether value is one of k's values.
func (k v1Key) known(value string) bool {
	for _, v := range k.values {
		if v == value {
			return true
		}
	}
	return false
}
