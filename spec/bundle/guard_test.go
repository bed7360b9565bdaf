package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A recorder is a Sink that keeps what it is given, and complains about what no
// sink may be given.
type recorder struct {
	t     testing.TB
	files map[string]string // content, after "x " if executable, "-> " for links
	bytes int64
}

func record(t testing.TB) *recorder { return &recorder{t: t, files: make(map[string]string)} }

func (r *recorder) File(path string, executable bool, size int64, src io.Reader) error {
	r.check(path)
	content, err := io.ReadAll(src)
	r.bytes += int64(len(content))
	if err != nil {
		return err
	}
	if executable {
		content = append([]byte("x "), content...)
	}
	r.files[path] = string(content)
	return nil
}

func (r *recorder) Link(path, target string) error {
	r.check(path)
	if err := CheckLinkTarget(path, target); err != nil {
		r.t.Errorf("the sink was given a link that is refused: %v", err)
	}
	r.files[path] = "-> " + target
	return nil
}

func (r *recorder) check(path string) {
	if err := CheckPath(path); err != nil {
		r.t.Errorf("the sink was given a path that is refused: %v", err)
	}
	if _, ok := r.files[path]; ok {
		r.t.Errorf("the sink was given %q twice", path)
	}
}

// feed sends a tree to sink. It is written one entry a line: a path with
// content "content of PATH", behind it " x" or " -> TARGET".
func feed(sink Sink, tree string) error {
	for line := range strings.Lines(tree) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var err error
		if path, target, ok := strings.Cut(line, " -> "); ok {
			err = sink.Link(path, target)
		} else {
			path, executable := strings.CutSuffix(line, " x")
			content := "content of " + path
			err = sink.File(path, executable, int64(len(content)), strings.NewReader(content))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func guarded(next Sink, tree string) (Summary, error) { return guardedFor(next, tree, false) }

func guardedFor(next Sink, tree string, portable bool) (Summary, error) {
	g := NewGuard(next, InstallLimits)
	g.Portable = portable
	if err := feed(g, tree); err != nil {
		return Summary{}, err
	}
	return g.Close()
}

func TestGuardForwardsAndSums(t *testing.T) {
	rec := record(t)
	sum, err := guarded(rec, `
		scripts/run.sh x
		docs/latest.md -> ../SKILL.md
		SKILL.md
	`)
	if err != nil {
		t.Fatal(err)
	}
	// printf '%s x scripts/run.sh\n' "$(printf 'content of scripts/run.sh' | sha256sum)", and so on, sorted.
	const want = "tree-sha256:d714c30271556419e554406fefef193d02bd44bf04fe3982fdc0c3f37b690924"
	if sum.Tree != want || sum.Files != 3 || sum.Bytes != 19+25+11 {
		t.Errorf("Summary = %s, %d files, %d bytes", sum.Tree, sum.Files, sum.Bytes)
	}
	if TreeDigest([]Entry{sum.Entries[2], sum.Entries[0], sum.Entries[1]}) != want {
		t.Error("the digest depends on the order")
	}
	if got := fmt.Sprint(rec.files); got != "map[SKILL.md:content of SKILL.md docs/latest.md:-> ../SKILL.md scripts/run.sh:x content of scripts/run.sh]" {
		t.Errorf("forwarded %s", got)
	}
	plain, err := guarded(nil, "scripts/run.sh\ndocs/latest.md -> ../SKILL.md\nSKILL.md")
	if err != nil || plain.Tree == want {
		t.Errorf("without its executable bit the tree is %s, %v", plain.Tree, err)
	}
}

func TestGuardRefuses(t *testing.T) {
	tests := []struct{ name, tree, code string }{
		{"two links in a row", "SKILL.md\nb -> c\nc -> SKILL.md", ""},
		{"link through a real directory", "SKILL.md\nd/x\nb -> d/../SKILL.md", ""},
		{"sharp s and its capital differ from s", "SKILL.md\nmaße\nmase", ""},

		{"no SKILL.md", "README.md", CodeNoSkillMD},
		{"SKILL.md in another case", "skill.md", CodeNoSkillMD},
		{"SKILL.md further down", "a/SKILL.md", CodeNoSkillMD},
		{"SKILL.md is a directory", "SKILL.md/x", CodeNoSkillMD},
		{"path out of the bundle", "SKILL.md\n../x", CodePathTraversal},
		{"the same path twice", "SKILL.md\nSKILL.md", CodeDuplicate},
		{"link in place of a file", "SKILL.md\na\na -> SKILL.md", CodeDuplicate},
		{"case", "SKILL.md\nReadme.md\nREADME.md", CodePathCollision},
		{"case of a directory", "SKILL.md\nDocs/a\ndocs/b", CodePathCollision},
		{"case of a directory and a file", "SKILL.md\nDocs\ndocs/b", CodePathCollision},
		{"composed and decomposed", "SKILL.md\n\u00e9\ne\u0301", CodePathCollision},
		{"sharp s and two s", "SKILL.md\nmaße\nMASSE", CodePathCollision},
		{"Kelvin sign", "SKILL.md\n\u212a\nk", CodePathCollision},
		{"ligature", "SKILL.md\nofﬁce\noffice", CodePathCollision},
		{"SKILL.md in two cases", "SKILL.md\nskill.md", codeAnywhere},
		{"SKILL.md in two cases, the other first", "skill.md\nSKILL.md", codeAnywhere},
		{"SKILL.md and a directory", "SKILL.md\nskill.md/x", codeAnywhere},
		{"file, then directory", "SKILL.md\na\na/b", CodePathConflict},
		{"directory, then file", "SKILL.md\na/b\na", CodePathConflict},
		{"link, then a write through it", "SKILL.md\nd -> SKILL.md\nd/evil", CodePathConflict},
		{"a write, then the link", "SKILL.md\nd/evil\nd -> SKILL.md", CodePathConflict},
		{"link to nothing", "SKILL.md\nb -> c", CodeLinkBroken},
		{"link to a directory", "SKILL.md\nd/x\nb -> d", CodeLinkBroken},
		{"link to the root", "SKILL.md\nd/b -> ..", CodeLinkBroken},
		{"link to itself", "SKILL.md\nb -> b", CodeLinkBroken},
		{"links in a circle", "SKILL.md\nb -> c\nc -> b", CodeLinkBroken},
		{"link through a link", "SKILL.md\nd/x\nl -> d\nb -> l/x", CodeLinkBroken},
		{"link through no directory", "SKILL.md\nb -> nowhere/../SKILL.md", CodeLinkBroken},
		{"link through a file", "SKILL.md\nb -> SKILL.md/../SKILL.md", CodeLinkBroken},
		{"link in another case", "SKILL.md\nb -> skill.md", CodeLinkBroken},
		{"link with a slash behind", "SKILL.md\nb -> SKILL.md/", CodeLinkBroken},
		{"link out", "SKILL.md\nb -> ../SKILL.md", CodeLinkEscape},
	}
	for _, tt := range tests {
		for _, portable := range []bool{true, false} {
			t.Run(fmt.Sprint(tt.name, portable), func(t *testing.T) {
				want := tt.code
				switch {
				case want == codeAnywhere:
					want = CodePathCollision
				case want == CodePathCollision && !portable:
					want = ""
				}
				rec := record(t)
				sum, err := guardedFor(rec, tt.tree, portable)
				if got := codeOf(t, err); got != want {
					t.Errorf("code %q, want %q (%v)", got, want, err)
				}
				if _, bad := rec.files["d/evil"]; err != nil && (sum.Tree != "" || bad && tt.name != "a write, then the link") {
					t.Errorf("Summary %v, forwarded %v", sum, rec.files)
				}
				for p, content := range rec.files {
					if err != nil && strings.HasPrefix(content, "-> ") {
						t.Errorf("link %s was forwarded", p)
					}
				}
				if paths := slices.Sorted(maps.Keys(rec.files)); !portable && err == nil && (len(Unportable(paths)) > 0) != (tt.code == CodePathCollision) {
					t.Errorf("Unportable(%q) = %v", paths, Unportable(paths))
				}
			})
		}
	}
}

// codeAnywhere is CodePathCollision, also where the bundle need not be portable.
const codeAnywhere = "anywhere"

func TestGuardFields(t *testing.T) {
	g := NewGuard(nil, InstallLimits)
	g.NoSkillMD, g.Portable = true, true
	if err := feed(g, "README.md"); err != nil {
		t.Fatal(err)
	}
	if err := feed(g, "aux.md"); codeOf(t, err) != CodePathReserved {
		t.Errorf("Portable let aux.md through: %v", err)
	}
	if _, err := g.Close(); codeOf(t, err) != CodePathReserved {
		t.Errorf("Close after an error gave %v", err)
	}
}

// zeros is an endless reader that counts.
type zeros struct{ read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

func TestGuardLimits(t *testing.T) {
	limits := Limits{Entries: 2, Bytes: 1 << 20}
	t.Run("bytes are counted while they are read", func(t *testing.T) {
		g, src := NewGuard(record(t), limits), &zeros{}
		if err := g.File("SKILL.md", false, -1, src); codeOf(t, err) != CodeTooBig {
			t.Errorf("endless file: %v", err)
		}
		if src.read > limits.Bytes+contentBuffer {
			t.Errorf("%d bytes were read", src.read)
		}
	})
	t.Run("an announced size above the limit is not read at all", func(t *testing.T) {
		g, src := NewGuard(record(t), limits), &zeros{}
		if err := g.File("SKILL.md", false, limits.Bytes+1, src); codeOf(t, err) != CodeTooBig || src.read != 0 {
			t.Errorf("%v after %d bytes", err, src.read)
		}
	})
	t.Run("the limit itself is allowed, links' text included", func(t *testing.T) {
		g := NewGuard(record(t), limits)
		if err := g.File("SKILL.md", false, -1, io.LimitReader(&zeros{}, limits.Bytes-8)); err != nil {
			t.Fatal(err)
		}
		if err := g.Link("a", "SKILL.md"); err != nil {
			t.Fatal(err)
		}
		if sum, err := g.Close(); err != nil || sum.Bytes != limits.Bytes {
			t.Errorf("%d bytes, %v", sum.Bytes, err)
		}
	})
	t.Run("entries", func(t *testing.T) {
		if err := feed(NewGuard(nil, limits), "SKILL.md\na -> SKILL.md\nb"); codeOf(t, err) != CodeTooMany {
			t.Errorf("three entries: %v", err)
		}
	})
	for announced, content := range map[int64]string{3: "four", 5: "four", 0: "four"} {
		err := NewGuard(record(t), limits).File("SKILL.md", false, announced, strings.NewReader(content))
		if codeOf(t, err) != CodeSize {
			t.Errorf("%q announced with %d bytes: %v", content, announced, err)
		}
	}
}

func TestGuardRefusesLFSPointers(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 9\n"
	tests := []struct{ name, content, code string }{
		{"pointer", pointer, CodeLFSPointer},
		{"pointer with an extension", strings.Replace(pointer, "oid", "ext-0-foo sha256:aa\noid", 1), CodeLFSPointer},
		{"a text about pointers", "The pointer is\n" + pointer, ""},
		{"a long text that starts with one", pointer + strings.Repeat("x", maxPointer), ""},
		{"no object id", "version https://git-lfs.github.com/spec/v1\n", ""},
	}
	for _, tt := range tests {
		rec := record(t)
		err := NewGuard(rec, InstallLimits).File("model.bin", false, -1, iotestOneByte{strings.NewReader(tt.content)})
		if got := codeOf(t, err); got != tt.code {
			t.Errorf("%s: code %q, want %q", tt.name, got, tt.code)
		}
		if content, ok := rec.files["model.bin"]; ok != (tt.code == "") || ok && content != tt.content {
			t.Errorf("%s: forwarded %q", tt.name, content)
		}
	}
}

// iotestOneByte gives one byte at a time.
type iotestOneByte struct{ src io.Reader }

func (r iotestOneByte) Read(p []byte) (int, error) { return r.src.Read(p[:min(1, len(p))]) }

// sinkFunc is a Sink for files.
type sinkFunc func(r io.Reader) error

func (f sinkFunc) File(_ string, _ bool, _ int64, r io.Reader) error { return f(r) }
func (f sinkFunc) Link(string, string) error                         { return nil }

func TestGuardSinks(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 10_000)
	errDisk, errNet := errors.New("disk full"), errors.New("connection lost")
	exactly := func(r io.Reader) error { _, err := io.CopyN(io.Discard, r, int64(len(big))); return err }
	tests := []struct {
		name string
		sink sinkFunc
		src  io.Reader
		want error
	}{
		{"small reads", func(r io.Reader) error { _, err := io.Copy(io.Discard, iotestOneByte{r}); return err }, strings.NewReader(big), nil},
		{"size bytes, without seeing the end", exactly, strings.NewReader(big), nil},
		{"the sink fails", func(io.Reader) error { return errDisk }, strings.NewReader(big), errDisk},
		{"the sink stops early", func(io.Reader) error { return nil }, strings.NewReader(big), io.ErrShortWrite},
		{"the source fails and the sink hides it", func(r io.Reader) error { io.Copy(io.Discard, r); return nil },
			io.MultiReader(strings.NewReader(big[:99_999]), failing{errNet}), errNet},
		{"the source is longer than the sink reads", exactly, strings.NewReader(big + "x"), &refusal{CodeSize}},
	}
	for _, tt := range tests {
		err := NewGuard(tt.sink, InstallLimits).File("SKILL.md", false, int64(len(big)), tt.src)
		if want, ok := tt.want.(*refusal); ok && codeOf(t, err) == want.code {
			continue
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

type refusal struct{ code string }

func (r *refusal) Error() string { return r.code }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestParseDigest(t *testing.T) {
	good := "tree-sha256:" + strings.Repeat("0a", 32)
	d, err := ParseDigest(good)
	if err != nil || string(d) != good || d.Short() != "0a0a0a0a0a0a" {
		t.Errorf("ParseDigest = %q, %v; Short %q", d, err, d.Short())
	}
	if Digest("").Short() != "" {
		t.Error("Short of the zero Digest")
	}
	for _, bad := range []string{"", good[1:], good + "0", good[:len(good)-1], strings.ToUpper(good), "sha256:" + strings.Repeat("0a", 32),
		"tree-sha256:" + strings.Repeat("0A", 32), "tree-sha256:" + strings.Repeat("zz", 32), strings.Repeat("0a", 32)} {
		if d, err := ParseDigest(bad); err == nil || d != "" {
			t.Errorf("ParseDigest(%q) = %q, %v", bad, d, err)
		}
	}
}

// benchTree is like the trees of published skills: a dozen small texts, now and then a large asset.
type benchFile struct {
	path    string
	content []byte
}

func benchTrees(n int) (trees [][]benchFile, total int64) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		var tree []benchFile
		for j := range 1 + rnd.IntN(24) {
			size := 200 + rnd.IntN(12_000)
			if rnd.IntN(40) == 0 {
				size = 400_000
			}
			path := "SKILL.md"
			if j > 0 {
				path = fmt.Sprintf("%s/file-%d-%d.md", []string{"references", "scripts", "assets/images"}[rnd.IntN(3)], i, j)
			}
			tree = append(tree, benchFile{path, bytes.Repeat([]byte{byte(j)}, size)})
			total += int64(size)
		}
		trees = append(trees, tree)
	}
	return trees, total
}

// How fast are 400 skills checked and hashed?
func BenchmarkGuard400Skills(b *testing.B) {
	trees, total := benchTrees(400)
	b.SetBytes(total)
	b.ReportAllocs()
	var r bytes.Reader
	for b.Loop() {
		for _, tree := range trees {
			g := NewGuard(nil, InstallLimits)
			for _, f := range tree {
				r.Reset(f.content)
				if err := g.File(f.path, false, int64(len(f.content)), &r); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := g.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkSHA256Alone is the lower bound for the guard: one hash over the same bytes.
func BenchmarkSHA256Alone(b *testing.B) {
	trees, total := benchTrees(400)
	b.SetBytes(total)
	g := NewGuard(nil, InstallLimits)
	for b.Loop() {
		for _, tree := range trees {
			for _, f := range tree {
				g.content.hash.Reset()
				g.content.hash.Write(f.content)
				g.content.hash.Sum(g.content.buf[:0])
			}
		}
	}
}
