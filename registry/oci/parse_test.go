package oci

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for path, want := range map[string]target{
		"/v2":                            {kind: ping},
		"/v2/":                           {kind: ping},
		"/v2/a/b/manifests/1.0":          {manifest, "a/b", "1.0"},
		"/v2/a/manifests/sha256:00":      {manifest, "a", "sha256:00"},
		"/v2/a/b/blobs/sha256:00":        {blobKind, "a/b", "sha256:00"},
		"/v2/a/b/blobs/uploads/":         {start, "a/b", ""},
		"/v2/a/b/blobs/uploads":          {start, "a/b", ""},
		"/v2/a/b/blobs/uploads/x1":       {upload, "a/b", "x1"},
		"/v2/a/b/tags/list":              {tags, "a/b", ""},
		"/v2/a/b/referrers/sha256:00":    {referrers, "a/b", "sha256:00"},
		"/v2/tags/list/tags/list":        {tags, "tags/list", ""},
		"/v2/a/blobs/uploads/tags/list":  {tags, "a/blobs/uploads", ""},
		"/v2/a/blobs/blobs/sha256:00":    {blobKind, "a/blobs", "sha256:00"},
		"/v2/blobs/uploads/blobs/sha:00": {blobKind, "blobs/uploads", "sha:00"},
	} {
		if got, ok := parse(path); !ok || got != want {
			t.Errorf("parse(%q) = %v, %v; want %v", path, got, ok, want)
		}
	}
	for _, path := range []string{"", "/", "/v1/", "/v2/a", "/v2//manifests/1", "/v2/manifests/1", "/v2/a/manifests/",
		"/v2/blobs/uploads/", "/v2/a/tags/lists", "/v2/a/referrers/", "/v2/uploads/x", "/v2/" + strings.Repeat("a", maxPath) + "/tags/list"} {
		if got, ok := parse(path); ok {
			t.Errorf("parse(%q) = %v; want nothing", path, got)
		}
	}
}

// FuzzParse: what is accepted names a repository and, except for lists, something in it; and
// that path written out again is the same target.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"/v2/", "/v2/a/b/manifests/1", "/v2/a/blobs/uploads/x", "/v2/a/tags/list", "/v2/a/referrers/sha256:1"} {
		f.Add(seed)
	}
	words := map[kind]string{blobKind: "/blobs/", start: "/blobs/uploads/", upload: "/blobs/uploads/", manifest: "/manifests/", tags: "/tags/list", referrers: "/referrers/"}
	f.Fuzz(func(t *testing.T, path string) {
		got, ok := parse(path)
		if !ok || got.kind == ping {
			return
		}
		again, ok := parse("/v2/" + got.repo + words[got.kind] + got.arg)
		if got.repo == "" || !ok && len(path) < maxPath || ok && again != got {
			t.Errorf("parse(%q) = %v, and again %v", path, got, again)
		}
	})
}

func TestByteRange(t *testing.T) {
	const size = 1000
	for _, test := range []struct {
		header       string
		from, length int64
		partial, ok  bool
	}{
		{"", 0, size, false, true},
		{"bytes=0-0", 0, 1, true, true},
		{"bytes=0-", 0, size, true, true},
		{"bytes=500-999", 500, 500, true, true},
		{"bytes=500-5000", 500, 500, true, true},
		{"bytes=999-", 999, 1, true, true},
		{"bytes=-1", 999, 1, true, true},
		{"bytes=-5000", 0, size, true, true},
		{"bytes=0-1,5-6", 0, size, false, true}, // several: the whole
		{"lines=1-2", 0, size, false, true},
		{"bytes=1000-", 0, 0, false, false},
		{"bytes=1000-2000", 0, 0, false, false},
		{"bytes=500-0", 0, 0, false, false},
		{"bytes=-0", 0, 0, false, false},
		{"bytes=-", 0, 0, false, false},
		{"bytes=", 0, 0, false, false},
		{"bytes=a-b", 0, 0, false, false},
		{"bytes=+1-2", 0, 0, false, false},
		{"bytes=99999999999999999999-", 0, 0, false, false},
	} {
		from, length, partial, ok := byteRange(test.header, size)
		if from != test.from || length != test.length || partial != test.partial || ok != test.ok {
			t.Errorf("byteRange(%q) = %d, %d, %v, %v", test.header, from, length, partial, ok)
		}
	}
	if _, _, _, ok := byteRange("bytes=-5", 0); ok {
		t.Error("an empty blob has no last bytes")
	}
}

// FuzzByteRange: a range that is accepted lies within the content.
func FuzzByteRange(f *testing.F) {
	f.Add("bytes=0-1", int64(10))
	f.Add("bytes=-1", int64(10))
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 {
			return
		}
		from, length, partial, ok := byteRange(header, size)
		if ok && (from < 0 || length < 0 || from+length > size || partial && length == 0) {
			t.Errorf("byteRange(%q, %d) = %d, %d, %v", header, size, from, length, partial)
		}
	})
}

// TestPace shows the two ways to be too slow, and that a long transfer is none.
func TestPace(t *testing.T) {
	began := time.Unix(1000, 0)
	for _, test := range []struct {
		name   string
		after  time.Duration
		amount int64
		due    time.Duration // after began
	}{
		{"at the start", 0, 0, patience},
		{"silent for a while", 10 * time.Second, 0, patience},
		{"a byte now and then", 29 * time.Second, 10, patience},
		{"an hour of fast content", time.Hour, 1 << 40, time.Hour + patience},
	} {
		p := pace{began: began, wait: patience, amount: test.amount}
		if got := p.due(began.Add(test.after)).Sub(began); got.Round(time.Millisecond) != test.due.Round(time.Millisecond) {
			t.Errorf("%s: due after %v; want %v", test.name, got, test.due)
		}
	}
}
