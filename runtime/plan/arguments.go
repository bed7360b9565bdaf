package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/resource"
)

// CodeArgument is the code of what follows a skill's name and does not fit its key arguments.
const CodeArgument = "invalid_argument"

// MaxArguments is how many bytes of text a schema of arguments is held against.
const MaxArguments = 64 << 10

// Arguments are what follows a skill's name, read by its arguments.schema.
type Arguments struct {
	Text   string         // what $ARGUMENTS is: the words without their quotes, or the JSON object as it was given
	Values map[string]any // by property, with defaults; nil for a skill that has no schema
}

// An arguer reads arguments by a schema.
type arguer struct {
	schema
	names      []string // properties, sorted
	positional []string
	open       bool // names beside the properties are allowed by additionalProperties or patternProperties
}

// newArguer returns nil for a skill that takes one raw string.
func newArguer(s *tree.Skill) (*arguer, error) {
	if s.Doc == nil || s.Doc.V1 == nil || s.Doc.V1.Arguments == nil || s.Doc.V1.Arguments.Schema == nil {
		return nil, nil
	}
	given := s.Doc.V1.Arguments
	var js jsonschema.Schema
	if err := json.Unmarshal(given.Schema, &js); err != nil {
		return nil, err
	}
	resolved, err := js.Resolve(nil)
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(given.Schema, &doc); err != nil {
		return nil, err
	}
	if err := checkCycles(doc); err != nil {
		return nil, err
	}
	a := &arguer{schema: schema{doc: doc, resolved: resolved}, positional: given.Positional}
	properties, _ := doc["properties"].(map[string]any)
	a.names = slices.Sorted(maps.Keys(properties))
	extra, has := doc["additionalProperties"]
	a.open = has && extra != false || doc["patternProperties"] != nil
	return a, nil
}

// Arguments reads what follows the skill's name: words, of which those that are NAME=VALUE are given by name and the others by
// place, or one JSON object. A word is text where its property takes text, else the JSON value that it spells. What does not
// fit arguments.schema is an error with code invalid_argument that names the argument. Without a schema nothing is read.
func (p *Plan) Arguments(text string) (Arguments, error) {
	a := p.arguer
	if a == nil {
		if doc := p.Skill.Doc; doc != nil && doc.V1 != nil && doc.V1.NoUserArgs && strings.TrimSpace(text) != "" {
			return Arguments{}, diag.New(diag.Misuse, CodeArgument, "%s takes no arguments: its key arguments cannot be read, so nothing would check them", p.Skill.Name).Hint("skl lint")
		}
		return Arguments{Text: text}, nil
	}
	out, err := a.read(text)
	if err != nil {
		return Arguments{}, diag.New(diag.Misuse, CodeArgument, "%s: %w", p.Skill.Name, err).Hint("arguments: %s", a.usage())
	}
	return out, nil
}

// read reads text by the schema.
func (a *arguer) read(text string) (out Arguments, err error) {
	text = strings.TrimSpace(text)
	switch {
	case len(text) > MaxArguments:
		return out, fmt.Errorf("the arguments are longer than %d KiB", MaxArguments>>10)
	case strings.HasPrefix(text, "{"):
		out = Arguments{Text: text, Values: map[string]any{}}
		d := json.NewDecoder(strings.NewReader(text))
		if err := d.Decode(&out.Values); err != nil || len(bytes.TrimSpace([]byte(text[d.InputOffset():]))) > 0 {
			return out, fmt.Errorf("the arguments start with { and are not one JSON object")
		}
		if name := givenTwice(text); name != "" {
			return out, fmt.Errorf("argument %s is given twice", diag.Printable(name))
		}
		for _, name := range sortedKeys(out.Values) {
			if err := a.known(name); err != nil {
				return out, err
			}
		}
	default:
		words, err := SplitWords(text)
		if err != nil {
			return out, err
		}
		out = Arguments{Text: strings.Join(words, " ")}
		if out.Values, err = a.words(words); err != nil {
			return out, err
		}
	}
	a.defaults(out.Values)
	if a.resolved.Validate(out.Values) == nil {
		return out, nil
	}
	x := explainer{root: a.doc}
	if v := x.explain(a.doc, out.Values, ""); v != nil {
		return out, argumentError(v)
	}
	return out, a.blame(out.Values)
}

// givenTwice is a key that the JSON object in text has twice, "" if there is none.
func givenTwice(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.Token()
	seen := map[string]bool{}
	for d.More() {
		key, _ := d.Token()
		name, ok := key.(string)
		if !ok || seen[name] {
			return name
		}
		seen[name] = true
		if d.Decode(new(json.RawMessage)) != nil {
			return ""
		}
	}
	return ""
}

// namedWord is a word that gives an argument by name.
var namedWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*=`)

// words gives each word its property.
func (a *arguer) words(words []string) (map[string]any, error) {
	values := map[string]any{}
	var loose []string
	for _, word := range words {
		lead := namedWord.FindString(word)
		if lead == "" {
			loose = append(loose, word)
			continue
		}
		name := strings.TrimSuffix(lead, "=")
		if err := a.known(name); err != nil {
			return nil, err
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("argument %s is given twice", name)
		}
		v, err := a.value(name, word[len(lead):])
		if err != nil {
			return nil, err
		}
		values[name] = v
	}
	for i, name := range a.positional {
		if len(loose) == 0 {
			break
		}
		if _, named := values[name]; named {
			continue // by name as well as by place would be twice; the place is free for the next
		}
		if i == len(a.positional)-1 && a.takesList(name) && !strings.HasPrefix(loose[0], "[") {
			list := make([]any, len(loose))
			for k, word := range loose {
				v, err := a.valueAt(a.items(name), name, word)
				if err != nil {
					return nil, err
				}
				list[k] = v
			}
			values[name], loose = list, nil
			break
		}
		v, err := a.value(name, loose[0])
		if err != nil {
			return nil, err
		}
		values[name], loose = v, loose[1:]
	}
	if len(loose) > 0 {
		return nil, fmt.Errorf("argument %q has no place: quote words that belong together, or give it as NAME=VALUE", diag.Clip(loose[0], 60))
	}
	return values, nil
}

// known refuses the name of no property, unless the schema says that there may be others.
func (a *arguer) known(name string) error {
	if a.open || slices.Contains(a.names, name) {
		return nil
	}
	if near := spell.Nearest(name, a.names, 1); len(near) > 0 {
		return fmt.Errorf("there is no argument %q; did you mean %s?", diag.Clip(name, 60), near[0])
	}
	return fmt.Errorf("there is no argument %q", diag.Clip(name, 60))
}

// property is the schema of a name: that of the property, else of what else there may be.
func (a *arguer) property(name string) any {
	doc, _ := a.doc.(map[string]any)
	properties, _ := doc["properties"].(map[string]any)
	if own, ok := properties[name]; ok {
		return own
	}
	patterns, _ := doc["patternProperties"].(map[string]any)
	for _, pattern := range sortedKeys(patterns) {
		if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
			return patterns[pattern]
		}
	}
	return doc["additionalProperties"]
}

// follow is the schema that at refers to.
func (a *arguer) follow(at any) map[string]any {
	object, _ := at.(map[string]any)
	for range maxRefs {
		ref, ok := object["$ref"].(string)
		if !ok {
			break
		}
		target, _ := pointer(a.doc, ref)
		object, _ = target.(map[string]any)
	}
	return object
}

func (a *arguer) takesList(name string) bool { return a.follow(a.property(name))["type"] == "array" }
func (a *arguer) items(name string) any      { return a.follow(a.property(name))["items"] }

// value is what a word says for a property.
func (a *arguer) value(name, word string) (any, error) {
	return a.valueAt(a.property(name), name, word)
}

// valueAt is text where the schema takes text, else the JSON value that word spells. The whole is validated afterwards.
func (a *arguer) valueAt(at any, name, word string) (any, error) {
	x := explainer{root: a.doc}
	text := x.explain(at, word, name)
	if text == nil {
		return word, nil
	}
	var v any
	if json.Unmarshal([]byte(word), &v) != nil {
		return nil, argumentError(text)
	}
	if wrong := x.explain(at, v, name); wrong != nil {
		if _, isText := v.(string); isText || takesText(a.follow(at)) {
			wrong = text
		}
		return nil, argumentError(wrong)
	}
	return v, nil
}

// takesText reports whether the schema lists text among its types or values.
func takesText(schema map[string]any) bool {
	isText := func(v any) bool { _, ok := v.(string); return ok }
	enum, _ := schema["enum"].([]any)
	types, _ := schema["type"].([]any)
	return schema["type"] == "string" || slices.Contains(types, any("string")) || slices.ContainsFunc(enum, isText) || isText(schema["const"])
}

// defaults adds what is not given and has a default.
func (a *arguer) defaults(values map[string]any) {
	for _, name := range a.names {
		if _, given := values[name]; given {
			continue
		}
		own, _ := a.property(name).(map[string]any)
		if v, ok := own["default"]; ok {
			values[name] = v
		} else if v, ok := a.follow(own)["default"]; ok {
			values[name] = v
		}
	}
}

// blame finds the argument whose value breaks a keyword that the explainer does not know.
func (a *arguer) blame(values map[string]any) error {
	for _, name := range sortedKeys(values) {
		without := maps.Clone(values)
		delete(without, name)
		if a.resolved.Validate(without) == nil {
			return fmt.Errorf("argument %q does not fit arguments.schema", diag.Clip(name, 60))
		}
	}
	for _, name := range sortedKeys(values) {
		if object, _ := a.property(name).(map[string]any); object["pattern"] != nil {
			text, _ := values[name].(string)
			pattern, _ := object["pattern"].(string)
			if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(text) {
				return fmt.Errorf("argument %s does not match the pattern %q", name, diag.Clip(pattern, 80))
			}
		}
	}
	return fmt.Errorf("the arguments %s do not fit arguments.schema together", strings.Join(sortedKeys(values), ", "))
}

func argumentError(v *Violation) error {
	if v.Property == "" {
		return fmt.Errorf("the arguments %s", v.Problem)
	}
	return fmt.Errorf("argument %s %s", diag.Printable(v.Property), v.Problem)
}

// usage is how the arguments are given: "VERSION LEVEL [draft=…]".
func (a *arguer) usage() string {
	required, _ := a.doc.(map[string]any)["required"].([]any)
	var parts []string
	add := func(name, form string) {
		if !slices.Contains(required, any(name)) {
			form = "[" + form + "]"
		}
		parts = append(parts, diag.Printable(form))
	}
	for _, name := range a.positional {
		add(name, strings.ToUpper(name))
	}
	for _, name := range a.names {
		if !slices.Contains(a.positional, name) {
			add(name, name+"="+strings.ToUpper(name))
		}
	}
	return diag.Clip(strings.Join(parts, " "), 300)
}

// Bindings are the values by the names under which a tree reads them: spaces and hyphens are underscores.
func (a Arguments) Bindings() map[string]any {
	out := map[string]any{}
	for name, v := range a.Values {
		out[resource.ArgumentName(name)] = v
	}
	return out
}

// Words makes one text of words, which Arguments reads as the same words. For a skill without a schema it only joins them.
func (p *Plan) Words(words []string) string {
	if p.arguer == nil || len(words) > 0 && strings.HasPrefix(strings.TrimSpace(words[0]), "{") {
		return strings.Join(words, " ")
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quoteWord(word)
	}
	return strings.Join(quoted, " ")
}

// quoteWord writes a word so that SplitWords reads it as one.
func quoteWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\r\n'\"\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// SplitWords splits text at spaces. Single and double quotes keep a word together; a backslash takes a quote, a space or a
// backslash as it is, but not in single quotes.
func SplitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote byte
	begun := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case c == '\\' && quote != '\'' && i+1 < len(text) && strings.IndexByte("'\"\\ ", text[i+1]) >= 0:
			i++
			word.WriteByte(text[i])
			begun = true
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the arguments have a %c without its other", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
