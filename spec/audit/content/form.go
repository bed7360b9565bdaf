package content

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
)

// Limits of what is unpacked.
const (
	maxArchives = 3 // in each other
	maxEntries  = 2000
)

// A magic is how files of a kind start.
type magic struct{ start, kind string }

// compiled are programs that nobody can review.
var compiled = []magic{{"\x7fELF", "ELF"}, {"\xcf\xfa\xed\xfe", "Mach-O"}, {"\xce\xfa\xed\xfe", "Mach-O"}, {"\xfe\xed\xfa\xcf", "Mach-O"}, {"\xfe\xed\xfa\xce", "Mach-O"}, {"\xca\xfe\xba\xbe", "Java or Mach-O"}, {"\x00asm", "WebAssembly"},
	{"dex\n03", "Dalvik"}, {"BC\xc0\xde", "LLVM"}, {"\x1bLua", "Lua"}, {"!<arch>\n", "object library"}, {"\x4c\x00\x00\x00\x01\x14\x02\x00", "Windows shortcut"}, {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "OLE"}}

// media are files that are shown, heard or printed.
var media = []magic{{"\x89PNG\r\n\x1a\n", "PNG"}, {"\xff\xd8\xff", "JPEG"}, {"GIF87a", "GIF"}, {"GIF89a", "GIF"}, {"RIFF", "RIFF"}, {"%PDF-", "PDF"}, {"OTTO", "font"}, {"\x00\x01\x00\x00\x00", "font"}, {"true\x00", "font"}, {"ttcf", "font"}, {"wOFF", "font"}, {"wOF2", "font"},
	{"\x00\x00\x01\x00", "icon"}, {"ID3", "MP3"}, {"\xff\xfb", "MP3"}, {"OggS", "Ogg"}, {"fLaC", "FLAC"}, {"\x1aE\xdf\xa3", "Matroska"}, {"SQLite format 3\x00", "SQLite"}, {"BM", "BMP"}, {"II*\x00", "TIFF"}, {"MM\x00*", "TIFF"}, {"8BPS", "PSD"}}

// archives are files that hold files.
var archives = []magic{{"PK\x03\x04", "zip"}, {"PK\x05\x06", "zip"}, {"\x1f\x8b", "gzip"}, {"7z\xbc\xaf\x27\x1c", "7z"}, {"Rar!\x1a", "rar"}, {"\xfd7zXZ\x00", "xz"}, {"BZh", "bzip2"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"MSCF", "cabinet"}}

func starts(data []byte, list []magic) string {
	for _, m := range list {
		if len(data) >= len(m.start) && string(data[:len(m.start)]) == m.start {
			return m.kind
		}
	}
	return ""
}

// isProgram is the kind of a compiled program, "" for none.
func isProgram(name string, data []byte) string {
	if k := starts(data, compiled); k != "" {
		return k
	}
	if len(data) > 64 && data[0] == 'M' && data[1] == 'Z' {
		at := int(data[60]) | int(data[61])<<8 | int(data[62])<<16
		if data[2] == 0x90 || at+4 <= len(data) && string(data[at:at+2]) == "PE" {
			return "Windows program"
		}
	}
	if isPython(data) {
		return "compiled Python"
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".pyc", ".pyo":
		return "compiled Python"
	}
	return ""
}

// isPython reports whether data is a module that a Python compiled: the number of a version, the end of a line of DOS, and a code object behind the
// two, three or four words of the header. Text that is random has the first two of these once in 65,536 times.
func isPython(data []byte) bool {
	if len(data) < 32 || data[2] != '\r' || data[3] != '\n' {
		return false
	}
	version := int(data[0]) | int(data[1])<<8
	switch {
	case version < 600: // of PyPy
	case version >= 3000 && version < 4000: // from 3.0 on
	case version >= 62011 && version < 62300: // 2.3 to 2.7
	case version == 20121 || version == 50428 || version == 50823 || version == 60202 || version == 60717: // 1.5 to 2.2
	default:
		return false
	}
	code := func(at int) bool { return data[at]&0x7f == 'c' }
	return code(8) || code(12) || code(16)
}

// A list is words with blanks around them.
type list string

func (l list) has(word string) bool {
	return word != "" && strings.Contains(string(l), " "+word+" ")
}

const (
	textual  list = " .md .mdx .markdown .txt .rst .py .sh .bash .zsh .js .mjs .cjs .ts .tsx .jsx .json .yaml .yml .toml .csv .tsv .html .htm .css .go .rb .rs .java .c .h .cpp .cs .php .pl .lua .r .sql .xml .svg .ini .cfg .conf .ps1 .psm1 .bat .cmd .jsonl .tex .dockerfile .swift .kt "
	pictures list = " .png .jpg .jpeg .gif .webp .bmp .ico .tiff .tif .avif .heic .mp3 .mp4 .wav .ogg .ttf .otf .woff .woff2 .pdf .mov .webm .flac "
	scripts  list = " .sh .bash .py .js .mjs .cjs .ts .ps1 .bat .cmd .exe .scr .com .vbs .vbe .rb .pl .php .hta .jar .msi .dll .so .dylib .command .lnk "
	shown    list = " .pdf .doc .docx .xls .xlsx .png .jpg .jpeg .gif .mp3 .mp4 "
	office   list = " .docx .xlsx .pptx .odt .ods .odp .epub .dotx .potx .xltx .vsdx "
)

// form judges what a file is, and returns its text if it is one.
func (s *scan) form(f audit.File) (text []byte, readable bool) {
	data, ext := f.Data, strings.ToLower(path.Ext(f.Path))
	if len(data) == 0 {
		return nil, false
	}
	unread := func(why string) ([]byte, bool) {
		s.coverage.Unread = append(s.coverage.Unread, Unread{s.path, len(data), why})
		return nil, false
	}
	if kind := isProgram(f.Path, data); kind != "" {
		s.add("AUD-COMPILED", Refuse, 1, 0, "compiled code ("+kind+"), which nobody can review", path.Base(f.Path))
		return unread("compiled code")
	}
	if kind := starts(data, archives); kind != "" {
		if textual.has(ext) || pictures.has(ext) {
			s.add("AUD-MAGIC", Refuse, 1, 0, "an archive ("+kind+") whose name ends in "+ext, path.Base(f.Path))
		}
		s.archive(data, kind, 1)
		return nil, false
	}
	kind := starts(data, media)
	if kind != "" && !(kind == "BMP" && utf8.Valid(data)) {
		if textual.has(ext) && !(kind == "PDF" && utf8.Valid(data)) {
			s.add("AUD-MAGIC", Refuse, 1, 0, kind+" data in a file whose name ends in "+ext, path.Base(f.Path))
		}
		s.polyglot(data, kind)
		s.coverage.Read += int64(len(data))
		return nil, false
	}
	if text, ok := asText(data); ok {
		s.polyglot(data, "text")
		if pictures.has(ext) && !bytes.HasPrefix(text, []byte("version https://git-lfs")) && len(text) > 32 {
			severity, what := High, "text"
			head := bytes.ToLower(text[:min(len(text), 300)])
			for _, code := range []string{"#!", "<?php", "<script", "<html", "import ", "function ", "powershell"} {
				if bytes.Contains(head, []byte(code)) {
					severity, what = Refuse, "code"
				}
			}
			s.add("AUD-MAGIC", severity, 1, 0, what+" in a file whose name ends in "+ext, string(head))
		}
		return text, true
	}
	if len(data) > 262 && string(data[257:262]) == "ustar" {
		s.archive(data, "tar", 1)
		return nil, false
	}
	if len(data) > 12 && (string(data[4:8]) == "ftyp" || string(data[4:8]) == "moov") {
		s.coverage.Read += int64(len(data))
		return nil, false
	}
	if textual.has(ext) {
		s.add("AUD-MAGIC", High, 1, 0, "binary data in a file whose name ends in "+ext, path.Base(f.Path))
	} else {
		s.add("AUD-UNREAD", s.rules.severity("AUD-UNREAD"), 1, 0, "binary data of no known kind", path.Base(f.Path))
	}
	return unread("binary data of no known kind")
}

// asText is the data as UTF-8, if it is a text: of UTF-16 with a mark, or of a code page with one byte for a letter, too.
func asText(data []byte) ([]byte, bool) {
	if len(data) > 2 && (data[0] == 0xff && data[1] == 0xfe || data[0] == 0xfe && data[1] == 0xff) {
		units := make([]uint16, 0, len(data)/2)
		for i := 2; i+1 < len(data); i += 2 {
			a, b := uint16(data[i]), uint16(data[i+1])
			if data[0] == 0xfe {
				a, b = b, a
			}
			units = append(units, a|b<<8)
		}
		return []byte(string(utf16.Decode(units))), true
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, false
	}
	if utf8.Valid(data) {
		return data, true
	}
	control := 0
	for _, c := range data {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b {
			control++
		}
	}
	if control*200 > len(data) {
		return nil, false
	}
	out := make([]byte, 0, len(data)+len(data)/8)
	for len(data) > 0 {
		r, w := utf8.DecodeRune(data)
		if r == utf8.RuneError && w == 1 {
			r = rune(data[0])
		}
		out, data = utf8.AppendRune(out, r), data[w:]
	}
	return out, true
}

// polyglot finds a second file in a file.
func (s *scan) polyglot(data []byte, kind string) {
	tail := data[max(0, len(data)-70000):]
	if i := bytes.LastIndex(tail, []byte("PK\x05\x06")); i >= 0 && kind != "text" || i >= 0 && len(tail)-i < 64 {
		if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil && len(z.File) > 0 {
			s.add("AUD-POLYGLOT", Refuse, 1, 0, "a file that is "+kind+" and a zip archive of "+diag.Count(len(z.File), "file"), z.File[0].Name)
		}
	}
	end := -1
	switch kind {
	case "PNG":
		if i := bytes.LastIndex(data, []byte("IEND\xaeB`\x82")); i >= 0 {
			end = i + 8
		}
	case "JPEG":
		if i := bytes.LastIndex(data, []byte("\xff\xd9")); i >= 0 {
			end = i + 2
		}
	case "GIF":
		end = bytes.LastIndexByte(data, ';') + 1
	case "PDF":
		if i := bytes.LastIndex(data, []byte("%%EOF")); i >= 0 {
			end = i + 5
		}
	}
	if end < 0 || end >= len(data) {
		return
	}
	rest := bytes.TrimLeft(data[end:], "\x00\r\n\t ")
	if len(rest) < 16 {
		return
	}
	code := isProgram("", rest) != "" || starts(rest, archives) != ""
	for _, mark := range []string{"#!", "<?php", "<script", "<html"} {
		code = code || bytes.HasPrefix(bytes.ToLower(rest[:min(len(rest), 10)]), []byte(mark))
	}
	if code {
		s.add("AUD-POLYGLOT", Refuse, 1, 0, "code behind the end of the "+kind+" data", string(rest[:min(len(rest), 40)]))
		return
	}
	if text, ok := asText(rest); ok {
		s.add("AUD-POLYGLOT", Medium, 1, 0, "text behind the end of the "+kind+" data", string(text[:min(len(text), maxEvidence)]))
		s.inner(1, kind+" data", text)
	}
}

// archive looks into an archive: compiled code and encryption are found, texts are read.
func (s *scan) archive(data []byte, kind string, depth int) {
	inside := func(why string) {
		s.coverage.Unread = append(s.coverage.Unread, Unread{s.path, len(data), why})
		s.add("AUD-ARCHIVE", s.rules.severity("AUD-ARCHIVE"), 1, 0, "an archive that is not read: "+why, path.Base(s.path))
	}
	if depth > maxArchives {
		inside("it is nested too deep")
		return
	}
	entry := func(name string, r io.Reader) error {
		limit := min(s.budget, 8<<20)
		part, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
		if len(part) > limit {
			inside("it unpacks to too much")
			return errTooMuch
		}
		s.budget -= len(part)
		s.entry(name, part, depth)
		return err
	}
	var err error
	switch kind {
	case "zip":
		var z *zip.Reader
		if z, err = zip.NewReader(bytes.NewReader(data), int64(len(data))); err != nil {
			inside("it is damaged")
			return
		}
		for i, f := range z.File {
			if i == maxEntries {
				inside("it has more than 2,000 entries")
				return
			}
			if f.Flags&1 != 0 {
				s.add("AUD-ARCHIVE", High, 1, 0, "an archive with a password, which nobody can look into", f.Name)
				inside("it has a password")
				return
			}
			if f.FileInfo().IsDir() {
				continue
			}
			r, err := f.Open()
			if err != nil {
				inside("an entry is damaged")
				return
			}
			err = entry(f.Name, r)
			r.Close()
			if err != nil {
				if err != errTooMuch {
					inside("an entry is damaged")
				}
				return
			}
		}
		s.coverage.Read += int64(len(data))
		if !office.has(strings.ToLower(path.Ext(s.path))) {
			s.add("AUD-ARCHIVE", s.rules.severity("AUD-ARCHIVE"), 1, 0, "an archive of "+diag.Count(len(z.File), "file"), path.Base(s.path))
		}
		return
	case "gzip":
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err != nil {
			inside("it is damaged")
			return
		}
		err = entry(strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".gz"), ".tgz"), z)
	case "tar":
		t := tar.NewReader(bytes.NewReader(data))
		for n := 0; err == nil && n < maxEntries; n++ {
			var h *tar.Header
			if h, err = t.Next(); err == nil && h.Typeflag == tar.TypeReg {
				err = entry(h.Name, t)
			}
		}
		if err == io.EOF {
			err = nil
		}
	default:
		inside("its format is " + kind)
		return
	}
	if err != nil && err != errTooMuch {
		inside("it is damaged")
		return
	}
	s.coverage.Read += int64(len(data))
	s.add("AUD-ARCHIVE", s.rules.severity("AUD-ARCHIVE"), 1, 0, "an archive ("+kind+")", path.Base(s.path))
}

var errTooMuch = errors.New("too much")

// entry reads a file of an archive. Findings are at the archive.
func (s *scan) entry(name string, data []byte, depth int) {
	switch kind := isProgram(name, data); {
	case kind != "":
		s.add("AUD-COMPILED", Refuse, 1, 0, "compiled code ("+kind+") in an archive", name)
		return
	case strings.HasSuffix(strings.ToLower(name), "vbaproject.bin"):
		s.add("AUD-COMPILED", Refuse, 1, 0, "macros in a document", name)
		return
	}
	if kind := starts(data, archives); kind != "" {
		s.archive(data, kind, depth+1)
		return
	}
	if len(data) > 262 && string(data[257:262]) == "ustar" {
		s.archive(data, "tar", depth)
		return
	}
	if text, ok := asText(data); ok {
		s.within(1, "archive", name, text)
	}
}

// name judges the name of a file.
func (s *scan) name(name string) {
	refuse := func(what string) { s.add("AUD-PATH", Refuse, 1, 0, what, name) }
	for _, q := range name {
		if q >= 0x200b && q <= 0x200f || q >= 0x202a && q <= 0x202e || q >= 0x2060 && q <= 0x206f || q == 0xfeff || q == 0xad || q >= 0xe0000 && q <= 0xe01ef {
			refuse("a name with characters that people cannot see")
			break
		}
	}
	for _, one := range strings.Split(name, "/") {
		if strings.Contains(one, "   ") {
			refuse("a name with a row of blanks")
		}
		if mixed(one) {
			s.add("AUD-PATH", High, 1, 0, "a name with letters of several scripts that look alike", one)
		}
		lower := strings.ToLower(one)
		ext := path.Ext(lower)
		if before := path.Ext(strings.TrimSuffix(lower, ext)); scripts.has(ext) && shown.has(before) {
			s.add("AUD-PATH", High, 1, 0, "a program whose name looks like that of a document", one)
		}
	}
	base := path.Base(name)
	if base[0] == '.' && scripts.has(path.Ext(base)) && path.Ext(base) != base && !strings.Contains(base, "rc.") && !strings.Contains(base, "config.") {
		s.add("AUD-PATH", Medium, 1, 0, "a script that listings of files do not show", name)
	}
}

// mixed reports whether a word has Latin letters and ones of another script that look like them.
func mixed(word string) bool {
	plain, alike := false, false
	for _, q := range word {
		if q|0x20 >= 'a' && q|0x20 <= 'z' {
			plain = true
		} else if q >= utf8.RuneSelf && q >= 0x370 && latin(q) != q {
			alike = true
		} else if q >= 0x370 && q < 0x2000 {
			return false // a word of that script
		}
	}
	return plain && alike
}
