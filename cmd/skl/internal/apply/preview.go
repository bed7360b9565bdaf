package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// previewLimits bound what is read of a skill that is only looked at.
var previewLimits = bundle.PublishLimits

// preview reads the files of a skill that r names, without installing it, and says in lines what they are, ask for and
// lack.
func (a *Applier) preview(ctx context.Context, r ref.Ref, f source.Found) ([]string, error) {
	s := f.Lock
	s.Ref = r.String() // a registry's release is fetched by its name
	t, err := trees.ReleaseIn(source.WithLimit(ctx, previewLimits.Bytes), a.Scope, s, previewLimits)
	if err != nil {
		return nil, err
	}
	asks := strings.Join(t.Asks().Summary(8), "; ")
	if asks == "" {
		asks = "nothing"
	}
	findings, licence := "SKILL.md cannot be read", ""
	if doc, err := skill.ReadWith(t[skill.FileName].Data, t.Sidecar()); err == nil && doc != nil {
		findings, licence = "none", " · licence none stated"
		if n := len(doc.Warnings); n > 0 {
			findings = fmt.Sprint(n)
		}
		if doc.License != "" {
			licence = " · licence " + strings.Join(strings.Fields(doc.License), " ")
		}
	}
	signed := " · unsigned"
	if signature.CanBeSigned(s) {
		signed = " · signature not looked at"
	}
	return []string{contents(t), "asks for  " + strings.ReplaceAll(asks, "; ", " · "), "findings  " + findings + licence + signed}, nil
}

// mostContents is how many files and folders of a skill are named.
const mostContents = 6

// contents are the files of t in one line: SKILL.md, then folders with the number of their files, then others.
func contents(t trees.Tree) string {
	var size int64
	in := map[string]int{} // files in a folder
	var folders, names []string
	for path, f := range t {
		size += int64(len(f.Data))
		folder, _, below := strings.Cut(path, "/")
		switch {
		case below && in[folder] == 0:
			folders = append(folders, folder)
			fallthrough
		case below:
			in[folder]++
		case path != skill.FileName:
			names = append(names, path)
		}
	}
	slices.Sort(folders)
	slices.Sort(names)
	shown := []string{skill.FileName}
	for _, folder := range folders {
		count := ""
		if in[folder] > 1 {
			count = fmt.Sprintf(" (%d)", in[folder])
		}
		shown = append(shown, folder+"/"+count)
	}
	shown = append(shown, names...)
	if more := len(shown) - mostContents; more > 0 {
		shown = append(shown[:mostContents], diag.Count(more, "other"))
	}
	return diag.Count(len(t), "file") + ", " + diag.Size(size) + ": " + strings.Join(shown, ", ")
}
