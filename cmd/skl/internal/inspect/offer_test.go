package inspect_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/spec/diag"
)

// ofUser writes a file of a skill of the user.
func ofUser(b *scopetest.Bench, name, file, text string) {
	b.T.Helper()
	path := filepath.Join(b.Home, ".agents", "skills", name, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.T.Fatal(err)
	}
}

const front = "---\nname: %s\ndescription: Does it. Use when asked.\n---\n\nDo it.\n"

func codeOf(err error) string {
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return e.Code
	}
	return fmt.Sprint(err)
}

// offers are the names of the skills that are served, and why the others are not, but for those that come with skl.
func offers(b *scopetest.Bench) (names []string, left map[string]string) {
	b.T.Helper()
	left = map[string]string{}
	err := open(b).Offers(b.T.Context(), "", func(o inspect.Offer, err error) bool {
		switch {
		case err != nil:
			left[o.Name] = err.Error()
		case !strings.HasPrefix(o.Name, "canopy"):
			names = append(names, o.Name)
		}
		return true
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return names, left
}

// The frontmatter of an offer is all of what the author wrote, in their order and with their spelling.
func TestOffer(t *testing.T) {
	b := scopetest.New(t)
	ofUser(b, "pdf", "SKILL.md", "---\ndescription: \"Reads <PDF>: all. Use when asked.\"\nname: pdf\nmetadata:\n  b: {x: [1, 1.10, 0x1F, yes, true, ~]}\n  a: 2024-01-02\nx-own: |\n  two\n  lines\n---\n\n# PDF\n")
	ofUser(b, "pdf", "references/a b.md", "")
	o, err := open(b).Offer(t.Context(), "pdf")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"description":"Reads <PDF>: all. Use when asked.","name":"pdf","metadata":{"b":{"x":[1,1.10,31,"yes",true,null]},"a":"2024-01-02"},"x-own":"two\nlines\n"}`
	if string(o.Front) != want || o.Name != "pdf" || o.Description != "Reads <PDF>: all. Use when asked." {
		t.Errorf("got %s\nwant %s\nand %q, %q", o.Front, want, o.Name, o.Description)
	}
	if text, ok := o.Files["references/a b.md"]; len(o.Files) != 2 || !ok || len(text) > 0 {
		t.Errorf("files: %q", o.Files)
	}
	for name, code := range map[string]string{"PDF": "unknown_skill", "pd": "unknown_skill", "./pdf": "mcp_path"} {
		if o, err := open(b).Offer(t.Context(), name); o.Files != nil || codeOf(err) != code {
			t.Errorf("%q: %+v, %v", name, o, err)
		}
	}
}

// A skill that does not keep the rules of the extension is named, with the reason; its neighbours are served.
func TestOffersLeaveOut(t *testing.T) {
	b := scopetest.New(t)
	for name, doc := range map[string]string{
		"fine":     fmt.Sprintf(front, "fine"),
		"number":   "---\nname: 12\ndescription: Does it.\n---\n",
		"nameless": "---\ndescription: Does it.\n---\n",
		"colon":    "---\nname: colon\ndescription: Usage: do it\n---\n",
		"bad_name": fmt.Sprintf(front, "bad_name"),
		"spaced":   "---\nname: \" spaced \"\ndescription: Does it.\n---\n",
		"infinite": "---\nname: infinite\ndescription: Does it.\nmetadata:\n  much: .inf\n---\n",
	} {
		ofUser(b, name, "SKILL.md", doc)
	}
	names, left := offers(b)
	if !slices.Equal(names, []string{"fine"}) {
		t.Errorf("served: %q", names)
	}
	for name, want := range map[string]string{"12": "no name that is a text", "nameless": "no name that is a text", "colon": "line 3 of its SKILL.md is no YAML", "bad_name": `"_"`, "spaced": `calls it " spaced "`, "infinite": "no form in JSON"} {
		if !strings.Contains(left[name], want) {
			t.Errorf("%s: %q does not say %q", name, left[name], want)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		t.Errorf("left out, too: %q", left)
	}
}

// 512 files and 16 MiB are served, one more of either is not.
func TestOfferLimits(t *testing.T) {
	b := scopetest.New(t)
	for _, name := range []string{"many", "more"} {
		ofUser(b, name, "SKILL.md", fmt.Sprintf(front, name))
		for i := range 511 {
			ofUser(b, name, fmt.Sprintf("f/%d.txt", i), "")
		}
	}
	ofUser(b, "more", "last.txt", "")
	for name, size := range map[string]int{"large": 16 << 20, "larger": 16<<20 + 1} {
		ofUser(b, name, "SKILL.md", fmt.Sprintf(front, name))
		ofUser(b, name, "data.bin", "")
		rest := int64(size - len(fmt.Sprintf(front, name)))
		if err := os.Truncate(filepath.Join(b.Home, ".agents", "skills", name, "data.bin"), rest); err != nil {
			t.Fatal(err)
		}
	}
	names, left := offers(b)
	if !slices.Equal(names, []string{"large", "many"}) || !strings.Contains(left["more"], "more than 512 files") || !strings.Contains(left["larger"], "more than 16777216 bytes") {
		t.Errorf("served: %q, left out: %q", names, left)
	}
}

// A link to a file of the skill is served with the bytes of that; a skill with another link is not served.
func TestOfferLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: links need rights on Windows")
	}
	b := scopetest.New(t)
	ofUser(b, "fine", "docs/real.md", "real")
	for name, target := range map[string]string{"fine": "docs/real.md", "out": "../fine/SKILL.md", "whole": "docs", "gone": "nothing.md", "absolute": "/etc/hostname"} {
		ofUser(b, name, "SKILL.md", fmt.Sprintf(front, name))
		ofUser(b, name, "docs/other.md", "other")
		if err := os.Symlink(target, filepath.Join(b.Home, ".agents", "skills", name, "link.md")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../link.md", filepath.Join(b.Home, ".agents", "skills", "fine", "docs", "chain.md")); err != nil {
		t.Fatal(err)
	}
	names, left := offers(b)
	if !slices.Equal(names, []string{"fine"}) || len(left) != 4 {
		t.Errorf("served: %q, left out: %q", names, left)
	}
	for _, why := range left {
		if !strings.Contains(why, "link.md") {
			t.Errorf("%q does not name the link", why)
		}
	}
	o, err := open(b).Offer(t.Context(), "fine")
	if err != nil || string(o.Files["link.md"]) != "real" || string(o.Files["docs/chain.md"]) != "real" {
		t.Errorf("got %q, %v", o.Files, err)
	}
}

// Skills that agents may not read are not offered, and are refused by name with the error of ReadActive; a copy in a
// project without trust keeps another of its name from models. A search of an agent withholds the same skills, but for
// naming those without trust.
func TestOfferGates(t *testing.T) {
	b := scopetest.New(t)
	ofUser(b, "open", "SKILL.md", fmt.Sprintf(front, "open"))
	ofUser(b, "mine", "SKILL.md", "---\nname: mine\ndescription: Does it.\nskill_format: corteza.skill/v1\nmodel_invocation: user-only\n---\n")
	b.Skill(".agents/skills", "loose", "# Loose\n")
	ofUser(b, "both", "SKILL.md", fmt.Sprintf(front, "both"))
	b.Write(".agents/skills/both/SKILL.md", "---\nname: both\ndescription: Does it.\ndisable-model-invocation: true\n---\n")
	names, left := offers(b)
	if !slices.Equal(names, []string{"open"}) || len(left) > 0 {
		t.Errorf("served: %q, left out: %q", names, left)
	}
	searcher := &search.Searcher{Scope: b.Scope()}
	found, err := searcher.Suggest(t.Context(), "open mine both", 50)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, k := range found.Skills {
		seen = append(seen, k.Name)
	}
	if !slices.Contains(seen, "open") || slices.Contains(seen, "mine") || slices.Contains(seen, "both") {
		t.Errorf("a search finds %q", seen)
	}
	for name, code := range map[string]string{"mine": "invocation_deny", "loose": "untrusted", "both": "invocation_deny", "none": "unknown_skill"} {
		o, err := open(b).Offer(t.Context(), name)
		_, want := open(b).ReadActive(t.Context(), name, "")
		if o.Files != nil || codeOf(err) != code || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: %+v, %v; ReadActive says %v", name, o, err, want)
		}
	}
}
