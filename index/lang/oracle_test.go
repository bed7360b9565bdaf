package lang

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

var showDifferences = flag.Int("differences", 0, "of the comparison with the oracle, print that many differences of definitions and of references")

// The scanners are measured on real files, against the official grammars (index/lang/oracle).
// SKL_TEST_LANG_FILES lists the directories where files are looked for; without it, what this
// machine has of Go, Python, Rust and npm. What is missing is skipped.
const (
	oracleLeast   = 1000    // files that the grammar itself can read
	oracleSample  = 1600    // files, taken evenly by a hash of their names
	oracleMaxSize = 1 << 20 // bytes of one file
	definitionBar = 0.99
	referenceBar  = 0.97
)

func TestOracle(t *testing.T) {
	long.Only(t)
	binary := buildOracle(t)
	files := realFiles()
	for _, languages := range [][]Language{{Python}, {Rust}, {JavaScript}, {TypeScript, TSX}} {
		t.Run(string(languages[0]), func(t *testing.T) {
			var total comparison
			for _, l := range languages {
				if len(files[l]) > 0 {
					total.compare(t, binary, l, files[l])
				}
			}
			if total.files < oracleLeast {
				t.Skipf("%d files that the grammar reads, fewer than %d", total.files, oracleLeast)
			}
			total.report(t)
			if f := total.definitions.f1(); f < definitionBar {
				t.Errorf("definitions F1 %.4f, less than %v", f, definitionBar)
			}
			if f := total.references.f1(); f < referenceBar {
				t.Errorf("references F1 %.4f, less than %v", f, referenceBar)
			}
		})
	}
}

func buildOracle(t *testing.T) string {
	binary := filepath.Join(t.TempDir(), "oracle")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = "oracle"
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		last, _, _ := strings.Cut(string(out), "\n")
		t.Skipf("the oracle cannot be built here: %v: %s", err, last)
	}
	return binary
}

// realFiles collects files of each language, a sample that depends on their names only.
func realFiles() map[Language][]string {
	roots := filepath.SplitList(os.Getenv("SKL_TEST_LANG_FILES"))
	if len(roots) == 0 {
		for _, command := range [][]string{
			{"go", "env", "GOROOT"}, {"npm", "root", "-g"},
			{"python3", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"},
			{"rustc", "--print", "sysroot"},
		} {
			if out, err := exec.Command(command[0], command[1:]...).Output(); err == nil {
				roots = append(roots, strings.TrimSpace(string(out)))
			}
		}
		if home, err := os.UserHomeDir(); err == nil {
			roots = append(roots, filepath.Join(home, ".cargo", "registry"))
		}
		sources, _ := filepath.Glob("/usr/src/rustc-*")
		roots = append(roots, sources...)
	}
	files := map[Language][]string{}
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				l := Of(path)
				if i, err := d.Info(); l != "" && err == nil && i.Size() <= oracleMaxSize {
					files[l] = append(files[l], path)
				}
			}
			return nil
		})
	}
	for l := range files {
		slices.SortFunc(files[l], func(a, b string) int { return cmp.Or(cmp.Compare(hashOf(a), hashOf(b)), cmp.Compare(a, b)) })
		files[l] = files[l][:min(len(files[l]), oracleSample)]
	}
	return files
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// A truth is one line of the oracle.
type truth struct {
	Path    string
	Broken  bool
	Symbols []struct {
		Kind                           Kind
		Name                           string
		Start, End, NameStart, NameEnd int
		Parent                         int
	}
	References []struct {
		Kind            RefKind
		Name, Qualifier string
		Start, End      int
	}
}

// counts of what both say, only the scanner says, only the oracle says.
type counts struct{ both, extra, missed int }

func (c counts) precision() float64 { return float64(c.both) / float64(max(1, c.both+c.extra)) }
func (c counts) recall() float64    { return float64(c.both) / float64(max(1, c.both+c.missed)) }
func (c counts) f1() float64 {
	return 2 * float64(c.both) / float64(max(1, 2*c.both+c.extra+c.missed))
}

func (c counts) String() string {
	return fmt.Sprintf("precision %.4f recall %.4f F1 %.4f (%d)", c.precision(), c.recall(), c.f1(), c.both+c.missed)
}

type comparison struct {
	files, broken           int
	bytes                   int64
	scan                    time.Duration
	definitions, references counts
	kinds                   map[string]*counts
	sameEnd, sameName       int // of the definitions in both
	sameParent              int
	sameQualifier           int // of the references in both
	shown                   map[string]int
}

func (c *comparison) compare(t *testing.T, binary string, l Language, paths []string) {
	oracle := exec.Command(binary, "-lang", string(l), "-")
	oracle.Stdin = strings.NewReader(strings.Join(paths, "\n"))
	oracle.Stderr = os.Stderr
	out, err := oracle.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := oracle.Start(); err != nil {
		t.Fatal(err)
	}
	if c.kinds == nil {
		c.kinds, c.shown = map[string]*counts{}, map[string]int{}
	}
	lines := bufio.NewReaderSize(out, 1<<20)
	for range paths {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var want truth
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if want.Broken {
			c.broken++
			continue
		}
		src, err := os.ReadFile(want.Path)
		if err != nil {
			t.Fatal(err)
		}
		c.files++
		c.bytes += int64(len(src))
		start := time.Now()
		got := Scan(l, src)
		c.scan += time.Since(start)
		c.file(t, src, got, want)
	}
	if err := oracle.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A place is what makes two finds the same.
type place struct {
	kind, name string
	start      int
}

func (c *comparison) file(t *testing.T, src []byte, got File, want truth) {
	type found struct {
		end, nameStart int
		parent         string
	}
	symbols := map[place][]found{}
	for _, s := range got.Symbols {
		f := found{end: s.Span.End, nameStart: s.NameSpan.Start}
		if s.Parent >= 0 {
			f.parent = got.Symbols[s.Parent].Name
		}
		p := place{string(s.Kind), s.Name, s.Span.Start}
		symbols[p] = append(symbols[p], f)
	}
	for _, s := range want.Symbols {
		p := place{string(s.Kind), s.Name, s.Start}
		f := symbols[p]
		if len(f) == 0 {
			c.count(p.kind).missed++
			c.definitions.missed++
			c.show(t, "definition missed", want.Path, src, p)
			continue
		}
		c.count(p.kind).both++
		c.definitions.both++
		parent := ""
		if s.Parent >= 0 {
			parent = want.Symbols[s.Parent].Name
		}
		if f[0].end == s.End {
			c.sameEnd++
		} else {
			c.show(t, fmt.Sprintf("definition ends at %d not %d", f[0].end, s.End), want.Path, src, p)
		}
		if f[0].nameStart == s.NameStart {
			c.sameName++
		}
		if f[0].parent == parent {
			c.sameParent++
		} else {
			c.show(t, fmt.Sprintf("definition has parent %q not %q", f[0].parent, parent), want.Path, src, p)
		}
		symbols[p] = f[1:]
	}
	for p, f := range symbols {
		if len(f) > 0 {
			c.count(p.kind).extra += len(f)
			c.definitions.extra += len(f)
			c.show(t, "definition extra", want.Path, src, p)
		}
	}
	c.refer(t, src, got, want)
}

func (c *comparison) refer(t *testing.T, src []byte, got File, want truth) {
	references := map[place][]string{}
	for _, r := range got.References {
		p := place{string(r.Kind), r.Name, r.Span.Start}
		references[p] = append(references[p], r.Qualifier)
	}
	for _, r := range want.References {
		p := place{string(r.Kind), r.Name, r.Start}
		q := references[p]
		if len(q) == 0 {
			c.count(p.kind).missed++
			c.references.missed++
			c.show(t, "reference missed", want.Path, src, p)
			continue
		}
		c.count(p.kind).both++
		c.references.both++
		if q[0] == r.Qualifier {
			c.sameQualifier++
		} else {
			c.show(t, fmt.Sprintf("reference qualified %q not %q", q[0], r.Qualifier), want.Path, src, p)
		}
		references[p] = q[1:]
	}
	for p, q := range references {
		if len(q) > 0 {
			c.count(p.kind).extra += len(q)
			c.references.extra += len(q)
			c.show(t, "reference extra", want.Path, src, p)
		}
	}
}

func (c *comparison) count(kind string) *counts {
	if c.kinds[kind] == nil {
		c.kinds[kind] = new(counts)
	}
	return c.kinds[kind]
}

// show prints a difference with its line, while there are few of its sort.
func (c *comparison) show(t *testing.T, what, path string, src []byte, p place) {
	sort := strings.Join(strings.Fields(what)[:2], " ")
	if c.shown[sort] >= *showDifferences {
		return
	}
	c.shown[sort]++
	at := min(p.start, len(src))
	from := bytes.LastIndexByte(src[:at], '\n') + 1
	line, _, _ := bytes.Cut(src[from:], []byte("\n"))
	t.Logf("%s: %s %s at %d in %s:%d: %.120s", what, p.kind, p.name, p.start, path, bytes.Count(src[:at], []byte("\n"))+1, bytes.TrimSpace(line))
}

func (c *comparison) report(t *testing.T) {
	t.Logf("%d files, %.1f MB (%d more that the grammar cannot read), %.0f MB/s", c.files, float64(c.bytes)/1e6, c.broken,
		float64(c.bytes)/1e6/c.scan.Seconds())
	t.Logf("definitions: %v", c.definitions)
	of := func(n, all int) float64 { return 100 * float64(n) / float64(max(1, all)) }
	t.Logf("of these the same end %.2f %%, name span %.2f %%, parent %.2f %%", of(c.sameEnd, c.definitions.both),
		of(c.sameName, c.definitions.both), of(c.sameParent, c.definitions.both))
	t.Logf("references: %v, same qualifier %.2f %%", c.references, of(c.sameQualifier, c.references.both))
	for _, k := range slices.Sorted(maps.Keys(c.kinds)) {
		t.Logf("  %-9s %v", k, *c.kinds[k])
	}
}
