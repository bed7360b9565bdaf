package skillify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/pkgdoc"
)

// A limit is how large a skill may become: below what an install accepts, for what a person adds to it.
type limit struct{ files, bytes int }

func installable() limit {
	return limit{bundle.InstallLimits.Entries - 500, int(bundle.InstallLimits.Bytes) - 2<<20}
}

// maxFits bounds how often pages are left out because those before were too few.
const maxFits = 8

// maxLeftOut are the pages that SKILL.md names as left out; the notes name all.
const maxLeftOut = 3

// fitted makes the skill of a package. If it is beyond the limit, the pages that need most are left out, and named: of a module whose
// generated packages have 10,000s of constants the others still make a skill.
func fitted(p *pkgdoc.Package, o Options, most limit) (*Skill, error) {
	var out []pkgdoc.Page
	for n := 0; ; n++ {
		s, err := whole(less(p, out, most), o)
		if err != nil || n == maxFits {
			return s, err
		}
		bytes, files := s.Report.Bytes-most.bytes, s.Report.Files-most.files
		if bytes <= 0 && files <= 0 {
			return s, nil
		}
		for _, page := range largest(p) {
			if bytes <= 0 && files <= 0 || len(out)+1 >= len(p.Pages) {
				break
			}
			if slices.ContainsFunc(out, func(gone pkgdoc.Page) bool { return gone.ID == page.ID }) {
				continue
			}
			out = append(out, page)
			bytes -= weight(&page)
			files -= 1 + weight(&page)/(referenceTokens*4)
		}
	}
}

// largest are the pages, the one that needs most first.
func largest(p *pkgdoc.Package) []pkgdoc.Page {
	pages := slices.Clone(p.Pages)
	slices.SortStableFunc(pages, func(a, b pkgdoc.Page) int { return cmp.Compare(weight(&b), weight(&a)) })
	return pages
}

// weight is about how many bytes of a skill a page needs, on its page and in the index.
func weight(p *pkgdoc.Page) int {
	n := len(p.Text)
	for _, s := range p.Symbols {
		n += 2*len(s.Signature) + len(s.Text) + 2*len(s.ID) + 120
	}
	return n
}

// less is a package without pages, which says so.
func less(p *pkgdoc.Package, out []pkgdoc.Page, most limit) *pkgdoc.Package {
	if len(out) == 0 {
		return p
	}
	gone := map[string]bool{}
	var names []string
	for i := range out {
		gone[out[i].ID] = true
		if i < maxLeftOut {
			names = append(names, pkgdoc.Code(out[i].ID))
		}
	}
	if n := len(out) - maxLeftOut; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	q := *p
	q.Pages = slices.DeleteFunc(slices.Clone(p.Pages), func(page pkgdoc.Page) bool { return gone[page.ID] })
	q.Notes = slices.Clone(p.Notes)
	gap := "Left out for size: " + strings.Join(names, ", ") + "."
	if command := elsewhere(p, &out[0]); command != "" {
		gap += " Instead: " + pkgdoc.Code(command) + "."
	}
	for i := range out {
		q.Lacks("", gap, "%s is left out, with %d symbols: the skill would be larger than %d files or %d MiB", pkgdoc.Code(out[i].ID), len(out[i].Symbols), most.files, most.bytes>>20)
	}
	return &q
}

// elsewhere is the command that shows a page without a skill, "" if there is none.
func elsewhere(p *pkgdoc.Package, page *pkgdoc.Page) string {
	switch p.Ecosystem {
	case "go":
		return "go doc " + strings.TrimSuffix(p.Name+"/"+page.File, "/.")
	case "r":
		return fmt.Sprintf("help(%q, package = %q)", page.ID, p.Name)
	}
	return ""
}
