// Command searchbench measures searches as users meet them: GET /api/v1/search of the shipped "skl registry serve", over a registry
// with as many skills as -skills says, in SQLite or in PostgreSQL. testdata/bench/search.sh runs it.
//
// The skills are made of the words of real ones, whose "skills/*/SKILL.md" are below the directories in the arguments, line by line: words are as
// frequent as they are there. What is asked is their names, words of these, first letters, sentences of their
// descriptions, and lists without a text. A search that nobody asked since the start of the server is a new one.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/postgres"
	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
	"github.com/skl-project/skl/registry/meta/sqlite"
	"github.com/skl-project/skl/registry/registrytest/program"
	"github.com/skl-project/skl/spec/skill"
)

var (
	shipped = flag.String("skl", "", "the program skl")
	store   = flag.String("store", "sqlite", "sqlite or postgres")
	skills  = flag.Int("skills", 300_000, "how many skills")
	asked   = flag.Int("searches", 3_000, "how many searches are measured in each row")
	data    = flag.String("data", "", "directory for the data of the registry; one that is there is measured as it is")
	listed  = flag.Bool("slow", false, "name the slowest searches")
)

const bodyLines = 25

func main() {
	log.SetFlags(0)
	flag.Parse()
	_, err := exec.LookPath(*shipped)
	program.Check(err)
	real := read(flag.Args())
	address := []string{"--data", *data}
	var db meta.Store
	ctx := context.Background()
	switch *store {
	case "postgres":
		at, drop, err := postgrestest.Schema()
		program.Check(err)
		defer drop()
		address = append(address, "--db", at)
		db, err = postgres.Open(ctx, at, postgres.Options{})
		program.Check(err)
	case "sqlite":
		program.Check(os.MkdirAll(*data, 0o700))
		db, err = sqlite.Open(ctx, filepath.Join(*data, "meta.db"), sqlite.Options{})
		program.Check(err)
	default:
		log.Fatalf("-store is %q, and can be sqlite or postgres", *store)
	}
	defer db.Close()
	began := time.Now()
	real.fill(ctx, db)
	fmt.Printf("%d skills of the words of %d, in %s, %s, %d CPUs, filled in %v\n\n", *skills, len(real.names), *store, runtime.Version(), runtime.NumCPU(), time.Since(began).Round(time.Second))
	fmt.Println("| searches | median | p95 | p99 | slowest | a second | memory of skl |\n|---|---|---|---|---|---|---|")

	home, err := os.MkdirTemp("", "skl-home-")
	program.Check(err)
	defer os.RemoveAll(home)
	s := &server{program.Registry(*shipped, home, address...)}
	defer s.Stop()
	r := rand.New(rand.NewPCG(7, 7))
	mix := make([]string, *asked)
	for i := range mix {
		mix[i] = real.question(r)
	}
	s.row("new ones, one client", mix, 1)
	s.row("the same again", mix, 1)
	s.row("8 clients", mix, 8)
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for n, tick := *skills, time.Tick(time.Second); ; n++ {
			select {
			case <-stop:
				return
			case <-tick:
				program.Check(db.Update(ctx, func(tx *meta.Tx) error { return tx.CreateRelease(ctx, real.release(n, "1.0.0")) }))
			}
		}
	})
	s.row("one client, a publish each second", mix, 1)
	close(stop)
	group.Wait()
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("\nload after the run: %s\n", strings.TrimSpace(string(load)))
}

// A corpus is what real skills say.
type corpus struct {
	names     []string
	sentences []string // of descriptions
	lines     []string // of bodies
}

func read(dirs []string) (c corpus) {
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "skills", "*", skill.FileName))
		program.Check(err)
		for _, file := range files {
			src, err := os.ReadFile(file)
			program.Check(err)
			d, err := skill.Read(src)
			if err != nil || d.Name == "" {
				continue
			}
			c.names = append(c.names, d.Name)
			for sentence := range strings.FieldsFuncSeq(d.Description, func(r rune) bool { return strings.ContainsRune(".;:\n", r) }) {
				if sentence = strings.TrimSpace(sentence); len(strings.Fields(sentence)) >= 6 {
					c.sentences = append(c.sentences, sentence)
				}
			}
			for line := range strings.Lines(string(src[min(d.Body, len(src)):])) {
				if line = strings.TrimSpace(line); line != "" {
					c.lines = append(c.lines, strings.ToValidUTF8(line, ""))
				}
			}
		}
	}
	if len(c.names) == 0 || len(c.sentences) == 0 {
		log.Fatal("no skills below the directories in the arguments")
	}
	return c
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// release is skill number n.
func (c corpus) release(n int, version string) meta.Release {
	r := rand.New(rand.NewPCG(uint64(n), 11))
	words := strings.FieldsFunc(pick(r, c.names)+"-"+pick(r, c.names), func(r rune) bool { return r == '-' })
	words = words[:min(3, len(words))]
	body := make([]string, bodyLines)
	for i := range body {
		body[i] = pick(r, c.lines)
	}
	rel := meta.Release{Namespace: fmt.Sprintf("ns%d", n/20), Name: fmt.Sprintf("%s-%d", strings.Join(words, "-"), n), Version: version, State: meta.Approved, LogIndex: -1,
		Description: pick(r, c.sentences) + ". " + pick(r, c.sentences) + ".", Keywords: words[:1], Text: strings.Join(body, "\n"),
		License: []string{"MIT", "Apache-2.0", "", "BSD-3-Clause"}[r.IntN(4)], Signed: r.IntN(2) == 0, Published: time.Unix(int64(1.7e9)+int64(n)*60, 0)}
	for i, d := range []*string{&rel.Manifest, &rel.Artifact, &rel.Zip} {
		*d = fmt.Sprintf("sha256:%062x%02x", n, i)
	}
	return rel
}

// fill makes the skills that are missing.
func (c corpus) fill(ctx context.Context, db meta.Store) {
	have := 0
	program.Check(db.View(ctx, func(tx *meta.Tx) error { return tx.ListedNames(ctx, func(string, string) { have++ }) }))
	for have < *skills {
		program.Check(db.Update(ctx, func(tx *meta.Tx) error {
			for end := min(have+100, *skills); have < end; have++ {
				rel := c.release(have, "1.0.0")
				if have%20 == 0 {
					if err := tx.CreateNamespace(ctx, meta.Namespace{Name: rel.Namespace, Public: true}); err != nil {
						return err
					}
				}
				if err := tx.CreateRelease(ctx, rel); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// question is what somebody asks, as the query of an address.
func (c corpus) question(r *rand.Rand) string {
	name := pick(r, c.names)
	words := strings.Split(name, "-")
	q := url.Values{}
	switch n := r.IntN(10); {
	case n < 3:
		q.Set("q", pick(r, c.sentences))
	case n < 5:
		q.Set("q", strings.Join(words, " "))
	case n < 7:
		q.Set("q", pick(r, words))
	case n < 8:
		w := pick(r, words)
		q.Set("q", w[:min(1+r.IntN(4), len(w))])
	case n < 9:
		q.Set("q", pick(r, words))
		q.Set("license", "MIT")
	default:
		q.Set("sort", []string{"updated", "downloads", "name"}[r.IntN(3)])
		q.Set("namespace", []string{"", "ns17"}[r.IntN(2)])
	}
	return q.Encode()
}

// A server is the program as anybody would run it.
type server struct{ *program.Program }

func (s *server) row(what string, questions []string, clients int) {
	type answer struct {
		question string
		took     time.Duration
	}
	answers := make([]answer, len(questions))
	var group sync.WaitGroup
	began := time.Now()
	for client := range clients {
		group.Go(func() {
			for i := client; i < len(questions); i += clients {
				start := time.Now()
				resp, err := http.Get(s.URL + "/api/v1/search?" + questions[i])
				program.Check(err)
				body, err := io.ReadAll(resp.Body)
				program.Check(err)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					program.Check(fmt.Errorf("%s: %s: %s", questions[i], resp.Status, body))
				}
				answers[i] = answer{questions[i], time.Since(start)}
			}
		})
	}
	group.Wait()
	rate := float64(len(questions)) / time.Since(began).Seconds()
	slices.SortFunc(answers, func(a, b answer) int { return int(a.took - b.took) })
	n := len(answers)
	fmt.Printf("| %s | %s | %s | %s | %s | %.0f | %.0f MiB |\n", what, ms(answers[n/2].took), ms(answers[n*95/100].took), ms(answers[n*99/100].took), ms(answers[n-1].took), rate, s.Memory("VmRSS"))
	if *listed {
		for _, a := range answers[max(0, n-n/50):] {
			log.Printf("%s %s", ms(a.took), a.question)
		}
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
