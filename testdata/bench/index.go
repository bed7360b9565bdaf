package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// index indexes the sources of Go and asks for things in them. It works on a copy.
func (b *bench) index() {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	check(err)
	source := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	home, project := b.project("index")
	b.prepare(home, project, "sh", "-c", "cp -r "+source+" src && rm -rf src/.git")
	tree := filepath.Join(project, "src")
	files, bytes := 0, int64(0)
	check(filepath.WalkDir(tree, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, err := d.Info()
			check(err)
			files++
			bytes += info.Size()
		}
		return err
	}))
	cache := filepath.Join(home, ".cache", "skl", "index")
	build := func(int) cost {
		check(os.RemoveAll(cache))
		return b.command(home, tree, b.skl, "index", tree)
	}
	what := fmt.Sprintf("`skl index` of the sources of Go (%d files, %d MB)", files, bytes/1e6)
	measures := []func(int) cost{build}
	tags := "`ctags -R --languages=Go`"
	if _, err := exec.LookPath("ctags"); err == nil {
		measures = append(measures, func(int) cost {
			return b.command(home, project, "ctags", "-R", "--languages=Go", "-f", filepath.Join(project, "tags"), tree)
		})
	} else {
		tags = ""
	}
	c := alternate(measures...)
	if tags != "" {
		ratio := float64(c[0].CPU) / float64(c[1].CPU)
		row(what+": CPU", seconds(c[0].CPU), tags, seconds(c[1].CPU), fmt.Sprintf("%.1f", ratio), "≤ 4.5", ratio <= 4.5)
	} else {
		row(what+": CPU", seconds(c[0].CPU), "", "", "", "≤ 12 s", c[0].CPU <= 12*time.Second)
	}
	row("the same: wall", seconds(c[0].Wall), "", "", "", "≤ 7 s", c[0].Wall <= 7*time.Second)
	row("the same: memory", fmt.Sprintf("%d MB", c[0].RSS/1e6), "", "", "", "≤ 220 MB", c[0].RSS <= 220e6)
	size := int64(0)
	check(filepath.WalkDir(cache, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, err := d.Info()
			check(err)
			size += info.Size()
		}
		return err
	}))
	row("the same: size of the index", fmt.Sprintf("%d MB", size/1e6), "the files", fmt.Sprintf("%d MB", bytes/1e6), fmt.Sprintf("%.2f", float64(size)/float64(bytes)), "≤ 1.30", 10*size <= 13*bytes)

	b.indexed(home, tree)
	first := alternate(func(int) cost {
		check(os.RemoveAll(cache))
		return b.command(home, tree, b.skl, "query", "--path", tree, "--symbol", "mapassign")
	})[0]
	row("first answer about them, never indexed: wall", milliseconds(first.Wall), "", "", "", "≤ 1,500 ms", first.Wall <= 1500*time.Millisecond)
}

// indexed asks an index that is there.
func (b *bench) indexed(home, tree string) {
	query := func(args ...string) func(int) cost {
		return func(int) cost {
			return b.command(home, tree, append([]string{b.skl, "query", "--path", tree}, args...)...)
		}
	}
	time.Sleep(3 * time.Second) // stamps of files that were just written tell less
	b.prepare(home, tree, b.skl, "query", "--path", tree, "--symbol", "mapassign")
	c := alternate(query("--symbol", "mapassign"))[0]
	row("`skl query --symbol`, nothing changed, a new process: wall", milliseconds(c.Wall), "", "", "", "≤ 150 ms", c.Wall <= 150*time.Millisecond)
	edited := filepath.Join(tree, "runtime", "map.go")
	text, err := os.ReadFile(edited)
	check(err)
	var answer struct {
		Handles []struct{ Name string }
	}
	c = alternate(func(run int) cost {
		name := fmt.Sprintf("benchmarked%d", run)
		check(os.WriteFile(edited, append(text[:len(text):len(text)], []byte("\nfunc "+name+"() {}\n")...), 0o644))
		c := b.command(home, tree, b.skl, "query", "--path", tree, "--symbol", name)
		check(json.Unmarshal([]byte(b.prepare(home, tree, b.skl, "query", "--path", tree, "--symbol", name, "--json")), &answer))
		if len(answer.Handles) == 0 || answer.Handles[0].Name != name {
			log.Fatalf("the edit is not seen: %v", answer)
		}
		return c
	})[0]
	row("the same after an edit, which it shows: wall", milliseconds(c.Wall), "", "", "", "≤ 250 ms", c.Wall <= 250*time.Millisecond)
	if _, err := exec.LookPath("rg"); err != nil {
		return
	}
	for _, literal := range []string{"ctx, cancel := ", "netpollinit()", "if err != nil {"} {
		two := alternate(query("--files", "--literal", literal), func(int) cost {
			return b.command(home, tree, "rg", "--hidden", "-l", "-F", literal, ".")
		})
		ratio := float64(two[0].Wall) / float64(two[1].Wall)
		row("`skl query --files --literal '"+strings.TrimSpace(literal)+"'`: wall", milliseconds(two[0].Wall), "`rg -l -F`", milliseconds(two[1].Wall), fmt.Sprintf("%.2f", ratio), "", true)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
