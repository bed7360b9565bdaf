package oci_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/testdata/long"
)

// TestBlob reads one blob in all the ways that clients do.
func TestBlob(t *testing.T) {
	s := openSite(t)
	for _, size := range []int{0, 1, 5000, 3 << 20} {
		content := random(size)
		d := s.push("", "a/b", content)
		path := "/v2/a/b/blobs/" + d
		head := s.want(200, s.ask("", "HEAD", path, nil))
		get := s.want(200, s.ask("", "GET", path, nil))
		if !bytes.Equal(get.content, content) {
			t.Errorf("%d bytes came back as other %d", size, len(get.content))
		}
		for _, a := range []answer{head, get} {
			for name, want := range map[string]string{
				"Content-Length": fmt.Sprint(size), "Docker-Content-Digest": d, "Etag": `"` + d + `"`, "Accept-Ranges": "bytes",
				"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff",
				"Cache-Control": "public, max-age=31536000, immutable", "Docker-Distribution-Api-Version": "registry/2.0",
			} {
				if got := a.Header.Get(name); got != want {
					t.Errorf("%s of %d bytes: %s is %q, want %q", a.Request.Method, size, name, got, want)
				}
			}
		}
		s.want(304, s.ask("", "GET", path, nil, "If-None-Match", `"other", "`+d+`"`))
		s.want(304, s.ask("", "HEAD", path, nil, "If-None-Match", `W/"`+d+`"`))
	}
}

func TestBlobRanges(t *testing.T) {
	s := openSite(t)
	for _, size := range []int{1000, 3 << 20} { // in memory, and from a file
		content := random(size)
		d := s.push("", "a/b", content)
		for _, test := range []struct {
			header   string
			status   int
			from, to int
		}{
			{"bytes=0-0", 206, 0, 1},
			{"bytes=10-99", 206, 10, 100},
			{"bytes=990-", 206, 990, size},
			{"bytes=-10", 206, size - 10, size},
			{"bytes=990-99999999", 206, 990, size},
			{"bytes=-99999999", 206, 0, size},
			{"bytes=0-1,5-6", 200, 0, size},
			{"bytes=99999999-", 416, 0, 0},
			{"bytes=20-10", 416, 0, 0},
		} {
			a := s.want(test.status, s.ask("", "GET", "/v2/a/b/blobs/"+d, nil, "Range", test.header))
			want := map[int]string{206: fmt.Sprintf("bytes %d-%d/%d", test.from, test.to-1, size), 416: fmt.Sprintf("bytes */%d", size)}[test.status]
			if got := a.Header.Get("Content-Range"); got != want {
				t.Errorf("%s: content range %q, want %q", test.header, got, want)
			}
			if test.status != 416 && !bytes.Equal(a.content, content[test.from:test.to]) {
				t.Errorf("%s: %d bytes that are not those asked for", test.header, len(a.content))
			}
		}
		s.want(206, s.ask("", "GET", "/v2/a/b/blobs/"+d, nil, "Range", "bytes=1-2", "If-Range", `"`+d+`"`))
		s.want(200, s.ask("", "GET", "/v2/a/b/blobs/"+d, nil, "Range", "bytes=1-2", "If-Range", `"other"`))
	}
}

// TestUpload pushes one blob in each way of the specification.
func TestUpload(t *testing.T) {
	s := openSite(t)
	content := random(10_000)
	for _, algorithm := range []string{blob.SHA256, blob.SHA512} {
		d := blob.Sum(algorithm, content).String()
		for name, push := range map[string]func(repo string) answer{
			"in one request": func(repo string) answer {
				return s.ask("", "POST", "/v2/"+repo+"/blobs/uploads/?digest="+d, bytes.NewReader(content))
			},
			"without the last slash": func(repo string) answer {
				return s.ask("", "POST", "/v2/"+repo+"/blobs/uploads?digest="+d, bytes.NewReader(content))
			},
			"in two": func(repo string) answer {
				return s.ask("", "PUT", s.upload("", repo)+"?digest="+d, bytes.NewReader(content))
			},
			"of unknown length": func(repo string) answer {
				return s.ask("", "PUT", s.upload("", repo)+"?digest="+d, iotest.OneByteReader(bytes.NewReader(content)))
			},
			"as a stream": func(repo string) answer {
				at := s.upload("", repo)
				a := s.want(202, s.ask("", "PATCH", at, struct{ io.Reader }{bytes.NewReader(content)}))
				if got := a.Header.Get("Range"); got != "0-9999" {
					t.Errorf("range %q after 10,000 bytes", got)
				}
				return s.ask("", "PUT", a.Header.Get("Location")+"?digest="+d, nil)
			},
			"in pieces": func(repo string) answer {
				at := s.upload("", repo)
				a := s.want(202, s.ask("", "PATCH", at, bytes.NewReader(content[:4000]), "Content-Range", "0-3999"))
				at = a.Header.Get("Location")
				a = s.want(204, s.ask("", "GET", at, nil))
				if got := a.Header.Get("Range"); got != "0-3999" {
					t.Errorf("range %q after 4,000 bytes", got)
				}
				return s.ask("", "PUT", at+"?digest="+d, bytes.NewReader(content[4000:]), "Content-Range", "4000-9999")
			},
		} {
			repo := "up/" + strings.ReplaceAll(name, " ", "-")
			a := s.want(201, push(repo))
			if got := a.Header.Get("Docker-Content-Digest"); got != d {
				t.Errorf("%s: digest %s", name, got)
			}
			if got := s.want(200, s.ask("", "GET", a.Header.Get("Location"), nil)); !bytes.Equal(got.content, content) {
				t.Errorf("%s: other content came back", name)
			}
		}
	}
	if got := s.ask("", "GET", s.upload("", "a/b"), nil).Header.Get("Range"); got != "0-0" {
		t.Errorf("range %q of a session without content", got)
	}
}

// TestUploadFaults sends what is wrong, each in a repository of its own, and finds no blob there
// afterwards and nothing staged that could become one.
func TestUploadFaults(t *testing.T) {
	s := openSite(t)
	content := random(10_000)
	d := blob.Sum(blob.SHA256, content).String()
	other := blob.Sum(blob.SHA256, []byte("other")).String()
	patched := func(repo string) string {
		return s.want(202, s.ask("", "PATCH", s.upload("", repo), bytes.NewReader(content[:4000]))).Header.Get("Location")
	}
	for _, test := range []struct {
		name   string
		send   func(repo string) answer
		status int
		code   string
	}{
		{"mislabelled in one request", func(repo string) answer {
			return s.ask("", "POST", "/v2/"+repo+"/blobs/uploads/?digest="+other, bytes.NewReader(content))
		}, 400, "wrong_digest"},
		{"mislabelled in two", func(repo string) answer {
			return s.ask("", "PUT", s.upload("", repo)+"?digest="+other, bytes.NewReader(content))
		}, 400, "wrong_digest"},
		{"mislabelled in pieces", func(repo string) answer {
			return s.ask("", "PUT", patched(repo)+"?digest="+other, bytes.NewReader(content[4000:]))
		}, 400, "wrong_digest"},
		{"closed too early", func(repo string) answer {
			return s.ask("", "PUT", patched(repo)+"?digest="+d, nil)
		}, 400, "wrong_digest"},
		{"a gap", func(repo string) answer {
			return s.ask("", "PATCH", patched(repo), bytes.NewReader(content[5000:]), "Content-Range", "5000-9999")
		}, 416, "wrong_range"},
		{"a piece twice", func(repo string) answer {
			return s.ask("", "PATCH", patched(repo), bytes.NewReader(content[:4000]), "Content-Range", "0-3999")
		}, 416, "wrong_range"},
		{"a gap before the end", func(repo string) answer {
			return s.ask("", "PUT", patched(repo)+"?digest="+d, bytes.NewReader(content[5000:]), "Content-Range", "5000-9999")
		}, 416, "wrong_range"},
		{"a range that is none", func(repo string) answer {
			return s.ask("", "PATCH", patched(repo), bytes.NewReader(content[4000:]), "Content-Range", "all")
		}, 416, "wrong_range"},
		{"a range of another length", func(repo string) answer {
			return s.ask("", "PATCH", patched(repo), bytes.NewReader(content[4000:]), "Content-Range", "4000-4001")
		}, 400, "invalid_size"},
		{"a stream shorter than its range", func(repo string) answer {
			return s.ask("", "PATCH", patched(repo), struct{ io.Reader }{bytes.NewReader(content[4000:5000])}, "Content-Range", "4000-9999")
		}, 400, "incomplete_upload"},
		{"no digest", func(repo string) answer { return s.ask("", "PUT", patched(repo), nil) }, 400, "invalid_digest"},
		{"a digest that is none", func(repo string) answer {
			return s.ask("", "PUT", patched(repo)+"?digest=sha256:xyz", nil)
		}, 400, "invalid_digest"},
		{"an algorithm nobody knows", func(repo string) answer {
			return s.ask("", "POST", "/v2/"+repo+"/blobs/uploads/?digest-algorithm=md5", nil)
		}, 400, "wrong_digest"},
		{"a session that was never opened", func(repo string) answer {
			return s.ask("", "PATCH", "/v2/"+repo+"/blobs/uploads/AAAA", bytes.NewReader(content))
		}, 404, "unknown_upload"},
		{"the session of another repository", func(repo string) answer {
			id := s.upload("", "elsewhere/x")
			return s.ask("", "PUT", strings.Replace(id, "elsewhere/x", repo, 1)+"?digest="+d, bytes.NewReader(content))
		}, 404, "unknown_upload"},
		{"a cancelled session", func(repo string) answer {
			at := patched(repo)
			s.want(204, s.ask("", "DELETE", at, nil))
			return s.ask("", "PUT", at+"?digest="+d, bytes.NewReader(content))
		}, 404, "unknown_upload"},
		{"a path that is none", func(repo string) answer {
			return s.ask("", "POST", "/v2/"+strings.ToUpper(repo)+"/blobs/uploads/", nil)
		}, 400, "invalid_name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.t = t
			repo := "faults/" + strings.ReplaceAll(test.name, " ", "-")
			a := test.send(repo)
			if a.StatusCode != test.status || a.code() != test.code {
				t.Errorf("%s, code %s, want %d, %s: %s", a.Status, a.code(), test.status, test.code, a.content)
			}
			if strings.Contains(test.name, "range") || strings.Contains(test.name, "gap") {
				if got := a.Header.Get("Range"); test.status == 416 && got != "0-3999" {
					t.Errorf("range %q, want where the session goes on", got)
				}
			}
			for _, digest := range []string{d, other} {
				s.want(404, s.ask("", "HEAD", "/v2/"+repo+"/blobs/"+digest, nil))
			}
		})
	}
	for info, err := range s.g.Blobs.Blobs(t.Context()) {
		t.Errorf("blob %v was left (%v)", info.Digest, err)
	}
}

// TestUploadCut ends connections in the middle of a body: the session is where it was, and goes on.
func TestUploadCut(t *testing.T) {
	s := openSite(t)
	content := random(100_000)
	d := blob.Sum(blob.SHA256, content).String()
	cut := func(method, path string) {
		t.Helper()
		conn, err := net.Dial("tcp", s.host())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", method, path, len(content))
		conn.Write(content[:30_000])
		conn.(*net.TCPConn).CloseWrite()
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && answer.StatusCode != 400 {
			t.Errorf("%s that was cut: %s", method, answer.Status)
		}
		conn.Close()
	}
	cut("POST", "/v2/cut/a/blobs/uploads/?digest="+d)
	at := s.upload("", "cut/a")
	cut("PUT", at+"?digest="+d)
	s.want(404, s.ask("", "HEAD", "/v2/cut/a/blobs/"+d, nil))
	s.want(202, s.ask("", "PATCH", at, bytes.NewReader(content[:10_000])))
	cut("PATCH", at)
	if got := s.want(204, s.ask("", "GET", at, nil)).Header.Get("Range"); got != "0-9999" {
		t.Errorf("range %q after a cut piece, want what was acknowledged", got)
	}
	s.want(201, s.ask("", "PUT", at+"?digest="+d, bytes.NewReader(content[10_000:]), "Content-Range", "10000-99999"))
	staged := 0
	for range s.g.Blobs.Uploads(t.Context()) {
		staged++
	}
	if staged > 0 {
		t.Errorf("%d uploads are staged still", staged)
	}
}

// TestDownloadFails serves content that ends too early: the client is told by the end of the connection.
func TestDownloadFails(t *testing.T) {
	s := openSite(t)
	content := random(200_000)
	d := s.push("", "a/b", content)
	h := handler(t, s.g)
	h.Failed = nil
	h.Registry = failing{s.g}
	s.server.Config.Handler = h
	a := s.ask("", "GET", "/v2/a/b/blobs/"+d, nil)
	if a.StatusCode != 200 || !errors.Is(a.err, io.ErrUnexpectedEOF) || len(a.content) >= len(content) {
		t.Errorf("%s, %d bytes, error %v; want fewer bytes than announced and an error", a.Status, len(a.content), a.err)
	}
}

func TestManifest(t *testing.T) {
	long.Slow(t)
	s := openSite(t)
	config, layer := s.push("", "a/b", []byte("{}")), s.push("", "a/b", []byte("x"))
	content := artifactManifest(config, layer, 1, "")
	d256, d512 := blob.Sum(blob.SHA256, content).String(), blob.Sum(blob.SHA512, content).String()
	put := func(reference, mediaType string, content []byte) answer {
		return s.ask("", "PUT", "/v2/a/b/manifests/"+reference, bytes.NewReader(content), "Content-Type", mediaType)
	}
	s.want(201, put("v1", manifestType, content))
	s.want(201, put(d512, manifestType, content))
	for reference, digest := range map[string]string{"v1": d256, d256: d256, d512: d512} {
		for _, method := range []string{"GET", "HEAD"} {
			a := s.want(200, s.ask("", method, "/v2/a/b/manifests/"+reference, nil))
			if a.Header.Get("Docker-Content-Digest") != digest || a.Header.Get("Content-Type") != manifestType ||
				a.Header.Get("Content-Length") != fmt.Sprint(len(content)) || method == "GET" && !bytes.Equal(a.content, content) {
				t.Errorf("%s %s: %v", method, reference, a.Header)
			}
		}
		s.want(304, s.ask("", "GET", "/v2/a/b/manifests/"+reference, nil, "If-None-Match", `"`+digest+`"`))
	}
	a := s.want(201, s.ask("", "PUT", "/v2/a/b/manifests/"+d512+"?tag=v2&tag=v3", bytes.NewReader(content), "Content-Type", manifestType))
	if got := a.Header.Values("OCI-Tag"); !slices.Equal(got, []string{"v2", "v3"}) {
		t.Errorf("tags %q", got)
	}
	if got := s.want(200, s.ask("", "HEAD", "/v2/a/b/manifests/v3", nil)).Header.Get("Docker-Content-Digest"); got != d512 {
		t.Errorf("v3 is %s, want the digest it was pushed under", got)
	}
	many := strings.Repeat("&tag=x", 65)
	for _, test := range []struct {
		name   string
		a      answer
		status int
		code   string
	}{
		{"another digest", put(blob.Sum(blob.SHA256, nil).String(), manifestType, content), 400, "wrong_digest"},
		{"no digest", put("sha256:12", manifestType, content), 400, "invalid_digest"},
		{"no JSON", put("v1", manifestType, []byte("hello")), 400, "invalid_manifest"},
		{"another media type", put("v1", "application/vnd.oci.image.index.v1+json", content), 400, "invalid_manifest"},
		{"no such blob", put("v1", manifestType, artifactManifest(config, d512, 1, "")), 400, "blob_missing"},
		{"a tag that is none", put("-v1", manifestType, content), 400, "invalid_name"},
		{"too large", put("v1", manifestType, bytes.Repeat([]byte(" "), 4<<20+1)), 413, "too_large"},
		{"too large, and as a stream", s.ask("", "PUT", "/v2/a/b/manifests/v1", struct{ io.Reader }{bytes.NewReader(make([]byte, 4<<20+1))}), 413, "too_large"},
		{"too many tags", s.ask("", "PUT", "/v2/a/b/manifests/"+d256+"?x"+many, bytes.NewReader(content)), 414, "too_many_tags"},
		{"tags for a tag", s.ask("", "PUT", "/v2/a/b/manifests/v1?tag=v2", bytes.NewReader(content)), 400, "invalid_request"},
		{"nothing there", s.ask("", "GET", "/v2/a/b/manifests/v9", nil), 404, "unknown_manifest"},
	} {
		if test.a.StatusCode != test.status || test.a.code() != test.code {
			t.Errorf("%s: %s, code %s; want %d, %s: %s", test.name, test.a.Status, test.a.code(), test.status, test.code, test.a.content)
		}
	}
	large := append(bytes.TrimSuffix(content, []byte("}")), `,"filler":"`+strings.Repeat("x", 4<<20-len(content)-13)+`"}`...)
	if len(large) > 4<<20 || len(large) < 4<<20-5 {
		t.Fatalf("%d bytes", len(large))
	}
	s.want(201, put("large", manifestType, large))
	s.want(202, s.ask("", "DELETE", "/v2/a/b/manifests/v2", nil))
	s.want(404, s.ask("", "GET", "/v2/a/b/manifests/v2", nil))
	s.want(202, s.ask("", "DELETE", "/v2/a/b/manifests/"+d512, nil))
	s.want(404, s.ask("", "GET", "/v2/a/b/manifests/v3", nil))
	s.want(200, s.ask("", "GET", "/v2/a/b/manifests/v1", nil))
}

func TestTags(t *testing.T) {
	s := openSite(t)
	var all []string
	for i := range 7 {
		tag := fmt.Sprintf("v%d", i)
		all = append(all, tag)
		s.artifact("", "a/b", tag, []byte("same"), "")
	}
	type list struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	get := func(path string) (l list, next string) {
		t.Helper()
		a := s.want(200, s.ask("", "GET", path, nil))
		if err := json.Unmarshal(a.content, &l); err != nil || l.Tags == nil || l.Name != "a/b" {
			t.Fatalf("%s: %v: %s", path, err, a.content)
		}
		next, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
		return l, next
	}
	if l, next := get("/v2/a/b/tags/list"); !slices.Equal(l.Tags, all) || next != "" {
		t.Errorf("%v, next %q", l.Tags, next)
	}
	var paged []string
	pages := 0
	for path := "/v2/a/b/tags/list?n=3"; path != ""; pages++ {
		var l list
		l, path = get(path)
		paged = append(paged, l.Tags...)
	}
	if !slices.Equal(paged, all) || pages != 3 {
		t.Errorf("%d pages: %v", pages, paged)
	}
	if l, next := get("/v2/a/b/tags/list?n=0"); len(l.Tags) != 0 || next != "" {
		t.Errorf("n=0: %v, next %q", l.Tags, next)
	}
	if l, _ := get("/v2/a/b/tags/list?last=v4"); !slices.Equal(l.Tags, all[5:]) {
		t.Errorf("last=v4: %v", l.Tags)
	}
	if l, next := get("/v2/a/b/tags/list?n=7"); len(l.Tags) != 7 || next != "" {
		t.Errorf("a page that is just full: %d tags, next %q", len(l.Tags), next)
	}
	for _, n := range []string{"-1", "x", "1.5", "99999999999999999999"} {
		if a := s.want(400, s.ask("", "GET", "/v2/a/b/tags/list?n="+n, nil)); a.code() != "invalid_page" {
			t.Errorf("n=%s: code %s", n, a.code())
		}
	}
	s.want(404, s.ask("", "GET", "/v2/a/none/tags/list", nil))
}

func TestReferrers(t *testing.T) {
	s := openSite(t)
	subject := s.artifact("", "a/b", "v1", []byte("subject"), "")
	note := s.artifact("", "a/b", "", []byte("note"), subject)
	early := blob.Sum(blob.SHA256, []byte("not pushed yet")).String()
	s.artifact("", "a/b", "", []byte("early"), early)
	for path, want := range map[string]int{
		subject: 1, early: 1,
		subject + "?artifactType=application/vnd.example.note":                  1,
		subject + "?artifactType=other":                                         0,
		blob.Sum(blob.SHA256, []byte("nothing refers to it")).String():          0,
		blob.Sum(blob.SHA512, []byte("nor to this")).String() + "?artifactType": 0,
	} {
		a := s.want(200, s.ask("", "GET", "/v2/a/b/referrers/"+path, nil))
		var index struct {
			SchemaVersion int
			MediaType     string
			Manifests     []struct {
				MediaType, Digest, ArtifactType string
				Size                            int
				Annotations                     map[string]string
			}
		}
		if err := json.Unmarshal(a.content, &index); err != nil || index.SchemaVersion != 2 || index.MediaType != a.Header.Get("Content-Type") || index.Manifests == nil {
			t.Fatalf("%s: %v: %s", path, err, a.content)
		}
		if len(index.Manifests) != want {
			t.Errorf("%s: %d referrers, want %d", path, len(index.Manifests), want)
		}
		if filtered := a.Header.Get("OCI-Filters-Applied"); (filtered == "artifactType") != strings.Contains(path, "artifactType=") {
			t.Errorf("%s: filters applied %q", path, filtered)
		}
		if strings.HasPrefix(path, subject) && want == 1 {
			if m := index.Manifests[0]; m.Digest != note || m.ArtifactType != "application/vnd.example.note" || m.Annotations["note"] != "x" || m.Size == 0 {
				t.Errorf("referrer %+v", m)
			}
		}
	}
	s.want(400, s.ask("", "GET", "/v2/a/b/referrers/sha256:1", nil))
}

func TestMethods(t *testing.T) {
	s := openSite(t)
	d := blob.Sum(blob.SHA256, nil).String()
	for path, allow := range map[string]string{
		"/v2/":                     "GET, HEAD",
		"/v2/a/b/blobs/" + d:       "GET, HEAD, DELETE",
		"/v2/a/b/blobs/uploads/":   "POST",
		"/v2/a/b/blobs/uploads/id": "GET, HEAD, PATCH, PUT, DELETE",
		"/v2/a/b/manifests/v1":     "GET, HEAD, PUT, DELETE",
		"/v2/a/b/tags/list":        "GET, HEAD",
		"/v2/a/b/referrers/" + d:   "GET, HEAD",
	} {
		a := s.want(405, s.ask("", "OPTIONS", path, nil))
		if a.Header.Get("Allow") != allow || a.code() != "method_not_allowed" {
			t.Errorf("%s: allow %q, code %s", path, a.Header.Get("Allow"), a.code())
		}
	}
	for _, path := range []string{"/v2/a", "/v2/a/b/unknown/x"} {
		s.want(404, s.ask("", "GET", path, nil))
	}
}

// TestPatience ends clients that send or take nothing, and none that is slow but alive.
func TestPatience(t *testing.T) {
	long.Slow(t)
	s := openSite(t)
	content := random(32 << 20) // more than the buffers of a connection
	d := s.push("", "a/b", content)
	h := handler(t, s.g)
	h.Patience, h.Failed = 400*time.Millisecond, nil
	hasty := httptest.NewServer(h)
	t.Cleanup(hasty.Close)

	dial := func(host, head string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n", head)
		return conn
	}
	hurried := strings.TrimPrefix(hasty.URL, "http://")
	silent := dial(hurried, "PATCH "+s.upload("", "a/b"))
	fmt.Fprint(silent, "Content-Length: 100\r\n\r\nx")
	if answer, err := http.ReadResponse(bufio.NewReader(silent), nil); err != nil || answer.StatusCode != 408 {
		t.Errorf("a silent sender: %v, %v", answer, err)
	}
	alive := dial(s.host(), "PATCH "+s.upload("", "a/b"))
	fmt.Fprint(alive, "Content-Length: 10\r\n\r\n")
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		alive.Write([]byte("x"))
	}
	if answer, err := http.ReadResponse(bufio.NewReader(alive), nil); err != nil || answer.StatusCode != 202 {
		t.Errorf("a slow sender: %v, %v", answer, err)
	}

	deaf := dial(hurried, "GET /v2/a/b/blobs/"+d)
	fmt.Fprint(deaf, "\r\n")
	time.Sleep(1500 * time.Millisecond)
	if n, err := io.Copy(io.Discard, deaf); n >= int64(len(content)) {
		t.Errorf("a client that read nothing for long got all %d bytes (%v)", n, err)
	}
	if got := s.want(200, s.ask("", "GET", "/v2/a/b/blobs/"+d, nil)); !bytes.Equal(got.content, content) {
		t.Error("a client that reads got something else")
	}
}

// TestSlowClients lets clients hang in a body and shows that others are served meanwhile.
func TestSlowClients(t *testing.T) {
	long.Slow(t)
	s := openSite(t)
	d := s.push("", "a/b", random(1000))
	for range 50 {
		conn, err := net.Dial("tcp", s.host())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v2/a/b/blobs/uploads/?digest=%s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx", d)
	}
	began := time.Now()
	for range 100 {
		s.want(200, s.ask("", "GET", "/v2/a/b/blobs/"+d, nil))
		s.push("", "a/b", random(100))
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("100 pushes and pulls beside 50 clients that hang took %v", took)
	}
}
