package lang

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var tuning = flag.Bool("tuning", false, "measure the tables on the packages they were made with")

// The tables are measured against universal-ctags on the files of real packages, which testdata/real.txt lists by name and
// version. SKL_TEST_LANG_REAL is the directory that holds them, as testdata/fetch_real makes it;
// those to tune with are not those that are judged. The results are testdata/real_results.txt; testdata/real_faults.txt says where
// universal-ctags is wrong, and why.
const tableBar = 0.95

// counted are the kinds of ctags that are compared, by what Scan calls them.
var counted = map[Language]struct {
	name  string // in ctags
	kinds map[string]string
	path  string // of the same language in the packages, if it is not by the name alone
}{
	Java:     {"Java", map[string]string{"class": "t", "interface": "t", "enum": "t", "annotation": "t", "method": "f", "field": "v"}, ""},
	Kotlin:   {"Kotlin", map[string]string{"class": "t", "interface": "t", "object": "t", "typealias": "t", "method": "f", "variable": "v", "constant": "v"}, ""},
	C:        {"C", map[string]string{"function": "f", "struct": "t", "union": "t", "enum": "t", "typedef": "t", "macro": "d", "variable": "v"}, ""},
	CPP:      {"C++", map[string]string{"function": "f", "class": "t", "struct": "t", "union": "t", "enum": "t", "typedef": "t", "macro": "d", "variable": "v", "namespace": "n"}, ""},
	CSharp:   {"C#", map[string]string{"class": "t", "struct": "t", "interface": "t", "enum": "t", "method": "f", "property": "v", "field": "v", "event": "v", "namespace": "n", "typedef": "t"}, ""},
	Ruby:     {"Ruby", map[string]string{"class": "t", "module": "n", "method": "f", "singletonMethod": "f", "constant": "v"}, ""},
	PHP:      {"PHP", map[string]string{"class": "t", "interface": "t", "trait": "t", "function": "f", "namespace": "n"}, ""},
	Shell:    {"Sh", map[string]string{"function": "f"}, ""},
	Protobuf: {"Protobuf", map[string]string{"message": "t", "enum": "t", "service": "t", "rpc": "f", "package": "n"}, ""},
	SQL:      {"SQL", map[string]string{"table": "t", "function": "f", "procedure": "f", "view": "t", "trigger": "f", "index": "v"}, ""},
	Lua:      {"Lua", map[string]string{"function": "f"}, ""},
	R:        {"R", map[string]string{"function": "f", "method": "f", "class": "t", "generic": "f"}, ""},
}

func classOf(k Kind) string {
	switch k {
	case Function, Method:
		return "f"
	case Class, Struct, Enum:
		return "t"
	case Constant, Variable, Field:
		return "v"
	case Module:
		return "n"
	}
	return "d"
}

type mark struct {
	class, name string
	line        int
}

func TestTablesOnRealFiles(t *testing.T) {
	root := os.Getenv("SKL_TEST_LANG_REAL")
	if root == "" {
		t.Skip("SKL_TEST_LANG_REAL does not name a directory of packages")
	}
	use := "judge"
	if *tuning {
		use = "tune"
	}
	var report strings.Builder
	faults := readFaults(t)
	for _, l := range slices.Sorted(maps.Keys(counted)) {
		t.Run(string(l), func(t *testing.T) {
			c := counted[l]
			files := realPackages(t, root, use, l)
			if len(files) == 0 {
				t.Skip("no files")
			}
			want := ctags(t, c.name, c.kinds, files)
			both, extra, missed, excused, size := 0, 0, 0, 0, 0
			var all counts // with what is excused
			var took time.Duration
			shown := map[string]int{}
			for _, f := range files {
				src, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				size += len(src)
				start := time.Now()
				got := Scan(l, src)
				took += time.Since(start)
				lawful(t, l, src, got)
				has := map[mark]int{}
				for _, s := range got.Symbols {
					m := mark{classOf(s.Kind), nameFor(c.name, s.Name), s.NameSpan.FirstLine}
					if l == CPP || l == C { // a struct and a typedef of one name are one
						if has[m] > 0 && m.class == "t" {
							continue
						}
					}
					has[m]++
				}
				show := func(what string, m mark) bool {
					lines := bytes.Split(src, []byte("\n"))
					line := lines[min(m.line, len(lines))-1]
					for _, f := range faults {
						if f.language == l && (f.side == what || f.side == "both") && f.line.Match(line) {
							if excused++; what == "extra" {
								all.extra++
							} else {
								all.missed++
							}
							return true
						}
					}
					key := what + m.class
					if shown[key]++; shown[key] <= *showDifferences {
						t.Logf("%s %s %s %s:%d: %.110s", what, m.class, m.name, f, m.line, line)
					}
					return false
				}
				for _, m := range want[f] {
					if has[m] > 0 {
						has[m]--
						both++
						continue
					}
					if !show("missed", m) {
						missed++
					}
				}
				for m, n := range has {
					if !slices.Contains(slices.Collect(maps.Values(c.kinds)), m.class) {
						continue
					}
					for range n {
						if !show("extra", m) {
							extra++
						}
					}
				}
			}
			n := counts{both, extra, missed}
			all.both, all.extra, all.missed = both, all.extra+extra, all.missed+missed
			fmt.Fprintf(&report, "%-9s %4d files  %v; F1 %.4f with %d differences that are faults of ctags\n", l, len(files), n, all.f1(), excused)
			t.Logf("%d files, %.1f MB, %.0f MB/s: %v, %d differences are faults of ctags", len(files), float64(size)/1e6, float64(size)/1e6/took.Seconds(), n, excused)
			if n.f1() < tableBar && !*tuning {
				t.Errorf("F1 %.4f, less than %v", n.f1(), tableBar)
			}
		})
	}
	if *tuning || t.Failed() {
		return
	}
	const golden = "testdata/real_results.txt"
	want, err := os.ReadFile(golden)
	switch {
	case string(want) == report.String():
	case *update:
		if err := os.WriteFile(golden, []byte(report.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("got\n%s\nwant\n%s%v", report.String(), want, err)
	}
}

// A fault is a difference that is that of universal-ctags.
type fault struct {
	language Language
	side     string
	line     *regexp.Regexp
}

func readFaults(t *testing.T) (all []fault) {
	list, err := os.ReadFile("testdata/real_faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if f := strings.Split(strings.TrimRight(line, "\n"), "\t"); len(f) == 4 {
			all = append(all, fault{Language(f[0]), f[1], regexp.MustCompile(f[2])})
		}
	}
	return all
}

// realPackages returns the files of a language in the packages for a use.
func realPackages(t *testing.T, root, use string, l Language) (files []string) {
	list, err := os.ReadFile("testdata/real.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) < 5 || f[0] != string(l) || f[1] != use {
			continue
		}
		dir := filepath.Join(root, f[2]+"_"+strings.NewReplacer("/", "_", "@", "").Replace(f[3]))
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			if i, err := d.Info(); err != nil || i.Size() > oracleMaxSize || i.Size() == 0 {
				return nil
			}
			if Of(path) == l || Of(path) == "" && l == Shell && shebang(path) {
				files = append(files, path)
			}
			return nil
		})
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(hashOf(a), hashOf(b)), cmp.Compare(a, b)) })
	files = files[:min(len(files), 400)]
	return files
}

func shebang(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 200).ReadString('\n')
	return strings.HasPrefix(line, "#!") && strings.Contains(line, "sh")
}

// ctags returns what universal-ctags finds in files.
func ctags(t *testing.T, language string, kinds map[string]string, files []string) map[string][]mark {
	list := filepath.Join(t.TempDir(), "files")
	if err := os.WriteFile(list, []byte(strings.Join(files, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ctags", "--options=NONE", "--language-force="+language, "--languages=+"+language+map[string]string{"R": ",R6Class,S4Class"}[language], "-L", list, "-x", "--sort=no",
		"--_xformat=%{input}\x01%{name}\x01%{line}\x01%{kind}\x01%{scopeKind}").Output()
	if err != nil {
		t.Skipf("universal-ctags: %v", err)
	}
	all := map[string][]mark{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\x01")
		if len(f) != 5 {
			continue
		}
		class, ok := kinds[f[3]]
		if !ok {
			continue
		}
		if strings.HasPrefix(f[1], "__anon") || strings.HasPrefix(f[1], "anonFunc") || f[1] == "<lambda>" || (class == "v" || language == "Kotlin") && f[4] == "method" {
			continue // it has no name in the file, or is of a function alone
		}
		m := mark{class: class, name: nameFor(language, f[1])}
		if language == "C#" && class == "f" {
			m.name = m.name[strings.LastIndexByte(m.name, '.')+1:]
		}
		fmt.Sscan(f[2], &m.line)
		if (language == "C" || language == "C++") && m.class == "t" && slices.Contains(all[f[0]], m) {
			continue
		}
		all[f[0]] = append(all[f[0]], m)
	}
	return all
}

// nameFor is how names are compared: ctags writes "operator ==" and "`is`", and Companion for companion.
func nameFor(language, name string) string {
	name = strings.NewReplacer(" ", "", "`", "", `\\`, `\`, `\x20`, "").Replace(name)
	if i := strings.LastIndexAny(name, ".:"); (language == "Lua") && i >= 0 {
		name = name[i+1:]
	}
	if language == "R" {
		name = strings.Trim(name, "\"'")
	}
	if language == "Kotlin" && name == "Companion" {
		return "companion"
	}
	return name
}
