package main

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
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/testdata/long"
)

// This file feeds the command line what an attacker would: each refusal has its code and
// exit status, and leaves project and home as they were (the caches and the store aside).

// peakVariable names a file to which a child, which is this test binary as skl, writes its
// peak memory in KiB. The kernel's own figure for a child counts its parent's memory too.
const peakVariable = "SKL_TEST_PEAK"

func init() {
	path := os.Getenv(peakVariable)
	if path == "" {
		return
	}
	status := cli.Main()
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			os.WriteFile(path, []byte(strings.TrimSuffix(strings.TrimSpace(value), " kB")), 0o600)
		}
	}
	os.Exit(status)
}

// A machine is a home and an empty project for the real program.
type machine struct {
	t                  *testing.T
	skl, home, project string
	env                []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	skl, err := exec.LookPath("skl") // TestMain makes this binary answer to the name
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m := &machine{t: t, skl: skl, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	for _, d := range []string{m.home, filepath.Join(m.project, ".git")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.env = append(gitEnv(m.home), "SKL_DATA_DIR="+filepath.Join(dir, "data"), "SKL_CACHE_DIR="+filepath.Join(dir, "cache"))
	return m
}

// write writes a file of the project.
func (m *machine) write(name string, data []byte) {
	m.t.Helper()
	path := filepath.Join(m.project, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
		m.t.Fatal(err)
	}
}

// run runs skl in the project and returns its exit status.
func (m *machine) run(args ...string) (status int, stdout, stderr string) {
	m.t.Helper()
	cmd := exec.Command(m.skl, args...)
	cmd.Dir, cmd.Env = m.project, m.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	if i := strings.IndexAny(out.String()+errs.String(), "\x1b\x07\u009b\u202e"); i >= 0 && !m.t.Failed() {
		m.t.Errorf("skl %q prints a control character:\n%q\n%q", args, &out, &errs)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// state is everything below project and home.
func (m *machine) state() string {
	read := func(path string) string { data, _ := os.ReadFile(path); return fmt.Sprintf(" %x", data) }
	return strings.Join(list(m.project, read), "\n") + "\n\n" + strings.Join(list(m.home, read), "\n")
}

// refuses runs "skl ARGS --json" and wants this status and error code, and nothing written.
func (m *machine) refuses(status int, code string, args ...string) {
	m.t.Helper()
	before := m.state()
	got, stdout, stderr := m.run(append(args, "--json")...)
	var out struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		m.t.Fatalf("skl %q: %v\n%s\n%s", args, err, stdout, stderr)
	}
	if got != status || out.Error.Code != code {
		m.t.Errorf("skl %q: exit %d, %s: %s; want exit %d, %s", args, got, out.Error.Code, out.Error.Message, status, code)
	}
	if m.state() != before {
		m.t.Errorf("skl %q wrote something", args)
	}
}

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
		{"case", "PKG-PATH-COLLISION", skillAnd(entry{name: "docs/README", body: "x"}, entry{name: "Docs/readme", body: "y"})},
		{"normalisation", "PKG-PATH-COLLISION", skillAnd(entry{name: "caf\u00e9", body: "x"}, entry{name: "cafe\u0301", body: "y"})},
		{"twice", "PKG-DUPLICATE", skillAnd(entry{name: "x", body: "x"}, entry{name: "x", body: "y"})},
		{"file and directory", "PKG-PATH-CONFLICT", skillAnd(entry{name: "x", body: "x"}, entry{name: "x/y", body: "y"})},
		{"device name", "PKG-PATH-RESERVED", skillAnd(entry{name: "docs/aux.txt", body: "x"})},
		{"trailing dot", "PKG-PATH-TRAILING", skillAnd(entry{name: "docs/x.", body: "x"})},
		{"stream", "PKG-PATH-CHARACTER", skillAnd(entry{name: "SKILL.md::$DATA", body: "x"})},
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
	// What one of the two formats alone can say.
	refusesArchive(t, 4, "PKG-PATH-NUL", "evil.zip", zipped(t, skillAnd(entry{name: "run.sh\x00.txt", body: "x"})))
	refusesArchive(t, 4, "PKG-IRREGULAR", "evil.tar.gz", tarGz(t, skillAnd(entry{name: "hard", kind: tar.TypeLink, body: "SKILL.md"})))
	m := newMachine(t)
	m.write("many.tar.gz", tarGz(t, skillAnd(many(5_001)...)))
	m.refuses(4, "PKG-TOO-MANY", "install", "./many.tar.gz", "--dry-run")
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
	m := newMachine(t)
	m.write(name, data)
	m.refuses(status, code, "install", "./"+name, "--host", "claude-code")
	m.refuses(status, code, "install", "./"+name, "--all", "-y", "--force", "--dry-run")
	if _, _, stderr := m.run("install", "./"+name); !strings.HasPrefix(stderr, "skl: ") {
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
		m := newMachine(t)
		c.make(filepath.Join(m.project, c.name))
		small(m, func() { m.refuses(4, c.code, "install", "./"+c.name) })
	}
	// An archive in an archive is a file like others: it is never opened.
	m := newMachine(t)
	m.write("nested.skill", nested)
	if status, _, stderr := m.run("install", "./nested.skill"); status != 0 {
		t.Fatalf("exit %d: %s", status, stderr)
	}
	if got := list(filepath.Join(m.project, ".agents", "skills", "evil"), func(string) string { return "" }); len(got) != 3 {
		t.Errorf("the nested archive was unpacked: %q", got)
	}
}

// maxPeak is the memory that a refusal may take, in KiB, beyond what every start takes (most of which is the program's own file).
const maxPeak = 36 << 10

// small wants every skl that f runs to stay below maxPeak above a start.
func small(m *machine, f func()) {
	m.t.Helper()
	if runtime.GOOS != "linux" {
		f()
		m.t.Log("memory is not measured: there is no /proc")
		return
	}
	start := peakOf(m, func() { m.run("version") })
	if peak := peakOf(m, f); peak > start+maxPeak {
		m.t.Errorf("the peak was %d KiB, want at most %d above the %d KiB of a start", peak, maxPeak, start)
	}
}

// peakOf is the most memory that any skl takes that f runs, in KiB.
func peakOf(m *machine, f func()) int {
	m.t.Helper()
	file := filepath.Join(m.t.TempDir(), "peak")
	env := m.env
	m.env = append(env[:len(env):len(env)], peakVariable+"="+file)
	f()
	m.env = env
	text, err := os.ReadFile(file)
	if err != nil {
		m.t.Fatal(err)
	}
	kib, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		m.t.Fatal(err)
	}
	return kib
}

// A gitForge makes bare repositories out of raw objects, which no ordinary client would write.
type gitForge struct {
	t    *testing.T
	dir  string
	http string // address of the directory
}

func newGitForge(t *testing.T) *gitForge {
	forge := startForge(t)
	dir := t.TempDir()
	return &gitForge{t, dir, fmt.Sprintf("%s/%x", forge.url, dir)}
}

func (f *gitForge) git(dir, stdin string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, gitEnv(dir), strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("git %q: %v\n%s", args, err, &errs)
	}
	return strings.TrimSpace(string(out))
}

// A node of a tree: "100644 name" and content, or nodes below a directory.
type node struct {
	mode, name, text string
	id               string // instead of text, of an object that need not exist
	sub              []node
}

// tree writes nodes in git's order, in which a directory stands where its name with a slash would.
func (f *gitForge) tree(bare string, nodes []node) string {
	var raw bytes.Buffer
	key := func(n node) string {
		if n.sub != nil {
			return n.name + "/"
		}
		return n.name
	}
	nodes = slices.SortedStableFunc(slices.Values(nodes), func(a, b node) int { return strings.Compare(key(a), key(b)) })
	for _, n := range nodes {
		id := n.id
		switch {
		case id != "":
		case n.sub != nil:
			id = f.tree(bare, n.sub)
		default:
			id = f.git(bare, n.text, "hash-object", "-w", "--stdin")
		}
		fmt.Fprintf(&raw, "%s %s\x00", n.mode, n.name)
		for i := 0; i < len(id); i += 2 {
			b, _ := strconv.ParseUint(id[i:i+2], 16, 8)
			raw.WriteByte(byte(b))
		}
	}
	return f.git(bare, raw.String(), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
}

// repository makes NAME.git, whose branch main holds nodes, and returns it.
func (f *gitForge) repository(name string, nodes []node) (bare string) {
	f.t.Helper()
	bare = filepath.Join(f.dir, name+".git")
	if err := os.MkdirAll(bare, 0o755); err != nil {
		f.t.Fatal(err)
	}
	f.git(bare, "", "init", "-q", "--bare", "-b", "main", ".")
	commit := f.git(bare, "", "commit-tree", "-m", "state", f.tree(bare, nodes))
	f.git(bare, "", "update-ref", "refs/heads/main", commit)
	return bare
}

func file(name, text string) node         { return node{mode: "100644", name: name, text: text} }
func dir(name string, nodes ...node) node { return node{mode: "40000", name: name, sub: nodes} }
func evilSkill(nodes ...node) []node {
	return []node{dir("evil", append([]node{file("SKILL.md", hostileSkill)}, nodes...)...)}
}
func link(name, target string) node { return node{mode: "120000", name: name, text: target} }

func TestHostileRepositories(t *testing.T) {
	long.Slow(t)
	f := newGitForge(t)
	for i, c := range []struct {
		name, code string
		nodes      []node
	}{
		{"dot dot", "PKG-PATH-TRAVERSAL", evilSkill(dir("..", dir("..", file(".bashrc", "touch owned"))))},
		{"slash", "PKG-PATH-TRAVERSAL", evilSkill(file("../../x", "x"))},
		{"dot git", "PKG-PATH-GIT", evilSkill(dir(".git", dir("hooks", file("post-checkout", "x"))))},
		{"git of another case", "PKG-PATH-GIT", evilSkill(dir(".Git", file("config", "x")))},
		{"git short name", "PKG-PATH-GIT", evilSkill(dir("git~1", file("config", "x")))},
		{"backslash", "PKG-PATH-BACKSLASH", evilSkill(file(`..\..\x`, "x"))},
		{"drive", "PKG-PATH-DRIVE", evilSkill(file("C:x", "x"))},
		{"escape sequence", "PKG-PATH-CONTROL", evilSkill(file("\x1b[2J", "x"))},
		{"newline", "PKG-PATH-CONTROL", evilSkill(file("a\nb", "x"))},
		{"case", "PKG-PATH-COLLISION", evilSkill(file("README", "x"), file("readme", "y"))},
		{"normalisation", "PKG-PATH-COLLISION", evilSkill(file("cafe\u0301", "x"), file("caf\u00e9", "y"))},
		{"device name", "PKG-PATH-RESERVED", evilSkill(file("nul", "x"))},
		{"link out", "PKG-LINK-ESCAPE", evilSkill(link("x", "../../../../.ssh/id_ed25519"))},
		{"absolute link", "PKG-LINK-ESCAPE", evilSkill(link("x", "/etc/passwd"))},
		{"link to a neighbour", "PKG-LINK-ESCAPE", append(evilSkill(link("x", "../secret")), file("secret", "x"))},
		{"submodule", "PKG-SUBMODULE", append([]node{file(".gitmodules", "[submodule \"x\"]\n\tpath = evil/x\n\turl = ext::sh -c touch% owned\n")},
			evilSkill(node{mode: "160000", name: "x", id: strings.Repeat("1", 40)})...)},
		{"lfs pointer", "PKG-LFS-POINTER", evilSkill(file("x", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("0", 64)+"\nsize 12\n"))},
		{"name out", "SPEC-NAME-CHARS", []node{dir("evil", file("SKILL.md", strings.Replace(hostileSkill, "name: evil", "name: ../../evil", 1)))}},
		{"name with an escape sequence", "SPEC-NAME-CHARS", []node{dir("evil", file("SKILL.md", strings.Replace(hostileSkill, "name: evil", `name: "evil\x1b[2J"`, 1)))}},
		{"bomb", "git_too_large", evilSkill(file("zeros", strings.Repeat("\x00", 300<<20)))},
	} {
		repo := fmt.Sprintf("r%d", i)
		bare := f.repository(repo, c.nodes)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, ref := range []string{"git+" + f.http + "/" + repo + ".git", "git+file://" + filepath.ToSlash(bare)} {
				m := newMachine(t)
				small(m, func() { m.refuses(4, c.code, "install", ref+"//evil", "--host", "claude-code") })
				small(m, func() { m.refuses(4, c.code, "install", ref, "--dry-run") })
			}
		})
	}
}

// TestHostileText shows escape sequences and YAML bombs to every command that prints what a
// skill says: nothing of it reaches a terminal raw (machine.run looks at the bytes), and
// a skill that cannot be read hides none of the others.
func TestHostileText(t *testing.T) {
	long.Slow(t)
	f := newGitForge(t)
	red := "---\nname: red\ndescription: \"\\x1b]0;owned\\x07 \\x1b[31mred \\u202e \\u009b31m\"\nlicense: \"\\x1b[2J\"\nmetadata:\n  version: \"\\x1b[1m1.0\"\n---\n# Red\n!`echo \x1b[2J`\n"
	laughs := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", 'b'+i, 'b'+i, strings.Repeat(fmt.Sprintf("*%c, ", 'a'+i), 9)+"x")
	}
	f.repository("text", []node{dir("skills",
		dir("alias", file("SKILL.md", "---\nname: &n alias\ndescription: *n\n---\n")),
		dir("deep", file("SKILL.md", "---\nname: deep\ndescription: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+"\n---\n")),
		dir("good", file("SKILL.md", "---\nname: good\ndescription: Is fine.\n---\n")),
		dir("laughs", file("SKILL.md", "---\n"+laughs+"name: laughs\ndescription: Bomb.\n---\n")),
		dir("long", file("SKILL.md", "---\nname: long\ndescription: "+strings.Repeat("long ", 1<<20)+"\n---\n")),
		dir("merge", file("SKILL.md", "---\nbase: &b {x: y}\n<<: *b\nname: merge\ndescription: x\n---\n")),
		dir("red", file("SKILL.md", strings.ReplaceAll(red, ` \u202e`, ""))),
		dir("turned", file("SKILL.md", strings.ReplaceAll(red, "name: red", "name: turned"))),
		dir("tag", file("SKILL.md", "---\nname: !!python/object/apply:os.system [touch owned]\ndescription: x\n---\n")),
	)})
	ref := "git+" + f.http + "/text.git"
	m := newMachine(t)
	small(m, func() {
		status, stdout, stderr := m.run("install", ref, "-l")
		if status != 0 {
			t.Errorf("exit %d: %s", status, stderr)
		}
		for _, name := range []string{"alias", "deep", "laughs", "long", "merge", "tag"} {
			if !lineWith(stdout, "skills/"+name, "invalid") {
				t.Errorf("%s is not listed as invalid:\n%s", name, stdout)
			}
		}
	})
	m.refuses(4, "load_commands", "install", ref, "red")
	m.refuses(4, "content_refused", "install", ref, "turned") // nothing accepts what reorders text
	m.refuses(3, "E_YAML", "install", ref, "laughs")
	status, stdout, stderr := m.run("install", ref, "--all", "--host", "claude-code", "--accept", "load-command")
	if status != 3 || !strings.Contains(stdout, "add good") || !strings.Contains(stdout, "add red") || strings.Contains(stdout, "add laughs") || !strings.Contains(stdout, "held laughs") {
		t.Errorf("exit %d\n%s\n%s", status, stdout, stderr)
	}
	for _, args := range [][]string{{"list"}, {"list", "--all", "--fields", "name,version,description,path"}, {"info", "red"}, {"info", ref + "#red"}, {"verify"}, {"status"},
		{"check"}, {"doctor"}, {"lint", ".agents/skills/red"}, {"diff", "red"}, {"outdated"}, {"why", "red"}, {"read", "red", "--json"}, {"list", "--json"},
		{"which", "\x1b[2Jred"}, {"remove", "red\x1b[2J"}, {"install", "o/r\x1b[2J"}, {"\x1b[2J"}, {"--\x1b[2J"}, {"install", "./\x1b[2J"}, {"-C", "\x1b[2J", "list"}} {
		if status, _, stderr := m.run(args...); strings.Contains(stderr, "panic") || status > 4 {
			t.Errorf("skl %q: exit %d: %s", args, status, stderr)
		}
	}
	// The same in a root that nobody installed: listed as invalid, the good one is active.
	m = newMachine(t)
	m.write(".agents/skills/laughs/SKILL.md", []byte("---\n"+laughs+"name: laughs\ndescription: Bomb.\n---\n"))
	m.write(".agents/skills/good/SKILL.md", []byte("---\nname: good\ndescription: Is fine.\n---\n"))
	m.write(".agents/skills/red/SKILL.md", []byte(red))
	m.write(".agents/skills/good/\x1b[2J.txt", []byte("x"))
	small(m, func() { m.run("trust", "allow") })
	small(m, func() {
		status, stdout, stderr := m.run("list", "--all", "--fields", "name,state")
		if status != 0 || !lineWith(stdout, "laughs", "invalid") || !lineWith(stdout, "good", "active") {
			t.Errorf("exit %d\n%s\n%s", status, stdout, stderr)
		}
	})
	for _, args := range [][]string{{"list", "--all"}, {"list", "--json"}, {"lint"}, {"doctor"}, {"info", "good"}, {"digest", ".agents/skills/good"}} {
		m.run(args...)
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
	m := newMachine(t)
	owned := filepath.Join(m.home, "owned")
	for _, ref := range []string{
		"--upload-pack=touch " + owned, "-u", "git+ext::sh -c touch% " + owned, "ext::sh -c touch% " + owned, "git+fd::17/foo",
		"git+ssh://-oProxyCommand=touch%20" + owned + "/r.git", "git+ssh://-oProxyCommand=x@h/r.git", "ssh://-oProxyCommand=touch/r.git",
		"git+ssh://h/-x/r.git@--upload-pack=touch", "git+https://h/r.git@--upload-pack=touch", "git+https://h/r.git//--exec=x@-x",
		"git+file:///r.git%00", "git+https://h\n/r.git", "o/r\x1b[2J", "o/r@v1\nx", "git+https://user:secret\x1b@h/r.git", "o/\u202er",
		"github:o/r//../../x", "git+https://h/r.git//../x", "oci://-x/y", "-/-", "github:-o/r",
	} {
		before := m.state()
		status, stdout, stderr := m.run("install", "--json", "--", ref)
		var out struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || status != 2 || out.Error.Code == "" {
			t.Errorf("%q: exit %d, want a misuse: %s%s", ref, status, stdout, stderr)
		}
		m.run("install", "--", ref)
		if m.state() != before {
			t.Errorf("%q: something was written", ref)
		}
	}
	m.refuses(2, "usage", "install", "--upload-pack=touch "+owned)
	m.refuses(2, "usage", "install", "-oProxyCommand=touch "+owned, "o/r")
}

// TestInstallRunsNothing puts programs that leave a mark in front of everything that an
// install could call, serves a repository with hooks, filters and submodules over HTTP,
// and finds no mark, whatever the skill and the repository say.
func TestInstallRunsNothing(t *testing.T) {
	long.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the marker programs are shell scripts")
	}
	f := newGitForge(t)
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
	script := func(name string) node { return node{mode: "100755", name: name, text: mark("content-" + name)} }
	bare := f.repository("busy", []node{
		file(".gitattributes", "* filter=evil diff=evil merge=evil text eol=crlf\n"), file(".gitconfig", "[filter \"evil\"]\n\tsmudge = sh -c evil\n"),
		file(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh\n\tupdate = !sh\n"),
		dir(".husky", script("post-merge")), script("Makefile"), file("package.json", `{"scripts":{"install":"sh","postinstall":"sh"}}`), script("setup.py"), script("install.sh"),
		dir("skills", dir("evil", file(".gitattributes", "SKILL.md filter=evil\n"), file("SKILL.md", hostileSkill), dir("scripts", script("run.sh")), script("hook"), file("skl.toml", "[package]\nname = \"a/b\"\n"))),
	})
	for _, hook := range []string{"post-checkout", "post-merge", "post-update", "pre-receive", "reference-transaction"} {
		if err := os.WriteFile(filepath.Join(bare, "hooks", hook), []byte(mark("hook-"+hook)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := newMachine(t)
	m.env = append(m.env, "PATH="+bin, "SHELL="+filepath.Join(bin, "sh"), "PAGER=less", "EDITOR=sh", "BROWSER=sh", "GIT_SSH=ssh", "GIT_ASKPASS=ssh-askpass", "GIT_EXTERNAL_DIFF=sh", "GIT_PAGER=less")
	m.write(".git/hooks/post-checkout", []byte(mark("project-hook")))
	ref := "git+" + f.http + "/busy.git"
	for _, args := range [][]string{
		{"install", ref, "-l"}, {"info", ref}, {"install", ref + "//skills/evil", "--host", "claude-code"}, {"list", "--shadowed"}, {"which", "evil"}, {"verify"}, {"check"},
		{"update"}, {"outdated"}, {"diff", "evil"}, {"read", "evil"}, {"status"}, {"lint", ".agents/skills/evil"}, {"ci"}, {"remove", "evil"}, {"install", "git+file://" + filepath.ToSlash(bare), "--all"},
	} {
		if status, _, stderr := m.run(args...); status != 0 && args[0] != "lint" {
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
func countPrograms(t *testing.T, m *machine, ref string) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Log("strace is not installed: the programs that were started are not counted")
		return
	}
	trace := filepath.Join(t.TempDir(), "trace")
	fresh := newMachine(t)
	cmd := exec.Command(strace, "-f", "-qq", "-e", "trace=execve,execveat", "-o", trace, fresh.skl, "install", ref+"//skills/evil", "--host", "claude-code")
	cmd.Dir, cmd.Env = fresh.project, fresh.env
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
