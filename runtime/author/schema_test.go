package author

import (
	"encoding/json"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/skills"
)

// shape is the part of a schema that has to agree with a type.
type shape struct {
	Properties map[string]shape `json:"properties"`
	Required   []string         `json:"required"`
	Items      *shape           `json:"items"`
	Enum       []string         `json:"enum"`
}

// at is the shape of a property, of the items of a list.
func (s shape) at(names ...string) shape {
	for _, name := range names {
		if s = s.Properties[name]; s.Items != nil {
			s = *s.Items
		}
	}
	return s
}

// TestSchemas holds that the schemas by which models are asked have the keys, kinds and categories that their answers are read by.
func TestSchemas(t *testing.T) {
	read := func(name string) (s shape) {
		text, err := fs.ReadFile(skills.FS(), "canopy/assets/schemas/"+name+".json")
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var same func(where string, s shape, of reflect.Type)
	same = func(where string, s shape, of reflect.Type) {
		for of.Kind() == reflect.Slice {
			if of = of.Elem(); s.Items != nil {
				s = *s.Items
			}
		}
		if of.Kind() != reflect.Struct {
			return
		}
		var keys []string
		for i := range of.NumField() {
			key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if where == "advice rows" && key == "line" { // it follows from the anchor
				continue
			}
			keys = append(keys, key)
			same(where+" "+key, s.Properties[key], of.Field(i).Type)
		}
		slices.Sort(keys)
		slices.Sort(s.Required)
		if has := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(has, keys) || !slices.Equal(s.Required, keys) {
			t.Errorf("%s: the schema has %v and requires %v, the type has %v", where, has, s.Required, keys)
		}
	}
	same("edits", read("edits"), reflect.TypeFor[Edits]())
	same("design", read("design"), reflect.TypeFor[Design]())
	same("advice", read("advice"), reflect.TypeFor[Advice]())
	design := read("design")
	if has, want := slices.Sorted(slices.Values(design.at("files", "category").Enum)), slices.Sorted(maps.Keys(folders)); !slices.Equal(has, want) {
		t.Errorf("categories %v, want %v", has, want)
	}
	for _, kind := range design.at("tree", "kind").Enum {
		if _, err := (&Step{Kind: kind}).line(); err != nil && strings.Contains(err.Error(), "is no kind") {
			t.Errorf("%s is no kind of a step", kind)
		}
	}
	for _, how := range read("edits").at("edits", "how").Enum {
		if _, _, err := splice("f", "a\n", []Splice{{How: how, From: at(t, "a\n", "a")}}); err != nil {
			t.Errorf("%s: %v", how, err)
		}
	}
}
