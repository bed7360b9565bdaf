//go:build unix

package roots

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// manySkills fills roots with skills of a few files each, the way real ones
// are spread, and returns their receipts by root.
func manySkills(b *testing.B, skills, filesEach, bytesEach int, roots ...string) (*world, map[string][]Receipt) {
	b.Helper()
	dir := b.TempDir()
	cfg := Config{Project: filepath.Join(dir, "P"), Home: filepath.Join(dir, "H"), ProjectTrusted: true, ManagedDir: filepath.Join(dir, "M"), Hosts: []string{"claude-code", "github-copilot", "codex", "opencode"}}
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, bytesEach)
	receipts := make(map[string][]Receipt)
	for i := range skills {
		root := filepath.Join(dir, filepath.FromSlash(roots[i%len(roots)]))
		name := fmt.Sprintf("skill-%d", i-i%7) // some names occur in several roots
		skill := filepath.Join(root, name)
		for {
			if _, err := os.Lstat(skill); err != nil {
				break
			}
			name += "-x"
			skill = filepath.Join(root, name)
		}
		must(b, os.MkdirAll(filepath.Join(skill, "references"), 0o755))
		text := fmt.Sprintf("---\nname: %s\ndescription: Does the work number %d. Use when somebody asks for the work number %d to be done.\nlicense: MIT\nmetadata:\n  version: 1.2.3\n---\n\n", name, i, i)
		must(b, os.WriteFile(filepath.Join(skill, skillFile), append([]byte(text), content[:min(3000, bytesEach)]...), 0o644))
		for f := range filesEach - 1 {
			for j := range content {
				content[j] = byte('a' + random.IntN(26))
			}
			must(b, os.WriteFile(filepath.Join(skill, "references", fmt.Sprintf("part-%d.md", f)), content, 0o644))
		}
		r := receiptFor(b, root, name)
		receipts[root] = append(receipts[root], r)
		if i%2 == 0 {
			must(b, os.MkdirAll(filepath.Join(root, stateDir), 0o755))
			must(b, os.WriteFile(ReceiptPath(root, name), r.Format(), 0o644))
		}
	}
	return &world{dir: dir, cfg: cfg}, receipts
}

// reportCPU adds the processor time per operation, of all threads, in milliseconds: what stays
// the same on a busy machine.
func reportCPU(b *testing.B, start time.Duration) {
	b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/1e6, "cpu-ms/op")
}

func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// How long does a list of 1,000 skills in 5 roots take?
func BenchmarkDiscover(b *testing.B) {
	roots := []string{"P/.agents/skills", "P/.claude/skills", "H/.agents/skills", "H/.claude/skills", "M"}
	w, _ := manySkills(b, 1000, 3, 2000, roots...)
	run := func(b *testing.B) {
		defer reportCPU(b, cpuTime())
		for b.Loop() {
			l, err := Discover(context.Background(), w.cfg)
			if err != nil || len(l.Skills) != 1000 {
				b.Fatalf("%d skills, %v", len(l.Skills), err)
			}
		}
	}
	b.Run("cold", run)
	w.cfg.Caches = w.caches()
	if _, err := Discover(context.Background(), w.cfg); err != nil {
		b.Fatal(err)
	}
	b.Run("warm", run)
}

// How long does verify take over 400 skills, 2,400 files and 9 MB?
func BenchmarkCheckAll(b *testing.B) {
	w, receipts := manySkills(b, 400, 6, 3800, "P/.agents/skills")
	root := filepath.Join(w.dir, "P", ".agents", "skills")
	must(b, w.update(root))
	for _, full := range []bool{true, false} {
		b.Run(fmt.Sprintf("full=%v", full), func(b *testing.B) {
			defer reportCPU(b, cpuTime())
			for b.Loop() {
				var known Cache
				if !full {
					known = w.caches().Load(root)
				}
				drifts, err := Look{Known: known}.CheckAll(context.Background(), root, receipts[root])
				if err != nil {
					b.Fatal(err)
				}
				for _, d := range drifts {
					if d.Any() {
						b.Fatalf("%+v", d)
					}
				}
			}
		})
	}
}

func BenchmarkLoadCache(b *testing.B) {
	w, _ := manySkills(b, 1000, 3, 100, "P/.agents/skills")
	root := filepath.Join(w.dir, "P", ".agents", "skills")
	must(b, w.update(root))
	defer reportCPU(b, cpuTime())
	for b.Loop() {
		if c := w.caches().Load(root); len(c.skills) != 1000 {
			b.Fatalf("%d skills", len(c.skills))
		}
	}
}
