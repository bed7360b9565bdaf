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
	"embed"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

//go:embed *.md
var files embed.FS

// names is the order in which guides are listed: the way of a reader who is new.
var names = []string{
	"install", "sources", "shadowing", "ci", "trust", "registry", "run", "search", "authoring", "configuration", "guarantees",
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
	for _, name := range names {
		text, err := files.ReadFile(name + ".md")
		if err != nil {
			panic(err) // names and the files beside this one agree: see TestNames
		}
		title, _, _ := strings.Cut(string(text), "\n")
		_, summary, _ := strings.Cut(title, ": ")
		out = append(out, Guide{Name: name, Summary: summary, Text: string(text)})
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
