package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/search"
)

// FuzzSearch: no text is an error, and what is found has a word of the text.
func FuzzSearch(f *testing.F) {
	s := openTest(f, filepath.Join(f.TempDir(), "meta.db"), Options{})
	if err := s.Update(f.Context(), func(tx *meta.Tx) error {
		return tx.CreateRelease(f.Context(), meta.Release{Namespace: "acme", Name: "pdf-forms", Version: "1.0.0", Description: "Ångström 数据 and or not near", State: meta.Approved})
	}); err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"pdf", `"`, "NEAR(a b)", "a AND", "{name}:x", "数", "\x00", "\xff", "a*b^c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := s.View(t.Context(), func(tx *meta.Tx) error {
			m, err := tx.Search(t.Context(), meta.Search{Text: text})
			if m.Total > 1 || m.Total == 1 && search.Words(text) == nil && strings.TrimSpace(text) != "" {
				t.Errorf("%q finds %d", text, m.Total)
			}
			return err
		}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
