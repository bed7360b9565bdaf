package retrieval

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// measure asks all questions and sums up the answers. A part of them is asked side by side; all need the memory one after the other.
func (b *bench) measure() {
	b.t.Helper()
	of := []struct {
		name string
		ask  func(*bench)
	}{{"library", (*bench).library}, {"history", (*bench).history}, {"python", (*bench).python}, {"modules", (*bench).modules}}
	if !b.full {
		of = of[:2]
	}
	subs := make([]*bench, len(of))
	b.t.Run("of", func(t *testing.T) {
		for i, x := range of {
			t.Run(x.name, func(t *testing.T) {
				if !b.full {
					t.Parallel()
				}
				subs[i] = newBench(t, b.judge, b.full)
				x.ask(subs[i])
				if b.full { // it takes a quarter of an hour; say early what is known
					subs[i].sum()
					subs[i].log()
				}
			})
		}
	})
	for _, sub := range subs {
		if sub != nil {
			b.merge(sub)
		}
	}
	b.sum()
}

// ask writes a corpus to a directory and asks the questions of everything that can answer them.
func (b *bench) ask(c *corpus, questions []question, suffix string) {
	b.t.Helper()
	start := time.Now()
	c.write(b.t, b.t.TempDir())
	written := time.Now()
	x := openIndex(b.t, c.dir)
	indexed := time.Now()
	systems := baselines(b.t, c, true)
	ready := time.Now()
	b.run(systems, x, questions, suffix)
	b.t.Logf("%s: %d files, %d questions; written in %v, indexed in %v, baselines in %v, asked in %v", c.name, len(c.paths), len(questions),
		written.Sub(start).Round(time.Millisecond), indexed.Sub(written).Round(time.Millisecond), ready.Sub(indexed).Round(time.Millisecond),
		time.Since(ready).Round(time.Millisecond))
	x.x.Close()
}

// library measures on Go's own library.
func (b *bench) library() {
	b.results.Inputs["go"] = runtime.Version()
	c := library(b.t, b.full)
	n := 3
	other := []string{"crypto"} // what the part of the library lacks
	if b.full {
		n, other = 20, nil
	}
	// Questions are drawn of both halves, so about half of them remain.
	questions := slices.Concat(symbols(c, 100*n), references(c, 30*n), errorStrings(c, 20*n), tests(c, 20*n), exactTexts(c, 50*n))
	bare := c.withoutDocs()
	described := sentences(c, bare, 100*n, false)
	if b.full {
		described = append(described, sentences(c, bare, 25*n, true)...)
	}
	if other != nil {
		files, err := readTree(goSource(b.t), other, func(p string) bool { return path.Ext(p) == ".go" })
		if err != nil {
			b.t.Fatal(err)
		}
		o, err := newCorpus("other", files, path.Dir)
		if err != nil {
			b.t.Fatal(err)
		}
		questions = append(questions, absent(c, o, 20*n)...)
	}
	c.asts, c.fset = nil, nil // gigabytes of all of the library
	b.ask(c, b.half(questions), "")
	b.ask(bare, b.half(described), "")
}

// history measures on the commits of a repository.
func (b *bench) history() {
	h, ok := openHistory(b.t)
	if !ok {
		b.t.Log("S4 is not measured: it needs git, and shared/data/zoekt.bundle beside the repository")
		return
	}
	b.results.Inputs["zoekt"] = h.id
	n := 20
	if b.full {
		n = 300
	}
	changes := h.commits(b.t, n, func(commit string) bool { return judging(commit) == b.judge })
	start := time.Now()
	var x *indexed
	for _, change := range changes {
		h.at(b.t, change.parent)
		files, err := readTree(h.dir, []string{"."}, func(string) bool { return true })
		if err != nil {
			b.t.Fatal(err)
		}
		c := &corpus{name: "zoekt", dir: h.dir, files: files}
		for p := range files {
			c.paths = append(c.paths, p)
		}
		slices.Sort(c.paths)
		if x == nil {
			x = openIndex(b.t, h.dir)
		} else {
			x.update()
		}
		systems := baselines(b.t, c, b.full)
		b.run(systems, x, []question{change.question}, "")
	}
	b.t.Logf("zoekt: %d commits in %v", len(changes), time.Since(start).Round(time.Millisecond))
}

// python measures on Python's standard library.
func (b *bench) python() {
	c, version, questions := pythonLibrary(b.t, 1000)
	if c == nil {
		b.t.Log("S3 of Python is not measured: it needs python3")
		return
	}
	b.results.Inputs["python"] = version
	b.ask(c, b.half(questions), "")
}

// modules measures on the modules that this one needs directly, each of them a group of its own.
func (b *bench) modules() {
	out, err := exec.CommandContext(b.t.Context(), "go", "list", "-m", "-json", "all").Output()
	if err != nil {
		b.t.Logf("modules are not measured: %v", err)
		return
	}
	files := map[string][]byte{}
	var versions []string
	d := json.NewDecoder(bytes.NewReader(out))
	for d.More() {
		var m struct {
			Path, Version, Dir string
			Main, Indirect     bool
		}
		if err := d.Decode(&m); err != nil {
			b.t.Fatal(err)
		}
		if m.Main || m.Indirect || m.Dir == "" || m.Path == "modernc.org/sqlite" { // which is C, translated
			continue
		}
		of, err := readTree(m.Dir, []string{"."}, func(p string) bool { return path.Ext(p) == ".go" || path.Ext(p) == ".md" })
		if err != nil {
			b.t.Fatal(err)
		}
		dir := strings.ReplaceAll(m.Path, "/", "+")
		for p, data := range of {
			files[dir+"/"+p] = data
		}
		versions = append(versions, path.Base(m.Path)+"@"+m.Version)
	}
	slices.Sort(versions)
	b.results.Inputs["modules"] = strings.Join(versions, " ")
	c, err := newCorpus("modules", files, func(p string) string { return p[:strings.Index(p, "/")] })
	if err != nil {
		b.t.Fatal(err)
	}
	bare := c.withoutDocs()
	b.ask(c, b.half(slices.Concat(symbols(c, 1000), tests(c, 200))), " (modules)")
	b.ask(bare, b.half(sentences(c, bare, 1000, false)), " (modules)")
}
