package registry

import (
	"encoding/json"

	"github.com/skl-project/skl/spec/skill"
)

// frontmatterJSON is the whole frontmatter of a skill: scalars as text, as they were written.
func frontmatterJSON(doc *skill.Document) []byte {
	text, err := json.Marshal(fieldsJSON(doc.Fields))
	if err != nil {
		return []byte("{}")
	}
	return text
}

func fieldsJSON(fields []skill.Field) map[string]any {
	m := make(map[string]any, len(fields))
	for _, f := range fields {
		m[f.Key] = valueJSON(f.Value)
	}
	return m
}

func valueJSON(v skill.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind == skill.Map:
		return fieldsJSON(v.Fields)
	case v.Kind == skill.List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = valueJSON(item)
		}
		return list
	}
	return v.Text
}
