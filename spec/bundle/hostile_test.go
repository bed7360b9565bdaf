package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
	"testing"
)

// A hostile archive must be refused, with this code.
type hostile struct {
	name   string // "…, late" if it is known only behind its evil entry
	format Format
	data   []byte
	code   string
}

// file is the header of a file with 4 bytes.
func file(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 4, Mode: 0o644}
}

func with(h *tar.Header, change func(h *tar.Header)) *tar.Header { change(h); return h }

// tarOf writes entries behind a SKILL.md. Their content is "evil" up to their size.
func tarOf(t testing.TB, entries ...*tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.WriteHeader(file("SKILL.md")); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "text")
	for _, h := range entries {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, strings.Repeat("evil", int(h.Size/4))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// editHeader changes the header block of name and mends its checksum.
func editHeader(data []byte, name string, edit func(block []byte)) []byte {
	data = bytes.Clone(data)
	for i := 0; i+512 <= len(data); i += 512 {
		block := data[i : i+512]
		if !bytes.HasPrefix(block, append([]byte(name), 0)) {
			continue
		}
		edit(block)
		mendChecksum(block)
		return data
	}
	panic("no entry " + name)
}

func mendChecksum(block []byte) {
	copy(block[148:156], "        ")
	sum := 0
	for _, c := range block {
		sum += int(c)
	}
	copy(block[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

func gzipOf(t testing.TB, data ...[]byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	for _, d := range data {
		w.Write(d)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// zipOf writes entries with the content "evil"; the first is a SKILL.md.
func zipOf(t testing.TB, entries ...*zip.FileHeader) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, h := range append([]*zip.FileHeader{{Name: "SKILL.md"}}, entries...) {
		e, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, "/") {
			io.WriteString(e, "evil")
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zipMode(name string, mode fs.FileMode) *zip.FileHeader {
	h := &zip.FileHeader{Name: name}
	h.SetMode(mode)
	return h
}

// zipRaw writes one entry "evil" with a header that is not made from its content.
func zipRaw(t testing.TB, packed []byte, h zip.FileHeader) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	e, _ := w.Create("SKILL.md")
	io.WriteString(e, "text")
	h.Name = "evil"
	if h.CompressedSize64 == 0 {
		h.CompressedSize64 = uint64(len(packed))
	}
	raw, err := w.CreateRaw(&h)
	if err != nil {
		t.Fatal(err)
	}
	raw.Write(packed)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func deflated(data []byte) []byte {
	var buf bytes.Buffer
	w, _ := flate.NewWriter(&buf, flate.BestSpeed)
	w.Write(data)
	w.Close()
	return buf.Bytes()
}

// overlapping is a zip whose directory names the same stored bytes twice.
func overlapping(t testing.TB) []byte {
	data := zipRaw(t, []byte("evil"), zip.FileHeader{Method: zip.Store, UncompressedSize64: 4, CRC32: crc32.ChecksumIEEE([]byte("evil"))})
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	second := bytes.Clone(data[at:end])
	copy(second[46:], "liar")
	out := bytes.Clone(data[:end])
	out = append(out, second...)
	out = append(out, data[end:]...)
	record := out[end+len(second):]
	binary.LittleEndian.PutUint16(record[8:], 3)
	binary.LittleEndian.PutUint16(record[10:], 3)
	binary.LittleEndian.PutUint32(record[12:], binary.LittleEndian.Uint32(record[12:])+uint32(len(second)))
	return out
}

func hostileTars(t testing.TB) []hostile {
	sparse := tarOf(t, with(file("evil"), func(h *tar.Header) {
		h.PAXRecords = map[string]string{"XXX.sparse.map": "0,4", "XXX.sparse.numblocks": "1", "XXX.sparse.size": "4"}
	}))
	pax := tarOf(t, with(file("evil"), func(h *tar.Header) { h.PAXRecords = map[string]string{"VENDOR.size": "4"} }))
	typed := func(name string, flag byte) []byte {
		return tarOf(t, with(file(name), func(h *tar.Header) { h.Typeflag, h.Size, h.Linkname = flag, 0, "SKILL.md" }))
	}
	link := func(target string) []byte {
		return tarOf(t, with(file("evil"), func(h *tar.Header) { h.Typeflag, h.Size, h.Linkname = tar.TypeSymlink, 0, target }))
	}
	mode := func(mode int64) []byte { return tarOf(t, with(file("evil"), func(h *tar.Header) { h.Mode = mode })) }
	through := func(order ...int) []byte {
		both := []*tar.Header{{Typeflag: tar.TypeSymlink, Name: "dir", Linkname: "SKILL.md"}, file("dir/evil")}
		return tarOf(t, both[order[0]], both[order[1]])
	}
	plain := tarOf(t, file("evil"))
	return []hostile{
		{"traversal", Tar, tarOf(t, file("../evil")), CodePathTraversal},
		{"traversal inside", Tar, tarOf(t, file("a/../../evil")), CodePathTraversal},
		{"traversal of a directory", Tar, typed("../evil/", tar.TypeDir), CodePathTraversal},
		{"absolute", Tar, tarOf(t, file("/evil")), CodePathAbsolute},
		{"drive", Tar, tarOf(t, file("C:/evil")), CodePathDrive},
		{"backslash", Tar, tarOf(t, file(`..\evil`)), CodePathBackslash},
		{"escape sequence", Tar, tarOf(t, file("evil\x1b]8;;")), CodePathControl},
		{"not UTF-8", Tar, editHeader(plain, "evil", func(b []byte) { b[4] = 0xff }), CodePathUTF8},
		{"repository", Tar, tarOf(t, file(".git/hooks/evil")), CodePathGit},
		{"case collision", Tar, tarOf(t, file("a"), file("A")), CodePathCollision},
		{"NFC collision", Tar, tarOf(t, file("\u00fc"), file("u\u0308")), CodePathCollision},
		{"duplicate", Tar, tarOf(t, file("SKILL.md")), CodeDuplicate},
		{"link out", Tar, link("../../etc/passwd"), CodeLinkEscape},
		{"link to an absolute path", Tar, link("/etc/passwd"), CodeLinkEscape},
		{"link to a directory", Tar, link("."), CodeLinkBroken},
		{"link, then a write through it", Tar, through(0, 1), CodePathConflict},
		{"a write, then the link, late", Tar, through(1, 0), CodePathConflict},
		{"file in place of a directory", Tar, tarOf(t, &tar.Header{Typeflag: tar.TypeDir, Name: "evil/"}, file("evil")), CodePathConflict},
		{"hard link", Tar, typed("evil", tar.TypeLink), CodeIrregular},
		{"character device", Tar, typed("evil", tar.TypeChar), CodeIrregular},
		{"block device", Tar, typed("evil", tar.TypeBlock), CodeIrregular},
		{"pipe", Tar, typed("evil", tar.TypeFifo), CodeIrregular},
		{"contiguous file", Tar, editHeader(plain, "evil", func(b []byte) { b[156] = tar.TypeCont }), CodeIrregular},
		{"sparse file", Tar, bytes.ReplaceAll(sparse, []byte("XXX."), []byte("GNU.")), CodeIrregular},
		{"setuid", Tar, mode(0o4755), CodeSetID},
		{"setgid", Tar, mode(0o2755), CodeSetID},
		{"PAX size larger", Tar, bytes.Replace(pax, []byte("17 VENDOR.size=4\n"), []byte("17 size=00000512\n"), 1), CodeSize},
		{"PAX size smaller", Tar, bytes.Replace(pax, []byte("17 VENDOR.size=4\n"), []byte("17 size=00000000\n"), 1), CodeSize},
		{"checksum of the header", Tar, bytes.Replace(plain, []byte("evil\x00"), []byte("liar\x00"), 1), CodeArchive},
		{"cut short", Tar, plain[:512*3+2], CodeArchive},
		{"data behind the end, late", Tar, append(bytes.Clone(plain), "evil"...), CodeTrailing},
		{"data behind gzip, late", TarGz, append(gzipOf(t, plain), "evil evil evil"...), CodeTrailing},
		{"gzip checksum, late", TarGz, flip(gzipOf(t, plain), -6), CodeArchive},
		{"gzip cut short", TarGz, gzipOf(t, plain)[:60], CodeArchive},
		{"many directories", TarGz, gzipOf(t, tarOf(t, directories(MaxArchiveEntries)...)), CodeTooMany},
		{"bomb", TarGz, gzipOf(t, tarOf(t, with(file("evil"), func(h *tar.Header) { h.Size = 8 << 20 }))), CodeRatio},
	}
}

func directories(n int) (out []*tar.Header) {
	for i := range n {
		out = append(out, &tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("d%d/", i)})
	}
	return out
}

// flip changes one byte, counted from the end.
func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[len(data)+at] ^= 1
	return data
}

func hostileZips(t testing.TB) []hostile {
	name := func(names ...string) []byte {
		var hs []*zip.FileHeader
		for _, n := range names {
			hs = append(hs, &zip.FileHeader{Name: n})
		}
		return zipOf(t, hs...)
	}
	evil := []byte("evil")
	sum := crc32.ChecksumIEEE(evil)
	sized := func(method uint16, packed []byte, size uint64) []byte {
		return zipRaw(t, packed, zip.FileHeader{Method: method, UncompressedSize64: size, CRC32: sum})
	}
	link := func(target string) []byte {
		h := zip.FileHeader{Method: zip.Store, UncompressedSize64: uint64(len(target)), CRC32: crc32.ChecksumIEEE([]byte(target))}
		h.SetMode(fs.ModeSymlink | 0o777)
		return zipRaw(t, []byte(target), h)
	}
	bomb := make([]byte, 8<<20)
	plain := name("evil")
	return []hostile{
		{"traversal", Zip, name("../evil"), CodePathTraversal},
		{"absolute", Zip, name("/evil"), CodePathAbsolute},
		{"drive", Zip, name("C:/evil"), CodePathDrive},
		{"backslash", Zip, name(`a\..\..\evil`), CodePathBackslash},
		{"NUL", Zip, name("evil\x00.md"), CodePathNUL},
		{"case collision", Zip, name("a", "A"), CodePathCollision},
		{"NFC collision", Zip, zipOf(t, zipMode("\u00fc", 0o644), zipMode("u\u0308", 0o644)), CodePathCollision},
		{"duplicate", Zip, name("SKILL.md"), CodeDuplicate},
		{"link out", Zip, link("../evil"), CodeLinkEscape},
		{"link to nothing", Zip, link("nothing"), CodeLinkBroken},
		{"long link", Zip, link(strings.Repeat("a/", MaxPath)), CodeLinkTarget},
		{"device", Zip, zipOf(t, zipMode("evil", fs.ModeDevice|0o644)), CodeIrregular},
		{"pipe", Zip, zipOf(t, zipMode("evil", fs.ModeNamedPipe|0o644)), CodeIrregular},
		{"setuid", Zip, zipOf(t, zipMode("evil", fs.ModeSetuid|0o755)), CodeSetID},
		{"encrypted", Zip, zipRaw(t, evil, zip.FileHeader{Method: zip.Store, Flags: 1, UncompressedSize64: 4, CRC32: sum}), CodeEncrypted},
		{"unusual method", Zip, sized(12, evil, 4), CodeArchive},
		{"shorter than announced", Zip, sized(zip.Deflate, deflated(evil), 400), CodeSize},
		{"longer than announced", Zip, sized(zip.Deflate, deflated(bomb), 4), CodeSize},
		{"stored with two sizes", Zip, sized(zip.Store, evil, 400), CodeSize},
		{"more than the archive", Zip, zipRaw(t, evil, zip.FileHeader{Method: zip.Deflate, CompressedSize64: 1 << 40, UncompressedSize64: 4}), CodeTooBig},
		{"impossible size", Zip, sized(zip.Deflate, deflated(evil), 1<<63), CodeTooBig},
		{"checksum", Zip, zipRaw(t, evil, zip.FileHeader{Method: zip.Store, UncompressedSize64: 4, CRC32: 1}), CodeArchive},
		{"checksum 0", Zip, zipRaw(t, evil, zip.FileHeader{Method: zip.Store, UncompressedSize64: 4}), CodeArchive},
		{"overlapping entries", Zip, overlapping(t), CodeOverlap},
		{"bomb", Zip, sized(zip.Deflate, deflated(bomb), uint64(len(bomb))), CodeRatio},
		{"data behind the end", Zip, append(bytes.Clone(plain), "evil"...), CodeTrailing},
		{"cut short", Zip, plain[:len(plain)-30], CodeArchive},
		{"many directories", Zip, zipOf(t, zipDirectories(MaxArchiveEntries)...), CodeTooMany},
		{"a directory that fills the memory", Zip, zipOf(t, zipDirectories(9*MaxArchiveEntries)...), CodeTooMany},
	}
}

func zipDirectories(n int) (out []*zip.FileHeader) {
	for i := range n {
		out = append(out, &zip.FileHeader{Name: fmt.Sprintf("d%d/", i)})
	}
	return out
}

// Each hostile archive is refused by its code, and its sink gets nothing that is named evil.
func TestHostileArchives(t *testing.T) {
	for _, h := range append(hostileTars(t), hostileZips(t)...) {
		t.Run(string(h.format)+"/"+h.name, func(t *testing.T) {
			rec := record(t)
			g := NewGuard(rec, InstallLimits)
			g.Portable = h.code == CodePathCollision
			_, err := Unpack(bytes.NewReader(h.data), int64(len(h.data)), h.format, g)
			if err == nil {
				_, err = g.Close()
			}
			if got := codeOf(t, err); got != h.code {
				t.Errorf("code %q, want %q (%v)", got, h.code, err)
			}
			for p := range rec.files {
				if strings.Contains(p, "evil") && !strings.HasSuffix(h.name, ", late") {
					t.Errorf("the sink was given %q", p)
				}
			}
		})
	}
}
