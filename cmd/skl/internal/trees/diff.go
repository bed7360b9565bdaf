package trees

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"

	"github.com/skl-project/skl/spec/bundle"
)

// Diff lists the files that differ, sorted by path.
func Diff(from, to Tree) []FileDiff {
	var paths []string
	for p := range from {
		paths = append(paths, p)
	}
	for p := range to {
		if _, ok := from[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	out := []FileDiff{}
	for _, p := range paths {
		a, inFrom := from[p]
		b, inTo := to[p]
		d := FileDiff{Path: p, Change: "changed"}
		switch {
		case inFrom != inTo && bundle.Residue(p):
			continue // left out where a folder is read
		case !inFrom:
			d.Change = "added"
		case !inTo:
			d.Change = "removed"
		case string(a.Data) == string(b.Data) && a.Kind == b.Kind:
			continue
		case string(a.Data) == string(b.Data):
			d.Change = "mode"
		}
		d.Text, d.Add, d.Remove = Lines(string(a.Data), string(b.Data))
		out = append(out, d)
	}
	return out
}

// Lines is a diff by lines with three lines of context. Binary files have no text.
func Lines(a, b string) (text string, add, remove int) {
	if strings.ContainsRune(a, 0) || strings.ContainsRune(b, 0) || len(a)+len(b) > 4<<20 {
		return "", 0, 0
	}
	dmp := diffmatchpatch.New()
	ra, rb, lines := dmp.DiffLinesToRunes(a, b)
	var out strings.Builder
	diffs := dmp.DiffCharsToLines(dmp.DiffMainRunes(ra, rb, false), lines)
	for i, d := range diffs {
		list := strings.SplitAfter(d.Text, "\n")
		if list[len(list)-1] == "" {
			list = list[:len(list)-1]
		}
		switch d.Type {
		case diffmatchpatch.DiffInsert:
			add += len(list)
		case diffmatchpatch.DiffDelete:
			remove += len(list)
		case diffmatchpatch.DiffEqual:
			list = context3(list, i == 0, i == len(diffs)-1)
		}
		mark := map[diffmatchpatch.Operation]string{diffmatchpatch.DiffInsert: "+", diffmatchpatch.DiffDelete: "-", diffmatchpatch.DiffEqual: " "}[d.Type]
		for _, line := range list {
			fmt.Fprintf(&out, "%s%s\n", mark, strings.TrimSuffix(line, "\n"))
		}
	}
	return out.String(), add, remove
}

// context3 keeps three lines at the ends of an unchanged run that touch a change.
func context3(list []string, first, last bool) []string {
	const n = 3
	switch {
	case first && last:
		return nil
	case first && len(list) > n:
		return list[len(list)-n:]
	case last && len(list) > n:
		return list[:n]
	case !first && !last && len(list) > 2*n:
		return slices.Concat(list[:n], []string{"…"}, list[len(list)-n:])
	}
	return list
}

// A FileDiff is how one file differs.
type FileDiff struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, removed, changed, mode
	Add    int    `json:"add"`    // lines
	Remove int    `json:"remove"`
	Text   string `json:"text,omitempty"` // lines with "+", "-" and " "
}
