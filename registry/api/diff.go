package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sergi/go-diff/diffmatchpatch"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
)

// Bounds of the texts of a diff. What goes beyond is marked as truncated.
const (
	maxDiffFile  = 256 << 10 // bytes of either side of a file
	maxDiffLines = 10000     // of either side
	maxDiffText  = 1 << 20   // bytes of all texts together
	diffContext  = 3         // lines around a change
)

// fillPermissions adds what to newly asks for, and no longer, as the audits of both say it. A release that was published before there were
// audits leaves it unknown.
func (h *Handler) fillPermissions(ctx context.Context, d *wire.Diff, from, to meta.Release) error {
	if from.Report == "" || to.Report == "" {
		return nil
	}
	var sets [2]audit.Set
	places := map[audit.Permission][]audit.Place{}
	for i, of := range []meta.Release{from, to} {
		report, err := h.Registry.Report(ctx, of)
		if err != nil {
			return err
		}
		for _, p := range report.Permissions {
			asked, ok := audit.Parse(p.Permission)
			if !ok {
				return fmt.Errorf("the report of the audit of %s@%s has the permission %q", of.Repo(), of.Version, p.Permission)
			}
			sets[i] = append(sets[i], asked)
			if i == 1 {
				places[asked] = p.Places
			}
		}
	}
	d.Permissions = []string{}
	for _, c := range audit.Compare(sets[0], sets[1]) {
		line := map[bool]string{false: "+ ", true: "- "}[c.Gone] + c.Permission.String()
		if at := places[c.Permission]; len(at) > 0 && !c.Gone {
			line += "  " + diag.Position{File: at[0].File, Line: at[0].Line}.String()
		}
		d.Permissions = append(d.Permissions, line)
	}
	return nil
}

// fillDiff adds the texts of the files that are text.
func (h *Handler) fillDiff(ctx context.Context, d *wire.Diff, from, to meta.Release) error {
	sizesA, sizesB := make(map[string]int64), make(map[string]int64)
	budget := int64(4 * maxDiffText) // read at most so much of each side
	for i, f := range d.Files {
		size := int64(0)
		if f.From != nil {
			size = f.From.Size
		}
		if f.To != nil {
			size = max(size, f.To.Size)
		}
		if budget -= size; size > maxDiffFile || budget < 0 {
			d.Files[i].Truncated = true
			continue
		}
		if f.From != nil {
			sizesA[f.Path] = f.From.Size
		}
		if f.To != nil {
			sizesB[f.Path] = f.To.Size
		}
	}
	a, err := readFiles(ctx, h.Registry, from, sizesA)
	if err != nil {
		return err
	}
	b, err := readFiles(ctx, h.Registry, to, sizesB)
	if err != nil {
		return err
	}
	left := maxDiffText
	for i := range d.Files {
		f := &d.Files[i]
		old, next := a[f.Path], b[f.Path]
		if f.Truncated || !isText(old) || !isText(next) || f.From != nil && f.To != nil && f.From.SHA256 == f.To.SHA256 {
			continue
		}
		text, ok := unified(string(old), string(next))
		if !ok || len(text) > left {
			f.Truncated = true
			continue
		}
		left -= len(text)
		f.Text = text
	}
	return nil
}

// A line of a diff: kept ' ', taken away '-', added '+'.
type line struct {
	sign byte
	text string // with its newline, if it has one
}

// unified is the body of a unified diff, hunks only; false if there are too many lines.
func unified(a, b string) (string, bool) {
	if strings.Count(a, "\n") > maxDiffLines || strings.Count(b, "\n") > maxDiffLines {
		return "", false
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 200 * time.Millisecond // then it becomes coarser
	ra, rb, texts := dmp.DiffLinesToRunes(a, b)
	var lines []line
	for _, d := range dmp.DiffCharsToLines(dmp.DiffMainRunes(ra, rb, false), texts) {
		sign := byte(' ')
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			sign = '-'
		case diffmatchpatch.DiffInsert:
			sign = '+'
		}
		for text := range strings.Lines(d.Text) {
			lines = append(lines, line{sign, text})
		}
	}
	return hunks(lines), true
}

// hunks writes the changes with the lines around them.
func hunks(lines []line) string {
	var out strings.Builder
	oldLine, newLine := 1, 1 // of lines[i]
	for i := 0; i < len(lines); {
		change := i
		for change < len(lines) && lines[change].sign == ' ' {
			change++
		}
		if change == len(lines) {
			break
		}
		start := max(i, change-diffContext)
		oldLine, newLine = oldLine+start-i, newLine+start-i
		end, quiet := change, 0 // end is behind the last change and its context
		for end < len(lines) && quiet <= 2*diffContext {
			if quiet++; lines[end].sign != ' ' {
				quiet = 0
			}
			end++
		}
		if quiet > diffContext {
			end -= quiet - diffContext
		}
		oldCount, newCount := 0, 0
		for _, l := range lines[start:end] {
			if l.sign != '+' {
				oldCount++
			}
			if l.sign != '-' {
				newCount++
			}
		}
		out.WriteString("@@ -" + span(oldLine, oldCount) + " +" + span(newLine, newCount) + " @@\n")
		for _, l := range lines[start:end] {
			out.WriteByte(l.sign)
			out.WriteString(l.text)
			if !strings.HasSuffix(l.text, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
		oldLine, newLine, i = oldLine+oldCount, newLine+newCount, end
	}
	return out.String()
}

// span is a range of lines as diff writes it: an empty one names the line before it.
func span(first, count int) string {
	if count == 0 {
		first--
	}
	if count == 1 {
		return strconv.Itoa(first)
	}
	return strconv.Itoa(first) + "," + strconv.Itoa(count)
}
