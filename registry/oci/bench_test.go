package oci_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/skl-project/skl/registry/blob"
)

// nowhere takes an answer and keeps its status alone.
type nowhere struct {
	header http.Header
	status int
}

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(status int)      { n.status = status }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkRead asks what a pull costs in the handler and the stores, without a network.
func BenchmarkRead(b *testing.B) {
	s := openSite(b)
	content := random(100 << 10)
	s.artifact("", "a/b", "v1", content, "")
	layer := "/v2/a/b/blobs/" + blob.Sum(blob.SHA256, content).String()
	for _, test := range []struct{ name, method, path string }{
		{"ping", "GET", "/v2/"},
		{"head of a blob", "HEAD", layer},
		{"blob of 100 KB", "GET", layer},
		{"manifest by tag", "GET", "/v2/a/b/manifests/v1"},
		{"tags", "GET", "/v2/a/b/tags/list"},
	} {
		b.Run(test.name, func(b *testing.B) {
			h := handler(b, s.g)
			r := httptest.NewRequest(test.method, test.path, nil)
			b.ReportAllocs()
			for b.Loop() {
				w := &nowhere{header: http.Header{}}
				h.ServeHTTP(w, r)
				if w.status != 200 {
					b.Fatal(w.status)
				}
			}
		})
	}
}

// BenchmarkPush asks how many artifacts 16 clients push a second, over HTTP, with fsync:
// a layer, a config and a manifest, in five requests.
func BenchmarkPush(b *testing.B) {
	for _, size := range []int{10 << 10, 100 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%d KB", size>>10), func(b *testing.B) {
			s := openSite(b)
			s.server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 16
			var next atomic.Uint64
			b.SetBytes(int64(size))
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				content := random(size)
				for pb.Next() {
					n := next.Add(1)
					binary.LittleEndian.PutUint64(content, n)
					s.artifact("", fmt.Sprintf("bench/c%d", n%16), fmt.Sprintf("v%d", n), content, "")
				}
			})
		})
	}
}

// BenchmarkPull asks the same for reading: the manifest by its tag, and the layer.
func BenchmarkPull(b *testing.B) {
	for _, size := range []int{10 << 10, 100 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%d KB", size>>10), func(b *testing.B) {
			s := openSite(b)
			transport := s.server.Client().Transport.(*http.Transport)
			transport.MaxIdleConnsPerHost, transport.DisableCompression = 16, true
			content := random(size)
			s.artifact("", "a/b", "v1", content, "")
			layer := "/v2/a/b/blobs/" + blob.Sum(blob.SHA256, content).String()
			b.SetBytes(int64(size))
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					for _, path := range []string{"/v2/a/b/manifests/v1", layer} {
						response, err := s.server.Client().Get(s.server.URL + path)
						if err != nil {
							b.Error(err)
							return
						}
						io.Copy(struct{ io.Writer }{io.Discard}, response.Body)
						response.Body.Close()
					}
				}
			})
		})
	}
}
