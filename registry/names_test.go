package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/bundle/bundletest"
)

// Names that no source lets into a bundle are refused by publish too, by the same table.
func TestPublishRefusesTheSameNames(t *testing.T) {
	for _, n := range bundletest.Names() {
		var buf bytes.Buffer
		z := gzip.NewWriter(&buf)
		w := tar.NewWriter(z)
		for _, name := range []string{"SKILL.md", n.Path} {
			h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 4, Mode: 0o644}
			if strings.Contains(name, "\xff") {
				h.Format = tar.FormatGNU
			}
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			io.WriteString(w, "text")
		}
		w.Close()
		z.Close()
		var g Registry
		_, err := g.stage(context.Background(), "pdf", "1.0.0", bytes.NewReader(buf.Bytes()), int64(buf.Len()))
		if err == nil || !strings.Contains(err.Error(), "path") {
			t.Errorf("%q: %v, want a refusal of the path", n.Path, err)
		}
	}
}
