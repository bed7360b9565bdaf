package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
	"io"
	"runtime"
	"testing"
)

func TestUnpackTop(t *testing.T) {
	tests := []struct {
		name  string
		names []string // of the archive, behind a SKILL.md for skillAt
		top   string
		want  string // one path of the sink
	}{
		{"at the root", []string{"SKILL.md", "d/x"}, "", "d/x"},
		{"below one directory", []string{"pdf-1.0/", "pdf-1.0/d/x", "pdf-1.0/SKILL.md"}, "pdf-1.0", "d/x"},
		{"with ./ in front", []string{"./", "./SKILL.md", "./d/", "./d/x"}, "", "d/x"},
		{"one directory with ./ in front", []string{"./pdf/", "./pdf/SKILL.md", "./pdf/d/x"}, "pdf", "d/x"},
		{"directory first, SKILL.md last", []string{"d/x", "d/SKILL.md", "SKILL.md"}, "", "d/x"},
		{"two directories", []string{"a/SKILL.md", "b/SKILL.md"}, "", "b/SKILL.md"},
		{"directories without files", []string{"d/", "d/e/"}, "d", ""},
	}
	for _, tt := range tests {
		var tarred, zipped bytes.Buffer
		tw, zw := tar.NewWriter(&tarred), zip.NewWriter(&zipped)
		for _, n := range tt.names {
			h := &tar.Header{Typeflag: tar.TypeReg, Name: n, Mode: 0o755}
			if n[len(n)-1] == '/' {
				h.Typeflag = tar.TypeDir
			}
			tw.WriteHeader(h)
			zw.Create(n)
		}
		tw.Close()
		zw.Close()
		for format, data := range map[Format][]byte{Tar: tarred.Bytes(), TarGz: gzipOf(t, tarred.Bytes()), Zip: zipped.Bytes()} {
			if got := Detect(data[:min(512, len(data))]); got != format {
				t.Errorf("%s: Detect = %q, want %q", tt.name, got, format)
			}
			rec := record(t)
			top, err := Unpack(bytes.NewReader(data), int64(len(data)), format, rec)
			if err != nil || top != tt.top {
				t.Errorf("%s, %s: top %q, %v", tt.name, format, top, err)
			}
			if _, ok := rec.files[tt.want]; !ok && tt.want != "" {
				t.Errorf("%s, %s: no %s in %v", tt.name, format, tt.want, rec.files)
			}
		}
	}
}

func TestUnpackFormats(t *testing.T) {
	for _, head := range []string{"", "PK", "---\nname: x\n", "\x1f\x8b", "Rar!\x1a\x07"} {
		if f := Detect([]byte(head)); f != "" {
			t.Errorf("Detect(%q) = %q", head, f)
		}
	}
	if _, err := Unpack(bytes.NewReader(nil), 0, "", record(t)); codeOf(t, err) != CodeArchive {
		t.Errorf("no format: %v", err)
	}
	for _, f := range []Format{Tar, TarGz, Zip} {
		if _, err := Unpack(bytes.NewReader(nil), MaxArchiveBytes+1, f, record(t)); codeOf(t, err) != CodeTooBig {
			t.Errorf("a large %s: %v", f, err)
		}
	}
	// An archive in an archive is a file.
	inner := zipOf(t)
	rec := record(t)
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "inner.zip", Size: int64(len(inner))})
	w.Write(inner)
	w.Close()
	if _, err := Unpack(bytes.NewReader(buf.Bytes()), int64(buf.Len()), Tar, rec); err != nil || rec.files["inner.zip"] != string(inner) {
		t.Errorf("nested: %v, %d files", err, len(rec.files))
	}
}

// An archive that git wrote starts with a global header, which is no file.
func TestUnpackGlobalHeader(t *testing.T) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "0123"}})
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "repo-main/SKILL.md"})
	w.Close()
	rec := record(t)
	top, err := Unpack(bytes.NewReader(buf.Bytes()), int64(buf.Len()), Tar, rec)
	if err != nil || top != "repo-main" || len(rec.files) != 1 {
		t.Errorf("top %q, files %v, %v", top, rec.files, err)
	}
}

// repeated is a ReaderAt of head, then body n times, then tail, that counts what is read.
type repeated struct {
	head, body, tail []byte
	n                int64
	read             int64
}

func (r *repeated) size() int64 {
	return int64(len(r.head)) + r.n*int64(len(r.body)) + int64(len(r.tail))
}

func (r *repeated) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		var part []byte
		rest := off + int64(n)
		switch bodies := r.n * int64(len(r.body)); {
		case rest < int64(len(r.head)):
			part = r.head[rest:]
		case rest-int64(len(r.head)) < bodies:
			part = r.body[(rest-int64(len(r.head)))%int64(len(r.body)):]
		case rest < r.size():
			part = r.tail[rest-int64(len(r.head))-bodies:]
		default:
			return n, io.EOF
		}
		n += copy(p[n:], part)
		r.read += int64(len(part))
	}
	return n, nil
}

const mib = 1 << 20

// bombs unpack to 10 GiB: a gzip of many members, and a zip entry of many blocks. The zip
// tells the truth or announces 4 bytes.
func bombs(t testing.TB) map[string]*repeated {
	const block = 64 * mib
	const n = 160
	zeros := make([]byte, block)
	var head bytes.Buffer
	w := tar.NewWriter(&head)
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "SKILL.md", Size: 7 << 30, Mode: 0o644})
	out := map[string]*repeated{"tar.gz": {head: gzipOf(t, head.Bytes()), body: gzipOf(t, zeros), n: n}}

	var packed bytes.Buffer
	fw, _ := flate.NewWriter(&packed, flate.BestSpeed)
	fw.Write(zeros)
	fw.Flush()
	final := []byte{1, 0, 0, 0xff, 0xff} // an empty stored block, the last
	for name, size := range map[string]uint64{"zip": n * block, "zip that lies": 4} {
		// The archive is written with the blocks once, then cut open around them.
		r := &repeated{body: packed.Bytes(), n: n}
		var buf bytes.Buffer
		zw := zip.NewWriter(&buf)
		e, err := zw.CreateRaw(&zip.FileHeader{Name: "SKILL.md", Method: zip.Deflate, UncompressedSize64: size,
			CompressedSize64: n*uint64(packed.Len()) + 5, CRC32: crc32.ChecksumIEEE(nil) + 1})
		if err != nil {
			t.Fatal(err)
		}
		zw.Flush()
		r.head = bytes.Clone(buf.Bytes())
		io.CopyN(e, &zerosReader{}, n*int64(packed.Len())+5) // moves the offset of the directory
		zw.Flush()
		before := buf.Len()
		zw.Close()
		r.tail = append(final, buf.Bytes()[before:]...)
		out[name] = r
	}
	return out
}

type zerosReader struct{}

func (zerosReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// drop is a Sink that reads everything and keeps nothing: without a Guard, Unpack is alone.
type drop struct{}

func (drop) File(_ string, _ bool, _ int64, r io.Reader) error {
	_, err := io.Copy(io.Discard, struct{ io.Reader }{r})
	return err
}
func (drop) Link(string, string) error { return nil }

// 10 GiB of zeros cost kilobytes to refuse, whoever the sink is.
func TestBombs(t *testing.T) {
	guard := func() Sink { return NewGuard(nil, InstallLimits) }
	alone := func() Sink { return drop{} }
	tests := []struct {
		bomb, sinkName string
		sink           func() Sink
		format         Format
		code           string
	}{
		{"tar.gz", "drop", alone, TarGz, CodeRatio},
		{"tar.gz", "guard", guard, TarGz, CodeTooBig},
		{"zip", "drop", alone, Zip, CodeTooBig},
		{"zip", "guard", guard, Zip, CodeTooBig},
		{"zip that lies", "drop", alone, Zip, CodeSize},
		{"zip that lies", "guard", guard, Zip, CodeSize},
	}
	all := bombs(t)
	for _, tt := range tests {
		t.Run(tt.bomb+", "+tt.sinkName, func(t *testing.T) {
			r := all[tt.bomb]
			r.read = 0
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Unpack(r, r.size(), tt.format, tt.sink())
			runtime.ReadMemStats(&after)
			if got := codeOf(t, err); got != tt.code {
				t.Errorf("code %q, want %q (%v)", got, tt.code, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 8*mib {
				t.Errorf("%d bytes were allocated in all", got)
			}
			if r.read > r.size()/4 {
				t.Errorf("%d of %d bytes were read", r.read, r.size())
			}
		})
	}
}

// checkUnpack holds for all bytes: refused with a code, or a bundle that packs and unpacks to itself.
func checkUnpack(t *testing.T, data []byte, format Format) {
	rec := record(t)
	_, err := Unpack(bytes.NewReader(data), int64(len(data)), format, rec)
	codeOf(t, err)
	if rec.bytes > MaxArchiveBytes || len(rec.files) > MaxArchiveEntries {
		t.Errorf("the sink was given %d entries, %d bytes", len(rec.files), rec.bytes)
	}
	if err != nil {
		return
	}
	g := NewGuard(nil, InstallLimits)
	if _, err := Unpack(bytes.NewReader(data), int64(len(data)), format, g); err != nil {
		codeOf(t, err)
		return
	}
	sum, err := g.Close()
	if err != nil {
		codeOf(t, err)
		return
	}
	fsys := mapFS(rec.files)
	for _, e := range sum.Entries {
		if e.Kind == Link || Residue(e.Path) {
			return // not packed
		}
	}
	var packed bytes.Buffer
	again, err := Pack(&packed, fsys)
	if codeOf(t, err) == CodePathCollision {
		return // not packed either
	}
	if err != nil || again.Tree != sum.Tree {
		t.Fatalf("packed again: %v, tree %s, want %s", err, again.Tree, sum.Tree)
	}
	if got := unpackedTree(t, packed.Bytes(), TarGz); got != sum.Tree {
		t.Errorf("unpacked again the tree is %s, want %s", got, sum.Tree)
	}
}

func FuzzUnpackTar(f *testing.F) {
	for _, h := range hostileTars(f) {
		if len(h.data) < 8<<10 { // small ones are mutated faster
			f.Add(h.data, h.format == TarGz)
		}
	}
	f.Add(packedExample(f, Pack), true)
	f.Fuzz(func(t *testing.T, data []byte, gz bool) {
		if gz {
			checkUnpack(t, data, TarGz)
		} else {
			checkUnpack(t, mendChecksums(data), Tar)
		}
	})
}

// mendChecksums lets changed headers through to what reads them.
func mendChecksums(data []byte) []byte {
	data = bytes.Clone(data)
	for i := 0; i+512 <= len(data); i += 512 {
		if block := data[i : i+512]; string(block[257:262]) == "ustar" {
			mendChecksum(block)
		}
	}
	return data
}

func FuzzUnpackZip(f *testing.F) {
	for _, h := range hostileZips(f) {
		if len(h.data) < 8<<10 { // small ones are mutated faster
			f.Add(h.data)
		}
	}
	f.Add(packedExample(f, PackZip))
	f.Fuzz(func(t *testing.T, data []byte) { checkUnpack(t, data, Zip) })
}
