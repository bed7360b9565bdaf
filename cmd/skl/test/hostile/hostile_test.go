package hostile

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/testdata/long"
)

// This file feeds the command line what an attacker would: each refusal has its code and
// exit status, and leaves project and home as they were (the caches and the store aside).

const hostileSkill = "---\nname: evil\ndescription: Looks harmless.\n---\n# Evil\n"

// An entry of an archive. Its body is text for files and the target for links.
type entry struct {
	name string
	kind byte // a tar type; 0 is a file
	mode int64
	body string
}

func skillAnd(more ...entry) []entry {
	return append([]entry{{name: "SKILL.md", body: hostileSkill}}, more...)
}

func tarGz(t *testing.T, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: e.mode, Size: int64(len(e.body))}
		switch e.kind {
		case 0:
			h.Typeflag, h.Mode = tar.TypeReg, 0o644|e.mode
		default:
			h.Linkname, h.Size = e.body, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			io.WriteString(w, e.body)
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t *testing.T, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		mode := fs.FileMode(0o644)
		if e.mode&0o4000 != 0 {
			mode |= fs.ModeSetuid
		}
		switch e.kind {
		case tar.TypeSymlink:
			mode |= fs.ModeSymlink
		case tar.TypeChar:
			mode |= fs.ModeDevice | fs.ModeCharDevice
		case tar.TypeFifo:
			mode |= fs.ModeNamedPipe
		}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, e.body)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHostileArchives(t *testing.T) {
	long.Slow(t)
	for _, c := range []struct {
		name, code string
		entries    []entry
	}{
		{"traversal", "PKG-PATH-TRAVERSAL", skillAnd(entry{name: "../../.bashrc", body: "touch owned"})},
		{"traversal inside", "PKG-PATH-TRAVERSAL", skillAnd(entry{name: "docs/../../x", body: "x"})},
		{"absolute", "PKG-PATH-ABSOLUTE", skillAnd(entry{name: "/etc/cron.d/x", body: "x"})},
		{"drive", "PKG-PATH-DRIVE", skillAnd(entry{name: "C:/Windows/x", body: "x"})},
		{"drive relative", "PKG-PATH-DRIVE", skillAnd(entry{name: "C:x", body: "x"})},
		{"backslash", "PKG-PATH-BACKSLASH", skillAnd(entry{name: `..\..\x`, body: "x"})},
		{"escape sequence", "PKG-PATH-CONTROL", skillAnd(entry{name: "docs/\x1b[2Jx", body: "x"})},
		{"right to left", "PKG-PATH-CONTROL", skillAnd(entry{name: "docs/\u202etxt.exe", body: "x"})},
		{"git", "PKG-PATH-GIT", skillAnd(entry{name: ".git/hooks/post-checkout", body: "x"})},
		{"git in another case", "PKG-PATH-GIT", skillAnd(entry{name: "sub/.GIT/config", body: "x"})},
		{"git short name", "PKG-PATH-GIT", skillAnd(entry{name: "GIT~1/config", body: "x"})},
		{"case", "PKG-PATH-COLLISION", skillAnd(entry{name: "skill.MD", body: "x"})},
		{"twice", "PKG-DUPLICATE", skillAnd(entry{name: "x", body: "x"}, entry{name: "x", body: "y"})},
		{"file and directory", "PKG-PATH-CONFLICT", skillAnd(entry{name: "x", body: "x"}, entry{name: "x/y", body: "y"})},
		{"trailing dot", "PKG-PATH-COLLISION", skillAnd(entry{name: "SKILL.md.", body: "x"})},
		{"stream", "PKG-PATH-COLLISION", skillAnd(entry{name: "SKILL.md::$DATA", body: "x"})},
		{"link out", "PKG-LINK-ESCAPE", skillAnd(entry{name: "docs/x", kind: tar.TypeSymlink, body: "../../../.ssh/id_ed25519"})},
		{"absolute link", "PKG-LINK-ESCAPE", skillAnd(entry{name: "x", kind: tar.TypeSymlink, body: "/etc/passwd"})},
		{"link to a directory", "PKG-LINK-BROKEN", skillAnd(entry{name: "docs/a", body: "x"}, entry{name: "x", kind: tar.TypeSymlink, body: "docs"})},
		{"link in a circle", "PKG-LINK-BROKEN", skillAnd(entry{name: "a", kind: tar.TypeSymlink, body: "b"}, entry{name: "b", kind: tar.TypeSymlink, body: "a"})},
		{"file below a link", "PKG-PATH-CONFLICT", skillAnd(entry{name: "d", kind: tar.TypeSymlink, body: "docs"}, entry{name: "d/x", body: "x"})},
		{"device", "PKG-IRREGULAR", skillAnd(entry{name: "null", kind: tar.TypeChar})},
		{"pipe", "PKG-IRREGULAR", skillAnd(entry{name: "pipe", kind: tar.TypeFifo})},
		{"set-user-id", "PKG-SETID", skillAnd(entry{name: "run.sh", mode: 0o4755, body: "x"})},
		{"lfs pointer", "PKG-LFS-POINTER", skillAnd(entry{name: "big.bin", body: "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 12\n"})},
		{"no skill", "no_skill", []entry{{name: "README.md", body: "x"}, {name: "x", body: "x"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			class := 4
			if c.code == "no_skill" {
				class = 2
			}
			refusesArchive(t, class, c.code, "evil.tar.gz", tarGz(t, c.entries))
			refusesArchive(t, class, c.code, "evil.skill", zipped(t, c.entries))
		})
	}
	// Tricks that only one of the two formats allows.
	refusesArchive(t, 4, "PKG-PATH-NUL", "evil.zip", zipped(t, skillAnd(entry{name: "run.sh\x00.txt", body: "x"})))
	refusesArchive(t, 4, "PKG-IRREGULAR", "evil.tar.gz", tarGz(t, skillAnd(entry{name: "hard", kind: tar.TypeLink, body: "SKILL.md"})))
	m := harness.NewMachine(t)
	m.Write("many.tar.gz", tarGz(t, skillAnd(many(5_001)...)))
	m.Refuses(4, "PKG-TOO-MANY", "install", "./many.tar.gz", "--dry-run")
}

func many(n int) []entry {
	var out []entry
	for i := range n {
		out = append(out, entry{name: "f/" + strconv.Itoa(i)})
	}
	return out
}

func refusesArchive(t *testing.T, status int, code, name string, data []byte) {
	t.Helper()
	m := harness.NewMachine(t)
	m.Write(name, data)
	m.Refuses(status, code, "install", "./"+name, "--host", "claude-code")
	m.Refuses(status, code, "install", "./"+name, "--all", "-y", "--force", "--dry-run")
	if _, _, stderr := m.Run("install", "./"+name); !strings.HasPrefix(stderr, "skl: ") {
		t.Errorf("the refusal for people is %q", stderr)
	}
}

// zeros writes a raw deflate stream of head, then n MiB of zeros, and returns its
// checksum. It costs as much as one MiB: the same compressed bytes are repeated.
func zeros(w io.Writer, head []byte, n int) (sum uint32) {
	var block bytes.Buffer
	f, _ := flate.NewWriter(&block, flate.BestCompression)
	mib := make([]byte, 1<<20)
	f.Write(head)
	f.Write(mib)
	f.Flush()
	w.Write(block.Bytes())
	sum = crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, mib)
	block.Reset()
	f.Write(mib)
	f.Flush()
	for range n - 1 {
		w.Write(block.Bytes())
		sum = crc32.Update(sum, crc32.IEEETable, mib)
	}
	block.Reset()
	f.Close()
	w.Write(block.Bytes())
	return sum
}

const bombMiB = 10 << 10 // 10 GiB

// gzipBomb is a tar.gz of 10 GiB with a SKILL.md and a file of zeros, in about 10 MB.
func gzipBomb(t *testing.T, path string) {
	var head bytes.Buffer
	w := tar.NewWriter(&head)
	w.WriteHeader(&tar.Header{Name: "SKILL.md", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(hostileSkill))})
	io.WriteString(w, hostileSkill)
	w.Flush()
	w.WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Mode: 0o644, Size: 8<<30 - 512})
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff})
	sum := zeros(f, head.Bytes(), bombMiB)
	binary.Write(f, binary.LittleEndian, []uint32{sum, uint32((int64(bombMiB)<<20 + int64(head.Len())) & 0xffffffff)})
}

// zipBomb is a zip with a SKILL.md and a file of 10 GiB, packed, that announces size bytes.
func zipBomb(t *testing.T, path string, packed []byte, sum uint32, size uint64) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := zip.NewWriter(f)
	md, _ := w.Create("SKILL.md")
	io.WriteString(md, hostileSkill)
	body, err := w.CreateRaw(&zip.FileHeader{Name: "zeros", Method: zip.Deflate, CRC32: sum, CompressedSize64: uint64(len(packed)), UncompressedSize64: size})
	if err != nil {
		t.Fatal(err)
	}
	body.Write(packed)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestHostileBombs unpacks bombs of 10 GiB: they are refused by what is really read, in
// less than 64 MiB of memory.
func TestHostileBombs(t *testing.T) {
	long.Slow(t)
	var packed bytes.Buffer
	sum := zeros(&packed, nil, bombMiB)
	nested := zipped(t, []entry{{name: "SKILL.md", body: hostileSkill}, {name: "inner.zip", body: string(zipped(t, []entry{{name: "zeros", body: strings.Repeat("\x00", 1<<20)}}))}})
	for _, c := range []struct {
		name, code string
		make       func(path string)
	}{
		{"bomb.tar.gz", "PKG-RATIO", func(path string) { gzipBomb(t, path) }},
		{"bomb.zip", "PKG-TOO-BIG", func(path string) { zipBomb(t, path, packed.Bytes(), sum, bombMiB<<20) }},
		{"small.zip", "PKG-SIZE", func(path string) { zipBomb(t, path, packed.Bytes(), sum, 1000) }},
		{"huge.skill", "PKG-TOO-BIG", func(path string) { zipBomb(t, path, packed.Bytes(), sum, 1<<50) }},
	} {
		m := harness.NewMachine(t)
		c.make(filepath.Join(m.Project, c.name))
		small(m, func() { m.Refuses(4, c.code, "install", "./"+c.name) })
	}
	// An archive in an archive is a file like others: it is never opened.
	m := harness.NewMachine(t)
	m.Write("nested.skill", nested)
	if status, _, stderr := m.Run("install", "./nested.skill"); status != 0 {
		t.Fatalf("exit %d: %s", status, stderr)
	}
	if got := harness.Listing(filepath.Join(m.Project, ".agents", "skills", "evil"), func(string) string { return "" }); len(got) != 3 {
		t.Errorf("the nested archive was unpacked: %q", got)
	}
}

// maxPeak is the memory that a refusal may take, in KiB, beyond what every start takes (most of which is the program's own file).
const maxPeak = 36 << 10

// small wants every skl that f runs to stay below maxPeak above a start.
func small(m *harness.Machine, f func()) {
	m.T.Helper()
	if runtime.GOOS != "linux" {
		f()
		m.T.Log("memory is not measured: there is no /proc")
		return
	}
	start := peakOf(m, func() { m.Run("version") })
	if peak := peakOf(m, f); peak > start+maxPeak {
		m.T.Errorf("the peak was %d KiB, want at most %d above the %d KiB of a start", peak, maxPeak, start)
	}
}

// peakOf is the most memory that any skl takes that f runs, in KiB.
func peakOf(m *harness.Machine, f func()) int {
	m.T.Helper()
	file := filepath.Join(m.T.TempDir(), "peak")
	env := m.Env
	m.Env = append(env[:len(env):len(env)], harness.PeakVariable+"="+file)
	f()
	m.Env = env
	text, err := os.ReadFile(file)
	if err != nil {
		m.T.Fatal(err)
	}
	kib, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		m.T.Fatal(err)
	}
	return kib
}

func evilSkill(nodes ...harness.Node) []harness.Node {
	return []harness.Node{harness.Dir("evil", append([]harness.Node{harness.File("SKILL.md", hostileSkill)}, nodes...)...)}
}

func link(name, target string) harness.Node {
	return harness.Node{Mode: "120000", Name: name, Text: target}
}

func TestHostileRepositories(t *testing.T) {
	long.Slow(t)
	f := harness.NewGitForge(t)
	for i, c := range []struct {
		name, code string
		nodes      []harness.Node
	}{
		{"dot dot", "PKG-PATH-TRAVERSAL", evilSkill(harness.Dir("..", harness.Dir("..", harness.File(".bashrc", "touch owned"))))},
		{"slash", "PKG-PATH-TRAVERSAL", evilSkill(harness.File("../../x", "x"))},
		{"dot git", "PKG-PATH-GIT", evilSkill(harness.Dir(".git", harness.Dir("hooks", harness.File("post-checkout", "x"))))},
		{"git of another case", "PKG-PATH-GIT", evilSkill(harness.Dir(".Git", harness.File("config", "x")))},
		{"git short name", "PKG-PATH-GIT", evilSkill(harness.Dir("git~1", harness.File("config", "x")))},
		{"backslash", "PKG-PATH-BACKSLASH", evilSkill(harness.File(`..\..\x`, "x"))},
		{"drive", "PKG-PATH-DRIVE", evilSkill(harness.File("C:x", "x"))},
		{"escape sequence", "PKG-PATH-CONTROL", evilSkill(harness.File("\x1b[2J", "x"))},
		{"newline", "PKG-PATH-CONTROL", evilSkill(harness.File("a\nb", "x"))},
		{"case", "PKG-PATH-COLLISION", evilSkill(harness.File("\u017fkill.md", "x"))},
		{"trailing dot", "PKG-PATH-COLLISION", evilSkill(harness.File("SKILL.md.", "x"))},
		{"link out", "PKG-LINK-ESCAPE", evilSkill(link("x", "../../../../.ssh/id_ed25519"))},
		{"absolute link", "PKG-LINK-ESCAPE", evilSkill(link("x", "/etc/passwd"))},
		{"link to a neighbour", "PKG-LINK-ESCAPE", append(evilSkill(link("x", "../secret")), harness.File("secret", "x"))},
		{"submodule", "PKG-SUBMODULE", append([]harness.Node{harness.File(".gitmodules", "[submodule \"x\"]\n\tpath = evil/x\n\turl = ext::sh -c touch% owned\n")},
			evilSkill(harness.Node{Mode: "160000", Name: "x", Id: strings.Repeat("1", 40)})...)},
		{"lfs pointer", "PKG-LFS-POINTER", evilSkill(harness.File("x", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("0", 64)+"\nsize 12\n"))},
		{"name out", "E_NAME_PATH", []harness.Node{harness.Dir("evil", harness.File("SKILL.md", strings.Replace(hostileSkill, "name: evil", "name: ../../evil", 1)))}},
		{"name with an escape sequence", "E_NAME_PATH", []harness.Node{harness.Dir("evil", harness.File("SKILL.md", strings.Replace(hostileSkill, "name: evil", `name: "evil\x1b[2J"`, 1)))}},
		{"bomb", "git_too_large", evilSkill(harness.File("zeros", strings.Repeat("\x00", 300<<20)))},
	} {
		repo := fmt.Sprintf("r%d", i)
		bare := f.Repository(repo, c.nodes)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, ref := range []string{"git+" + f.Http + "/" + repo + ".git", "git+file://" + filepath.ToSlash(bare)} {
				m := harness.NewMachine(t)
				small(m, func() { m.Refuses(4, c.code, "install", ref+"//evil", "--host", "claude-code") })
				small(m, func() { m.Refuses(4, c.code, "install", ref, "--dry-run") })
			}
		})
	}
}

// TestHostileText shows escape sequences and YAML bombs to every command that prints what a
// skill says: nothing of it reaches a terminal raw (machine.run looks at the bytes), and
// a skill that cannot be read hides none of the others.
func TestHostileText(t *testing.T) {
	long.Slow(t)
	f := harness.NewGitForge(t)
	red := "---\nname: red\ndescription: \"\\x1b]0;owned\\x07 \\x1b[31mred \\u202e \\u009b31m\"\nlicense: \"\\x1b[2J\"\nmetadata:\n  version: \"\\x1b[1m1.0\"\n---\n# Red\n!`echo \x1b[2J`\n"
	laughs := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", 'b'+i, 'b'+i, strings.Repeat(fmt.Sprintf("*%c, ", 'a'+i), 9)+"x")
	}
	f.Repository("text", []harness.Node{harness.Dir("skills",
		harness.Dir("alias", harness.File("SKILL.md", "---\nname: &n alias\ndescription: *n\n---\n")),
		harness.Dir("deep", harness.File("SKILL.md", "---\nname: deep\ndescription: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+"\n---\n")),
		harness.Dir("good", harness.File("SKILL.md", "---\nname: good\ndescription: Is fine.\n---\n")),
		harness.Dir("laughs", harness.File("SKILL.md", "---\n"+laughs+"name: laughs\ndescription: Bomb.\n---\n")),
		harness.Dir("long", harness.File("SKILL.md", "---\nname: long\ndescription: "+strings.Repeat("long ", 1<<20)+"\n---\n")),
		harness.Dir("merge", harness.File("SKILL.md", "---\nbase: &b {x: y}\n<<: *b\nname: merge\ndescription: x\n---\n")),
		harness.Dir("red", harness.File("SKILL.md", strings.ReplaceAll(red, ` \u202e`, ""))),
		harness.Dir("turned", harness.File("SKILL.md", strings.ReplaceAll(red, "name: red", "name: turned"))),
		harness.Dir("tag", harness.File("SKILL.md", "---\nname: !!python/object/apply:os.system [touch owned]\ndescription: x\n---\n")),
	)})
	ref := "git+" + f.Http + "/text.git"
	m := harness.NewMachine(t)
	small(m, func() {
		status, stdout, stderr := m.Run("install", ref, "-l")
		if status != 0 {
			t.Errorf("exit %d: %s", status, stderr)
		}
		for _, name := range []string{"alias", "deep", "laughs", "long", "merge", "tag"} {
			if !lineWith(stdout, "skills/"+name, "invalid") {
				t.Errorf("%s is not listed as invalid:\n%s", name, stdout)
			}
		}
	})
	m.Refuses(4, "load_commands", "install", ref, "red")
	m.Refuses(4, "content_refused", "install", ref, "turned") // nothing accepts what reorders text
	m.Refuses(3, "E_YAML", "install", ref, "laughs")
	status, stdout, stderr := m.Run("install", ref, "--all", "--host", "claude-code", "--accept", "load-command")
	if status != 3 || !strings.Contains(stdout, "add good") || !strings.Contains(stdout, "add red") || strings.Contains(stdout, "add laughs") || !strings.Contains(stdout, "held laughs") {
		t.Errorf("exit %d\n%s\n%s", status, stdout, stderr)
	}
	for _, args := range [][]string{{"list"}, {"list", "--all", "--fields", "name,version,description,path"}, {"info", "red"}, {"info", ref + "#red"}, {"verify"}, {"status"},
		{"check"}, {"doctor"}, {"lint", ".agents/skills/red"}, {"diff", "red"}, {"outdated"}, {"why", "red"}, {"read", "red", "--json"}, {"list", "--json"},
		{"which", "\x1b[2Jred"}, {"remove", "red\x1b[2J"}, {"install", "o/r\x1b[2J"}, {"\x1b[2J"}, {"--\x1b[2J"}, {"install", "./\x1b[2J"}, {"-C", "\x1b[2J", "list"}} {
		if status, _, stderr := m.Run(args...); strings.Contains(stderr, "panic") || status > 4 {
			t.Errorf("skl %q: exit %d: %s", args, status, stderr)
		}
	}
	// The same in a root that nobody installed: listed as invalid, the good one is active.
	m = harness.NewMachine(t)
	m.Write(".agents/skills/laughs/SKILL.md", []byte("---\n"+laughs+"name: laughs\ndescription: Bomb.\n---\n"))
	m.Write(".agents/skills/good/SKILL.md", []byte("---\nname: good\ndescription: Is fine.\n---\n"))
	m.Write(".agents/skills/red/SKILL.md", []byte(red))
	m.Write(".agents/skills/good/\x1b[2J.txt", []byte("x"))
	small(m, func() { m.Run("trust", "allow") })
	small(m, func() {
		status, stdout, stderr := m.Run("list", "--all", "--fields", "name,state")
		if status != 0 || !lineWith(stdout, "laughs", "invalid") || !lineWith(stdout, "good", "active") {
			t.Errorf("exit %d\n%s\n%s", status, stdout, stderr)
		}
	})
	for _, args := range [][]string{{"list", "--all"}, {"list", "--json"}, {"lint"}, {"doctor"}, {"info", "good"}, {"digest", ".agents/skills/good"}} {
		m.Run(args...)
	}
}

// lineWith reports whether a line of text holds all words.
func lineWith(text string, words ...string) bool {
	for line := range strings.Lines(text) {
		found := true
		for _, w := range words {
			found = found && strings.Contains(line, w)
		}
		if found {
			return true
		}
	}
	return false
}

// TestHostileRefs gives references that would make a careless program run another one.
func TestHostileRefs(t *testing.T) {
	long.Slow(t)
	m := harness.NewMachine(t)
	owned := filepath.Join(m.Home, "owned")
	for _, ref := range []string{
		"--upload-pack=touch " + owned, "-u", "git+ext::sh -c touch% " + owned, "ext::sh -c touch% " + owned, "git+fd::17/foo",
		"git+ssh://-oProxyCommand=touch%20" + owned + "/r.git", "git+ssh://-oProxyCommand=x@h/r.git", "ssh://-oProxyCommand=touch/r.git",
		"git+ssh://h/-x/r.git@--upload-pack=touch", "git+https://h/r.git@--upload-pack=touch", "git+https://h/r.git//--exec=x@-x",
		"git+file:///r.git%00", "git+https://h\n/r.git", "o/r\x1b[2J", "o/r@v1\nx", "git+https://user:secret\x1b@h/r.git", "o/\u202er",
		"github:o/r//../../x", "git+https://h/r.git//../x", "oci://-x/y", "-/-", "github:-o/r",
	} {
		before := m.State()
		status, stdout, stderr := m.Run("install", "--json", "--", ref)
		var out struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || status != 2 || out.Error.Code == "" {
			t.Errorf("%q: exit %d, want a misuse: %s%s", ref, status, stdout, stderr)
		}
		m.Run("install", "--", ref)
		if m.State() != before {
			t.Errorf("%q: something was written", ref)
		}
	}
	m.Refuses(2, "usage", "install", "--upload-pack=touch "+owned)
	m.Refuses(2, "usage", "install", "-oProxyCommand=touch "+owned, "o/r")
}

// TestInstallRunsNothing puts programs that leave a mark in front of everything that an
// install could call, serves a repository with hooks, filters and submodules over HTTP,
// and finds no mark, whatever the skill and the repository say.
func TestInstallRunsNothing(t *testing.T) {
	long.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the marker programs are shell scripts")
	}
	f := harness.NewGitForge(t)
	marks, bin := filepath.Join(t.TempDir(), "marks"), t.TempDir()
	for _, d := range []string{marks} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mark := func(name string) string { return "#!/bin/sh\n/bin/echo x >" + filepath.Join(marks, name) + "\n" }
	for _, name := range []string{"git", "git-upload-pack", "git-lfs", "sh", "bash", "ssh", "curl", "wget", "node", "npm", "npx", "python", "python3", "make", "gh", "gpg", "ssh-askpass", "docker", "sudo", "env", "true", "less", "xdg-open"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(mark(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := func(name string) harness.Node {
		return harness.Node{Mode: "100755", Name: name, Text: mark("content-" + name)}
	}
	bare := f.Repository("busy", []harness.Node{
		harness.File(".gitattributes", "* filter=evil diff=evil merge=evil text eol=crlf\n"), harness.File(".gitconfig", "[filter \"evil\"]\n\tsmudge = sh -c evil\n"),
		harness.File(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh\n\tupdate = !sh\n"),
		harness.Dir(".husky", script("post-merge")), script("Makefile"), harness.File("package.json", `{"scripts":{"install":"sh","postinstall":"sh"}}`), script("setup.py"), script("install.sh"),
		harness.Dir("skills", harness.Dir("evil", harness.File(".gitattributes", "SKILL.md filter=evil\n"), harness.File("SKILL.md", hostileSkill), harness.Dir("scripts", script("run.sh")), script("hook"), harness.File("skl.toml", "[package]\nname = \"a/b\"\n"))),
	})
	for _, hook := range []string{"post-checkout", "post-merge", "post-update", "pre-receive", "reference-transaction"} {
		if err := os.WriteFile(filepath.Join(bare, "hooks", hook), []byte(mark("hook-"+hook)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := harness.NewMachine(t)
	m.Env = append(m.Env, "PATH="+bin, "SHELL="+filepath.Join(bin, "sh"), "PAGER=less", "EDITOR=sh", "BROWSER=sh", "GIT_SSH=ssh", "GIT_ASKPASS=ssh-askpass", "GIT_EXTERNAL_DIFF=sh", "GIT_PAGER=less")
	m.Write(".git/hooks/post-checkout", []byte(mark("project-hook")))
	ref := "git+" + f.Http + "/busy.git"
	for _, args := range [][]string{
		{"install", ref, "-l"}, {"info", ref}, {"install", ref + "//skills/evil", "--host", "claude-code"}, {"list", "--shadowed"}, {"which", "evil"}, {"verify"}, {"check"},
		{"update"}, {"outdated"}, {"diff", "evil"}, {"read", "evil"}, {"status"}, {"lint", ".agents/skills/evil"}, {"ci"}, {"remove", "evil"}, {"install", "git+file://" + filepath.ToSlash(bare), "--all"},
	} {
		if status, _, stderr := m.Run(args...); status != 0 && args[0] != "lint" {
			t.Errorf("skl %q: exit %d: %s", args, status, stderr)
		}
	}
	left, err := os.ReadDir(marks)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s was run", e.Name())
	}
	countPrograms(t, m, ref)
}

// countPrograms installs under strace and wants one execve: that of skl.
func countPrograms(t *testing.T, m *harness.Machine, ref string) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Log("strace is not installed: the programs that were started are not counted")
		return
	}
	trace := filepath.Join(t.TempDir(), "trace")
	fresh := harness.NewMachine(t)
	cmd := exec.Command(strace, "-f", "-qq", "-e", "trace=execve,execveat", "-o", trace, fresh.Skl, "install", ref+"//skills/evil", "--host", "claude-code")
	cmd.Dir, cmd.Env = fresh.Project, fresh.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") {
			t.Log("strace may not trace here: the programs that were started are not counted")
			return
		}
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "exec"); n != 1 {
		t.Errorf("%d programs were started:\n%s", n, text)
	}
}
