package skill

import (
	"strings"
	"testing"
	"testing/fstest"
)

const typicalSkill = `---
name: pdf-forms
description: Fill PDF forms. Use when the user asks to fill in, read or check a PDF form.
license: MIT
allowed-tools: Read Grep Bash
metadata:
  author: acme
  version: "1.10"
---
`

// How long does listing take per skill? The body must not matter.
func BenchmarkReadSmall(b *testing.B) {
	src := []byte(typicalSkill + strings.Repeat("Read the form, then fill in its fields.\n", 250))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(src); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadV1 measures how much the keys of corteza.skill/v1 add to Read.
func BenchmarkReadV1(b *testing.B) {
	src := []byte(exampleSkill)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(src); err != nil {
			b.Fatal(err)
		}
	}
}

// How fast is a body searched for features and hidden text?
func BenchmarkBody(b *testing.B) {
	body := []byte(strings.Repeat("Read `the` form $1 time, then fill in its fields – all of them.\n", 1000))
	b.Run("features", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			BodyFeatures(body)
		}
	})
	b.Run("hidden", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			hiddenText("x.md", body)
		}
	})
}

func BenchmarkLint(b *testing.B) {
	fsys := fstest.MapFS{"SKILL.md": {Data: []byte(typicalSkill + "Fill the form.\n")}}
	for b.Loop() {
		Lint(fsys, "pdf-forms", LintOptions{})
	}
}

const exampleSkill = `---
skill_format: corteza.skill/v1
name: autoresearch
description: Bounded autonomous research loop into a pensar vault.
model_invocation: user-only
side_effects: [filesystem, network]
library_depends: [pensar, llm.api]
attach: false
tools:
  allow: [web_search, pensar_ingest_url, pensar_search_pages,
    pensar_related_pages, pensar_write_page, finalize]
trust: package
interaction: returning
---
Research the question, write what was found to the vault, then stop.
`
