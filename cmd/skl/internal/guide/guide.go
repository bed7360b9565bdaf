// Package guide holds the guides of skl, the Markdown files beside this one, and lays them
// out for a terminal. They are the pages that "skl help guide" shows and README.md links to.
//
//   - A guide is NAME.md. Its first line is "# NAME: what it is about", which is also its
//     line in the list.
//   - [Render] knows the Markdown that the guides use: headings, paragraphs, lists, tables,
//     fenced blocks, emphasis, code and links. A test in cmd/skl runs the commands in
//     the fenced blocks and compares what they print.
//
// Everything is safe for concurrent use.
package guide

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/packed"
	"github.com/skl-project/skl/spec/spell"
)

// The guides in the order of names, with a zero byte behind each: go test ./cmd/skl/internal/guide -update makes it of the files beside this one.
//
//go:embed guides.gz
var guides []byte

var texts = packed.Text(guides)

// names is the order in which guides are listed: the way of a reader who is new.
var names = []string{
	"install", "sources", "shadowing", "ci", "trust", "registry", "many", "run", "search", "authoring", "configuration", "guarantees",
}

// A Guide is one page.
type Guide struct {
	Name    string
	Summary string // one line, lower case, without a full stop
	Text    string // Markdown
}

// All returns the guides in reading order.
func All() []Guide {
	var out []Guide
	rest := texts()
	for _, name := range names {
		var text string
		text, rest, _ = strings.Cut(rest, "\x00")
		title, _, _ := strings.Cut(text, "\n")
		_, summary, _ := strings.Cut(title, ": ")
		out = append(out, Guide{Name: name, Summary: summary, Text: text})
	}
	return out
}

// Names returns the names of the guides in reading order.
func Names() []string { return slices.Clone(names) }

// Get returns the guide of that name. The error for another name is a misuse with the
// nearest names as candidates.
func Get(name string) (Guide, error) {
	all := All()
	if i := slices.IndexFunc(all, func(g Guide) bool { return g.Name == name }); i >= 0 {
		return all[i], nil
	}
	err := diag.New(diag.Misuse, "unknown_guide", "there is no guide %q", name)
	err.Candidates = spell.Nearest(name, names, 3)
	if len(err.Candidates) > 0 {
		return Guide{}, err.Hint("skl help guide %s", err.Candidates[0])
	}
	return Guide{}, err.Hint("skl help guide")
}
