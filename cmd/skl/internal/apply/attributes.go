package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// codeAttributes is the code of files whose bytes git changes on their way to a clone.
const codeAttributes = "W_ATTRIBUTES"

// keepBytes are the attributes with which git leaves the bytes of a file as they are (gitattributes(5)). A working-tree-encoding cannot be
// unset, only unspecified.
const keepBytes = "-text -ident -filter !working-tree-encoding"

// converting are the attributes by which git changes bytes.
var converting = []string{"filter", "working-tree-encoding", "ident", "text", "eol"}

// converted says which files of c git changes on their way to a clone, one line for each skill and rule.
func (a *Applier) converted(c committed) (out []Uncarried, err error) {
	said, err := a.Scope.Tracker.Attributes(a.Scope.Project, c.paths, converting)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	count := map[string]int{}
	for len(said) > 0 {
		n := slices.IndexFunc(said, func(s files.Attribute) bool { return s.Path != said[0].Path })
		if n < 0 {
			n = len(said)
		}
		mine := said[:n]
		said = said[n:]
		data, err := a.Scope.Site.Dir.ReadFile(filepath.Join(a.Scope.Project, filepath.FromSlash(mine[0].Path)), bundle.InstallLimits.Bytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue // verify says so
		}
		if err != nil {
			return nil, err
		}
		by, ok := changing(mine, data)
		if !ok {
			continue
		}
		skill := c.skill[by.Path]
		key := fmt.Sprint(skill, "\x00", by.File, "\x00", by.Line, "\x00", by.Name)
		count[key]++
		if _, told := at[key]; !told {
			at[key] = len(out)
			out = append(out, Uncarried{Code: codeAttributes, Mend: a.keeping(c, by)})
		}
		attribute := by.Name
		if by.Value != "set" {
			attribute += "=" + by.Value
		}
		out[at[key]].Message = fmt.Sprintf("git changes %s of %s by %s:%d (%s): a clone will not have the same bytes", diag.Count(count[key], "file"), skill,
			diag.Printable(a.Scope.Short(by.File)), by.Line, diag.Brief(diag.Printable(by.Pattern+" "+attribute), 80))
	}
	return out, nil
}

// ident is what git makes longer at a checkout.
var ident = regexp.MustCompile(`\$Id(:[^$\n]*)?\$`)

// changing is the one of a file's attributes by which git changes its bytes when it is committed and checked out where lines end as here.
func changing(said []files.Attribute, data []byte) (files.Attribute, bool) {
	of := func(name string) (files.Attribute, string) {
		for _, s := range said {
			if s.Name == name {
				return s, s.Value
			}
		}
		return files.Attribute{}, ""
	}
	if by, v := of("filter"); v != "" && v != "set" && v != "unset" {
		return by, true
	}
	if by, v := of("working-tree-encoding"); v != "" && !slices.Contains([]string{"set", "unset", "utf-8", "utf8"}, strings.ToLower(v)) {
		return by, true
	}
	if by, v := of("ident"); v == "set" && ident.Match(data) {
		return by, true
	}
	text, kind := of("text")
	eol, end := of("eol")
	if kind == "unset" || kind == "" && end != "lf" && end != "crlf" || kind == "auto" && bytes.IndexByte(data, 0) >= 0 {
		return files.Attribute{}, false // what a clone's own settings do to line ends, ci takes back
	}
	pairs, ends := bytes.Count(data, []byte("\r\n")), bytes.Count(data, []byte("\n"))
	switch {
	case end == "crlf":
		return eol, pairs < ends
	case kind == "":
		return eol, pairs > 0
	}
	return text, pairs > 0
}

// keeping says what keeps the bytes of a file that by changes.
func (a *Applier) keeping(c committed, by files.Attribute) string {
	project := scope.Resolved(a.Scope.Project)
	top := filepath.Join(project, ".gitattributes")
	switch {
	case by.File == top:
		text, err := a.Scope.Site.Dir.ReadFile(top, scope.MaxEdited)
		if before, block, ok := cutBlock(text); err == nil && ok && bytes.Count(before, []byte("\n")) < by.Line && bytes.Contains(block, []byte(keepBytes)) {
			return fmt.Sprintf("move line %d of .gitattributes above the lines of skl", by.Line)
		}
	case below(filepath.Dir(by.File), project):
		return "a .gitattributes so far down wins over any line of the project: skl init --no-vendor leaves the skills to skl ci"
	case filepath.Base(filepath.Dir(by.File)) == "info":
		return fmt.Sprintf("take line %d out of %s, which wins over any line of the project", by.Line, diag.Quote(a.Scope.Short(by.File)))
	}
	return "skl init writes the line into .gitattributes that mends it: " + attributesOf(c.root[by.Path]+"/**", keepBytes)
}
