package rpkg

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/pkgdoc"
)

var (
	indexEntry = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%\s*\\VignetteIndexEntry\{([^}\n]{1,300})\}`) })
	latexHead  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*\\((?:sub){0,2}section)\*?\{([^}\n]{1,300})\}`)
	})
	notSlug = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })
)

// guides reads the vignettes. A vignette is a file with an index entry, as R has it.
func (r *reader) guides() error {
	dir := "vignettes"
	if r.installed {
		dir = "doc"
	}
	seen := map[string]bool{}
	for _, name := range r.files.List(dir) {
		ext := strings.ToLower(path.Ext(name))
		markdown := slices.Contains([]string{".rmd", ".qmd", ".md", ".rmarkdown"}, ext)
		if !markdown && !slices.Contains([]string{".rnw", ".rtex", ".asis", ".ltx", ".tex"}, ext) {
			continue
		}
		data, err := r.files.Read(path.Join(dir, name))
		if errors.Is(err, pkgdoc.ErrTooLarge) {
			return err
		}
		if err != nil {
			r.p.Note(path.Join(dir, name), 0, "it is left out: %v", err)
			continue
		}
		text := utf8Text(data, r.latin1)
		entry := indexEntry().FindStringSubmatch(text)
		if entry == nil {
			continue
		}
		g := pkgdoc.Guide{ID: slug(strings.TrimSuffix(strings.TrimSuffix(name, path.Ext(name)), ".pdf"), seen), Title: words(entry[1]), Kind: "vignette", File: path.Join("vignettes", name)}
		if markdown {
			g.Text = pkgdoc.Body(text)
			g.Headings = pkgdoc.Headings(g.Text)
		} else {
			for _, m := range latexHead().FindAllStringSubmatch(text, -1) {
				g.Headings = append(g.Headings, pkgdoc.Heading{Level: 1 + strings.Count(m[1], "sub"), Text: words(m[2])})
			}
		}
		r.p.Guides = append(r.p.Guides, g)
	}
	return nil
}

// slug is a name for a file that no other guide has.
func slug(name string, seen map[string]bool) string {
	base := strings.Trim(notSlug().ReplaceAllString(strings.ToLower(name), "-"), "-")
	if base == "" {
		base = "guide"
	}
	out := base
	for n := 'b'; seen[out]; n++ {
		out = base + "-" + string(n)
	}
	seen[out] = true
	return out
}
