package oci

import (
	"cmp"
	"encoding/json"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/bundle"
)

// annotated is what the annotations of a manifest, or the labels of an image, say in the words of every layout.
func annotated(m map[string]string) Facts {
	first := func(keys ...string) string {
		for _, k := range keys {
			if v := strings.TrimSpace(m[k]); v != "" {
				return v
			}
		}
		return ""
	}
	f := Facts{
		Name:          first(AnnotationName, toolHive+"name", acr+"name", v1.AnnotationTitle),
		Version:       first(toolHive+"version", acr+"version", v1.AnnotationVersion),
		Description:   first(toolHive+"description", acr+"description", v1.AnnotationDescription),
		License:       first(toolHive+"license", acr+"license", v1.AnnotationLicenses),
		Compatibility: first(AnnotationCompatibility, acr+"compatibility", "io.skillimage.compatibility"),
		AllowedTools:  words(first(toolHive + "allowedTools")),
		Requires:      words(first(AnnotationRequires, toolHive+"requires")),
		Created:       first(v1.AnnotationCreated),
	}
	f.Tree, _ = bundle.ParseDigest(m[AnnotationTree])
	return f
}

// maxWords bounds lists inside one annotation.
const maxWords = 1000

// words reads a list: a JSON array of strings, or words between commas and spaces.
func words(s string) []string {
	if s == "" {
		return nil
	}
	var list []string
	if json.Unmarshal([]byte(s), &list) != nil {
		list = splitTools(s)
	}
	return list[:min(len(list), maxWords)]
}

// splitTools splits at commas and spaces that are not inside parentheses: "Bash(git status *), Read".
func splitTools(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth <= 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n')
	})
}

// Check refuses claims that the files do not bear out: a tree digest that is not theirs.
func (f *Facts) Check(tree bundle.Digest) error {
	if f.Tree != "" && f.Tree != tree {
		return refuse(CodeClaim, "the artifact claims the tree digest %s, and its files have %s", f.Tree, tree)
	}
	return nil
}

// config is a typed config of the Arconia specification; other layouts' configs are read with the same eyes.
type config struct {
	SchemaVersion json.RawMessage            `json:"schemaVersion"`
	Name          any                        `json:"name"`
	Version       any                        `json:"version"`
	Description   any                        `json:"description"`
	License       any                        `json:"license"`
	Compatibility any                        `json:"compatibility"`
	AllowedTools  json.RawMessage            `json:"allowedTools"`
	Metadata      map[string]json.RawMessage `json:"metadata"`
}

// ReadConfig adds what the config blob says to a's Facts. What it says goes before the annotations.
// It checks b against a.Config. A config that cannot be read is refused only where its layout demands one.
func (a *Artifact) ReadConfig(b []byte) error {
	if err := CheckBytes(a.Config, b); err != nil {
		return err
	}
	var facts Facts
	switch {
	case a.ordinary:
		var image v1.Image
		if err := json.Unmarshal(b, &image); err != nil {
			return malformedConfig(err)
		}
		facts = annotated(image.Config.Labels)
	default:
		var c config
		if err := json.Unmarshal(b, &c); err != nil {
			if a.Config.MediaType == ConfigSkill {
				return malformedConfig(err)
			}
			return nil
		}
		if a.Config.MediaType == ConfigSkill {
			if v := strings.TrimSpace(string(c.SchemaVersion)); v != `"1"` && v != "1" {
				return refuse(CodeSchema, "the artifact's config has schemaVersion %s, and only \"1\" is known", quoted(cmp.Or(strings.Trim(v, `"`), "none"))).
					Hint("a newer skl may know it")
			}
		}
		facts = c.facts()
	}
	facts.fill(a.Facts)
	a.Facts = facts
	return nil
}

func malformedConfig(err error) error {
	e := refuse(CodeMalformed, "the artifact's config is not a JSON object of the expected form")
	e.Err = err
	return e
}

func (c *config) facts() Facts {
	text := func(v any) string { s, _ := v.(string); return strings.TrimSpace(s) }
	f := Facts{
		Name: text(c.Name), Version: text(c.Version), Description: text(c.Description),
		License: text(c.License), Compatibility: text(c.Compatibility),
	}
	if json.Unmarshal(c.AllowedTools, &f.AllowedTools) != nil {
		var s string
		if json.Unmarshal(c.AllowedTools, &s) == nil {
			f.AllowedTools = splitTools(s)
		}
	}
	for k, raw := range c.Metadata {
		v := string(raw)
		var s string
		if json.Unmarshal(raw, &s) == nil {
			v = s
		}
		if f.Metadata == nil {
			f.Metadata = make(map[string]string, len(c.Metadata))
		}
		f.Metadata[k] = v
	}
	f.Tree, _ = bundle.ParseDigest(f.Metadata[AnnotationTree])
	f.Requires = words(f.Metadata[AnnotationRequires])
	return f
}
