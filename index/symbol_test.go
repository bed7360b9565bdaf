package index_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
)

// A name with a slip of the fingers finds the definition; a name that is like none finds nothing.
func TestMisspeltNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nfunc parseHeader() {}\n\nfunc writeFooter() {}\n\nfunc Retry() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(t.Context(), dir, index.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for asked, want := range map[string]string{"parseHaeder": "parseHeader", "prseHeader": "parseHeader", "aprseHeader": "parseHeader", "parseeHeadr": "parseHeader", "Rettry": "Retry",
		"writeFoter": "writeFooter", "parseLedger": "", "Rtyer": "", "quitQuickly": ""} {
		q, err := query.Params{Symbol: asked}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		r, err := x.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(r.Handles) > 0 {
			got = r.Handles[0].Name
		}
		if got != want {
			t.Errorf("%s finds %q, want %q", asked, got, want)
		}
	}
}
