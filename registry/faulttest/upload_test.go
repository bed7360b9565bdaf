package faulttest

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
)

// rows counts the rows of all tables, of those alone that uploads write to.
func rows(t testing.TB, data string) map[string]int64 {
	t.Helper()
	db := metatest.SQL(t, data)
	counts := map[string]int64{}
	for _, table := range []string{"blobs", "links", "uploads", "manifests", "edges", "tags", "releases", "skills", "settings", "log_records", "events"} {
		var n int64
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		counts[table] = n
	}
	return counts
}

// stored is the files and rows that tests compare. The database's own files come and go.
func stored(t testing.TB, data string) (map[string]int64, map[string]int64) {
	found := files(t, data)
	maps.DeleteFunc(found, func(path string, _ int64) bool { return strings.HasPrefix(path, "meta.db") })
	return found, rows(t, data)
}

// cut sends a request with less of a body than it announces, and returns the answer, if there is one.
func (c *client) cut(t *testing.T, method, path string, body []byte, announced int, header ...string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	w := bufio.NewWriter(conn)
	fmt.Fprintf(w, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n", method, path, strings.TrimPrefix(c.url, "http://"), c.token, announced)
	for i := 0; i < len(header); i += 2 {
		fmt.Fprintf(w, "%s: %s\r\n", header[i], header[i+1])
	}
	fmt.Fprint(w, "\r\n")
	w.Write(body)
	if err := w.Flush(); err != nil {
		return // refused before the body was read
	}
	conn.(*net.TCPConn).CloseWrite()
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		if resp.StatusCode < 400 {
			t.Errorf("%s %s, cut short: %d", method, path, resp.StatusCode)
		}
		resp.Body.Close()
	}
}

// TestNothingIsLeftBehind does everything wrong that can be done with an upload.
func TestNothingIsLeftBehind(t *testing.T) {
	data := metatest.Dir(t)
	srv, admin := open(t, setup{Data: data})
	publisher, _ := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	first := newRelease("pdf", "1.0.0", 100)
	if a, err := publisher.publish(t.Context(), first, byTag); err != nil || a.status != 201 {
		t.Fatalf("publish: %d %s %v", a.status, a.body, err)
	}
	const uploads, octets = "/v2/acme/pdf/blobs/uploads/", "application/octet-stream"
	small, large := noise(1000), noise(3<<20)
	other := digest.FromBytes([]byte("something else")).String()
	session := func(t *testing.T, first []byte) string {
		location := publisher.must(t, 202, "POST", uploads, nil).head.Get("Location")
		if first != nil {
			publisher.must(t, 202, "PATCH", location, first, "Content-Type", octets)
		}
		return location
	}
	second := newRelease("pdf", "2.0.0", 100)
	missing := bytes.Replace(second.built.Root.Data, []byte(second.built.Blobs[0].Digest.Encoded()), []byte(strings.Repeat("0", 64)), 1)
	for _, tt := range []struct {
		name string
		do   func(t *testing.T)
	}{
		{"mislabelled, small", func(t *testing.T) { publisher.must(t, 400, "POST", uploads+"?digest="+other, small) }},
		{"mislabelled, large", func(t *testing.T) { publisher.must(t, 400, "POST", uploads+"?digest="+other, large) }},
		{"mislabelled, known", func(t *testing.T) {
			publisher.must(t, 400, "POST", uploads+"?digest="+first.built.Blobs[0].Digest.String(), large)
		}},
		{"mislabelled session", func(t *testing.T) {
			publisher.must(t, 400, "PUT", session(t, small)+"?digest="+other, nil)
		}},
		{"mislabelled large session", func(t *testing.T) {
			publisher.must(t, 400, "PUT", session(t, large)+"?digest="+other, small)
		}},
		{"mislabelled in one piece", func(t *testing.T) {
			publisher.must(t, 400, "PUT", session(t, nil)+"?digest="+other, large)
		}},
		{"mislabelled after an empty piece", func(t *testing.T) {
			publisher.must(t, 400, "PUT", session(t, []byte{})+"?digest="+other, small)
		}},
		{"truncated, small", func(t *testing.T) {
			publisher.cut(t, "POST", uploads+"?digest="+digest.FromBytes(small).String(), small[:500], 1000)
		}},
		{"truncated, large", func(t *testing.T) {
			publisher.cut(t, "POST", uploads+"?digest="+digest.FromBytes(large).String(), large[:2<<20], 3<<20)
		}},
		{"truncated first piece", func(t *testing.T) { publisher.cut(t, "PATCH", session(t, nil), large[:2<<20], 3<<20) }},
		{"truncated only piece", func(t *testing.T) {
			publisher.cut(t, "PUT", session(t, nil)+"?digest="+digest.FromBytes(large).String(), large[:2<<20], 3<<20)
		}},
		{"out of order", func(t *testing.T) {
			publisher.must(t, 416, "PATCH", session(t, nil), small, "Content-Range", "1000-1999")
		}},
		{"wrong length", func(t *testing.T) {
			publisher.must(t, 400, "PATCH", session(t, nil), small, "Content-Range", "0-1999")
		}},
		{"out of order at the end", func(t *testing.T) {
			publisher.must(t, 416, "PUT", session(t, nil)+"?digest="+digest.FromBytes(small).String(), small, "Content-Range", "1000-1999")
		}},
		{"a stranger's session", func(t *testing.T) {
			publisher.must(t, 404, "PATCH", "/v2/acme/pdf/blobs/uploads/"+strings.Repeat("A", 43), small)
		}},
		{"a manifest of what is not there", func(t *testing.T) {
			publisher.must(t, 400, "PUT", "/v2/acme/pdf/manifests/2.0.0", missing, "Content-Type", second.built.Root.MediaType)
		}},
		{"a mislabelled manifest", func(t *testing.T) {
			publisher.must(t, 400, "PUT", "/v2/acme/pdf/manifests/"+other, first.built.Root.Data, "Content-Type", first.built.Root.MediaType)
		}},
		{"a truncated manifest", func(t *testing.T) {
			publisher.cut(t, "PUT", "/v2/acme/pdf/manifests/2.0.0", second.built.Root.Data[:100], len(second.built.Root.Data), "Content-Type", second.built.Root.MediaType)
		}},
		{"a truncated archive", func(t *testing.T) {
			publisher.cut(t, "PUT", second.api(), second.archive[:200], len(second.archive), "Content-Type", wire.MediaZip)
		}},
		{"half an archive", func(t *testing.T) {
			publisher.must(t, 400, "PUT", second.api(), second.archive[:len(second.archive)/2], "Content-Type", wire.MediaZip)
		}},
		{"an archive of something else", func(t *testing.T) {
			publisher.must(t, 400, "PUT", "/api/v1/skills/acme/other/versions/2.0.0", second.archive, "Content-Type", wire.MediaZip)
		}},
		{"an archive of a version that is there", func(t *testing.T) {
			publisher.must(t, 409, "PUT", first.api(), newRelease("pdf", "1.0.0", 100).archive, "Content-Type", wire.MediaZip)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, rows := stored(t, data)
			tt.do(t)
			filesNow, rowsNow := stored(t, data)
			if !maps.Equal(files, filesNow) {
				t.Errorf("files were %v, are %v", files, filesNow)
			}
			if !maps.Equal(rows, rowsNow) {
				t.Errorf("rows were %v, are %v", rows, rowsNow)
			}
		})
	}

	// An upload given up half-way stays for a while, as its client may come back, and then goes.
	t.Run("abandoned", func(t *testing.T) {
		files, rows := stored(t, data)
		session(t, nil)
		session(t, small)
		session(t, []byte{})
		publisher.must(t, 204, "DELETE", session(t, large), nil)
		publisher.must(t, 416, "PATCH", session(t, small), small, "Content-Range", "5-1004")
		publisher.cut(t, "PATCH", session(t, small), large[:2<<20], 3<<20)
		publisher.must(t, 201, "POST", uploads+"?digest="+digest.FromBytes(large).String(), large) // in no manifest
		draft := newRelease("pdf", "3.0.0", 100)
		for _, b := range draft.built.Blobs {
			publisher.must(t, 201, "POST", uploads+"?digest="+b.Digest.String(), b.Data)
		}
		if now, _ := stored(t, data); len(now) <= len(files) {
			t.Fatal("nothing is there that gc could remove")
		}
		time.Sleep(20 * time.Millisecond)
		if _, err := srv.Registry.GC(t.Context(), registry.GCOptions{Grace: 10 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		filesNow, rowsNow := stored(t, data)
		if !maps.Equal(files, filesNow) {
			t.Errorf("files were %v, are %v", files, filesNow)
		}
		if !maps.Equal(rows, rowsNow) {
			t.Errorf("rows were %v, are %v", rows, rowsNow)
		}
	})
	clean(t, srv)
}

// TestUploadGoesOn: an upload that was cut off goes on where the server says, as often as it takes.
func TestUploadGoesOn(t *testing.T) {
	srv, admin := open(t, setup{})
	publisher, _ := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	content := noise(5 << 20)
	location := publisher.must(t, 202, "POST", "/v2/acme/pdf/blobs/uploads/", nil).head.Get("Location")
	at := 0
	for at < 4<<20 {
		publisher.cut(t, "PATCH", location, content[at:at+300<<10], len(content)-at, "Content-Range", fmt.Sprintf("%d-%d", at, len(content)-1))
		a := publisher.must(t, 204, "GET", location, nil)
		if a.head.Get("Range") != fmt.Sprintf("0-%d", max(at-1, 0)) {
			t.Fatalf("after a cut at %d the range is %s", at, a.head.Get("Range"))
		}
		publisher.must(t, 202, "PATCH", location, content[at:at+1<<20], "Content-Range", fmt.Sprintf("%d-%d", at, at+1<<20-1))
		at += 1 << 20
	}
	d := digest.FromBytes(content).String()
	publisher.must(t, 201, "PUT", location+"?digest="+d, content[at:], "Content-Range", fmt.Sprintf("%d-%d", at, len(content)-1))
	if a := publisher.must(t, 200, "GET", "/v2/acme/pdf/blobs/"+d, nil); !bytes.Equal(a.body, content) {
		t.Error("what came together is not what was sent")
	}
	clean(t, srv)
}
