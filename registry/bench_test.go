package registry_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/bundle"
)

// BenchmarkPublish asks what it costs to publish a small skill as an archive, from the archive to the log entry, in a
// namespace that fills up. The stores sync.
func BenchmarkPublish(b *testing.B) {
	f := open(b, meta.Policy{})
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		name := fmt.Sprintf("skill-%c%c%c%c-%d", 'a'+n%26, 'a'+n/26%26, 'a'+n/676%26, 'q'-n%7, n)
		var archive bytes.Buffer
		if _, err := bundle.Pack(&archive, skillOf(name, fmt.Sprint("body ", n))); err != nil {
			b.Fatal(err)
		}
		if _, err := f.PublishArchive(b.Context(), publisher, "acme", name, "1.0.0", bytes.NewReader(archive.Bytes()), int64(archive.Len())); err != nil {
			b.Fatal(err)
		}
	}
}
