package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// mapFS is a folder of files in the notation of recorder.
func mapFS(files map[string]string) fstest.MapFS {
	fsys := make(fstest.MapFS)
	for p, content := range files {
		f := &fstest.MapFile{Mode: 0o600, ModTime: time.Unix(1_700_000_000, 0)}
		if rest, ok := strings.CutPrefix(content, "-> "); ok {
			f.Mode, content = fs.ModeSymlink|0o777, rest
		} else if rest, ok := strings.CutPrefix(content, "x "); ok {
			f.Mode, content = 0o700, rest
		}
		f.Data = []byte(content)
		fsys[p] = f
	}
	return fsys
}

// example has names whose order in a walk differs from that of path bytes, and long ones.
var example = map[string]string{
	"SKILL.md":               "---\nname: example\n---\n",
	"a/b":                    "below a",
	"a.txt":                  "beside a\r\n",
	"empty":                  "",
	"scripts/run.sh":         "x #!/bin/sh\n",
	"ü/漢.md":                 "names outside ASCII",
	strings.Repeat("l", 200): "a name that ustar cannot hold",
	"zeros":                  strings.Repeat("\x00", 600_000),
}

type packFunc = func(io.Writer, fs.FS) (Summary, error)

func packedExample(t testing.TB, pack packFunc) []byte {
	t.Helper()
	var buf bytes.Buffer
	if _, err := pack(&buf, mapFS(example)); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func unpackedTree(t testing.TB, data []byte, format Format) Digest {
	t.Helper()
	g := NewGuard(nil, InstallLimits)
	if _, err := Unpack(bytes.NewReader(data), int64(len(data)), format, g); err != nil {
		t.Fatal(err)
	}
	sum, err := g.Close()
	if err != nil {
		t.Fatal(err)
	}
	return sum.Tree
}

func TestPackLaws(t *testing.T) {
	for format, pack := range map[Format]packFunc{TarGz: Pack, Zip: PackZip} {
		var first, second bytes.Buffer
		sum, err := pack(&first, mapFS(example))
		if err != nil {
			t.Fatal(err)
		}
		later := mapFS(example)
		for _, f := range later {
			f.ModTime = f.ModTime.Add(time.Hour)
			f.Mode |= 0o044
		}
		if again, err := pack(&second, later); err != nil || again.Tree != sum.Tree || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: packing twice gave %s, %s, %v", format, sum.Tree, again.Tree, err)
		}
		if got := unpackedTree(t, first.Bytes(), format); got != sum.Tree {
			t.Errorf("%s: unpacked, the tree is %s, want %s", format, got, sum.Tree)
		}
		rec := record(t)
		if top, err := Unpack(bytes.NewReader(first.Bytes()), int64(first.Len()), format, rec); err != nil || top != "" {
			t.Errorf("%s: top %q, %v", format, top, err)
		}
		if !maps.Equal(rec.files, example) {
			t.Errorf("%s: unpacked %v", format, slices.Sorted(maps.Keys(rec.files)))
		}
	}
}

func TestPackHoldsNothingOfTheWriter(t *testing.T) {
	z, err := gzip.NewReader(bytes.NewReader(packedExample(t, Pack)))
	if err != nil || z.Name != "" || !z.ModTime.IsZero() || z.Comment != "" {
		t.Fatalf("gzip header %+v, %v", z.Header, err)
	}
	var names []string
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 0 || h.Mode != 0o644 && h.Mode != 0o755 {
			t.Errorf("header %+v", h)
		}
	}
	if !slices.IsSorted(names) || len(names) != len(example) {
		t.Errorf("names %q", names)
	}
	data := packedExample(t, PackZip)
	zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	names = names[:0]
	for _, f := range zr.File {
		names = append(names, f.Name)
		if len(f.Extra) != 0 || f.Comment != "" || f.Mode() != 0o644 && f.Mode() != 0o755 {
			t.Errorf("header %+v", f.FileHeader)
		}
	}
	if !slices.IsSorted(names) || len(names) != len(example) {
		t.Errorf("names %q", names)
	}
}

func TestPackRefuses(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		code  string
	}{
		{"link", map[string]string{"SKILL.md": "", "b": "-> SKILL.md"}, CodeLink},
		{"no SKILL.md", map[string]string{"README.md": ""}, CodeNoSkillMD},
		{"collision", map[string]string{"SKILL.md": "", "a": "", "A": ""}, CodePathCollision},
		{"pointer", map[string]string{"SKILL.md": "", "a": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"}, CodeLFSPointer},
	}
	for _, tt := range tests {
		for format, pack := range map[Format]packFunc{TarGz: Pack, Zip: PackZip} {
			var buf bytes.Buffer
			sum, err := pack(&buf, mapFS(tt.files))
			if got := codeOf(t, err); got != tt.code || sum.Tree != "" || buf.Len() != 0 {
				t.Errorf("%s as %s: code %q, want %q; %d bytes written", tt.name, format, got, tt.code, buf.Len())
			}
		}
	}
}

// changing is a folder whose file "a" has another content each time it is opened.
type changing struct {
	fstest.MapFS
	opened  int
	content []string
}

func (c *changing) Open(name string) (fs.File, error) {
	if name == "a" {
		c.MapFS["a"].Data = []byte(c.content[min(c.opened, len(c.content)-1)])
		c.opened++
	}
	return c.MapFS.Open(name)
}

func TestPackNoticesChanges(t *testing.T) {
	for _, second := range []string{"chang", "longer than before", "two", ""} {
		for format, pack := range map[Format]packFunc{TarGz: Pack, Zip: PackZip} {
			fsys := &changing{MapFS: mapFS(map[string]string{"SKILL.md": "", "a": ""}), content: []string{"first", second}}
			if _, err := pack(io.Discard, fsys); codeOf(t, err) != CodeSize {
				t.Errorf("%q as %s: %v", second, format, err)
			}
		}
	}
}

func TestPackReportsWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	for limit := range 5 {
		for format, pack := range map[Format]packFunc{TarGz: Pack, Zip: PackZip} {
			w := &limited{left: limit * 50, err: full}
			if sum, err := pack(w, mapFS(example)); !errors.Is(err, full) || sum.Tree != "" {
				t.Errorf("%s, %d bytes: %v", format, limit*50, err)
			}
		}
	}
}

type limited struct {
	left int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, l.err
	}
	return len(p), nil
}

func TestFromFS(t *testing.T) {
	fsys := mapFS(map[string]string{
		"SKILL.md": "text", "run": "x text", "latest": "-> SKILL.md",
		".git/config": "", "sub/.git": "gitdir: elsewhere", "__pycache__/m.pyc": "", "sub/m.pyc": "", "__pycache__/evil/SKILL.md": "", ".DS_Store": "", "sub/.DS_Store": "",
		".gitignore": "",
	})
	rec := record(t)
	if err := FromFS(fsys, rec); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"SKILL.md": "text", "run": "x text", "latest": "-> SKILL.md", ".gitignore": "", "sub/m.pyc": "", "__pycache__/evil/SKILL.md": ""}
	if !maps.Equal(rec.files, want) {
		t.Errorf("got %v", rec.files)
	}

	for code, f := range map[string]*fstest.MapFile{
		CodeIrregular: {Mode: fs.ModeNamedPipe | 0o644},
		CodeSetID:     {Mode: fs.ModeSetuid | 0o755},
	} {
		fsys["odd"] = f
		if err := FromFS(fsys, record(t)); codeOf(t, err) != code {
			t.Errorf("%v: %v", f.Mode, err)
		}
	}
	delete(fsys, "odd")
	fsys[strings.Repeat("d/", MaxDepth)+"f"] = &fstest.MapFile{}
	if err := FromFS(fsys, record(t)); codeOf(t, err) != CodePathDeep {
		t.Errorf("deep: %v", err)
	}
	if err := FromFS(fstest.MapFS{"x": {}}, sinkFunc(func(io.Reader) error { return fs.ErrPermission })); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the sink's error became %v", err)
	}
}

func TestBelow(t *testing.T) {
	rec := record(t)
	if err := feed(Below("skills/pdf", rec), "README.md\nskills/pdf/SKILL.md\nskills/pdf/l -> SKILL.md\nskills/pdf-2/SKILL.md\nx -> README.md"); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(rec.files, map[string]string{"SKILL.md": "content of skills/pdf/SKILL.md", "l": "-> SKILL.md"}) {
		t.Errorf("got %v", rec.files)
	}
	if Below("", rec) != Sink(rec) {
		t.Error(`Below("") is another sink`)
	}
}

// How long does packing a skill of a dozen files take?
func BenchmarkPack(b *testing.B) {
	fsys := mapFS(example)
	for format, pack := range map[Format]packFunc{TarGz: Pack, Zip: PackZip} {
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := pack(io.Discard, fsys); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// And unpacking it?
func BenchmarkUnpack(b *testing.B) {
	for format, pack := range map[Format]packFunc{TarGz: Pack, Zip: PackZip} {
		data := packedExample(b, pack)
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Unpack(bytes.NewReader(data), int64(len(data)), format, NewGuard(nil, InstallLimits)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Below a directory the archive is another one, and the same bundle.
func TestPackBelow(t *testing.T) {
	var flat, below bytes.Buffer
	want, err := Pack(&flat, mapFS(example))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := PackBelow(&below, mapFS(example), "example")
	if err != nil || sum.Tree != want.Tree || bytes.Equal(flat.Bytes(), below.Bytes()) {
		t.Fatalf("tree %s, %v; want %s", sum.Tree, err, want.Tree)
	}
	g := NewGuard(nil, InstallLimits)
	top, err := Unpack(bytes.NewReader(below.Bytes()), int64(below.Len()), TarGz, g)
	if got, gerr := g.Close(); err != nil || gerr != nil || top != "example" || got.Tree != want.Tree {
		t.Errorf("unpacked %q, %s, %v, %v", top, got.Tree, err, gerr)
	}
	for _, top := range []string{"../x", "/x", "a/../b", ".git"} {
		if _, err := PackBelow(io.Discard, mapFS(example), top); err == nil {
			t.Errorf("packed below %q", top)
		}
	}
}
