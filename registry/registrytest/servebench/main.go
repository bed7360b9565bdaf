// Command servebench measures the shipped "skl registry serve" side by side on one machine: one node, two replicas over PostgreSQL and a bucket,
// and beside them the registry of the distribution project, and another skl to compare with. Each is a process of its own, or two, that
// begins with nothing, and what it acknowledges is synced. testdata/bench/registry.sh runs it.
//
// An artifact is a layer, a config and a manifest with content of its own. A push is five requests (two uploads in two steps, and the manifest),
// a pull two (the manifest by its tag, with an Accept header, and the layer); the first pull of each artifact is measured by itself. A publish is one request with an archive of a skill. The registries
// take turns, and the tables have the medians of the rounds.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
	"github.com/skl-project/skl/registry/registrytest/program"
)

var (
	clients    = flag.Int("clients", 16, "how many push or pull at once")
	publishers = flag.Int("publishers", 32, "how many publish at once")
	rate       = flag.Int("rate", 200, "how often a second metadata is asked for")
	seconds    = flag.Float64("seconds", 4, "length of one measurement")
	rounds     = flag.Int("rounds", 3, "how often each is measured")
	dir        = flag.String("dir", "", "scratch directory; its file system is what is measured")
	peer       = flag.String("distribution", "", "executable of the distribution project's registry")
	kb         = flag.String("kb", "10,100,1024", "sizes of the layers, in KB")
	ours       = flag.String("skl", "", "the program skl, whose \"registry serve\" is measured")
	before     = flag.String("before", "", "another skl to compare one node with")
	soaks      = flag.Duration("soak", 0, "instead of measuring, keep one node and two replicas under load for as long, and look at their memory")
	replicas   = flag.Bool("replicas", true, "measure two replicas over PostgreSQL and a bucket too")
)

// The registries, in the order of their columns.
const (
	distribution = "distribution"
	earlier      = "one node before"
	single       = "one node"
	double       = "two replicas"
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	var sizes []int
	for text := range strings.SplitSeq(*kb, ",") {
		n, err := strconv.Atoi(text)
		program.Check(err)
		sizes = append(sizes, n<<10)
	}
	sites := begin()
	defer func() {
		for _, s := range sites {
			s.stop()
		}
	}()
	if *soaks > 0 {
		soak(sites, *soaks)
		return
	}
	time.Sleep(2 * time.Second) // what they do at start is over
	for _, s := range sites {
		for _, p := range s.servers {
			p.idle = p.Memory("VmRSS")
			p.watch()
		}
	}
	t := table{results: map[string]map[string][]result{}}
	for round := range *rounds {
		for i := range sites {
			s := sites[(i+round)%len(sites)]
			for _, size := range sizes {
				pushed := s.push(size, round)
				t.add(row(size, "push"), s, pushed)
				first := s.first(size, round, pushed.count)
				t.add(row(size, "first pull"), s, first)
				t.add(row(size, "pull"), s, s.pull(size, round, first.count))
			}
			if s.name != distribution {
				t.add(publishRow, s, s.publish(*publishers, round))
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%d clients, %d publish, %d CPUs, %s, %d rounds of %gs\n\n", *clients, *publishers, runtime.NumCPU(), runtime.Version(), *rounds, *seconds)
	t.print(sites, "a second", func(r result) float64 { return r.rate }, "%.0f")
	t.print(sites, "processor ms of the servers for one", func(r result) float64 { return r.work }, "%.2f")
	t.print(sites, "processor ms of database and bucket for one", func(r result) float64 { return r.behind }, "%.2f")
	answers(sites)
	memory(sites)
	fmt.Printf("load after the run: %s\n", strings.TrimSpace(string(load)))
}

// begin starts what is to be measured.
func begin() (sites []*site) {
	at := func(name string) string { return filepath.Join(*dir, name) }
	var more []string
	if *soaks > 0 {
		*peer, *before = "", ""
		config := at("registry.toml")
		program.Check(os.MkdirAll(*dir, 0o755))
		program.Check(os.WriteFile(config, []byte(gcConfig), 0o644))
		more = []string{"--config", config}
	}
	if *peer != "" {
		sites = append(sites, &site{name: distribution, servers: []*server{startDistribution(*peer, at("distribution"))}})
	}
	if *before != "" {
		sites = append(sites, &site{name: earlier, servers: []*server{startOurs(*before, at("before"))}})
	}
	sites = append(sites, &site{name: single, servers: []*server{startOurs(*ours, at("one"), more...)}})
	if !*replicas {
		return sites
	}
	program.Check(os.Setenv("TMPDIR", *dir)) // where these keep their data
	database, err := postgrestest.Start()
	program.Check(err)
	bucket, err := s3test.Place()
	program.Check(err)
	two := &site{name: double, behind: children("postgres", "versitygw")}
	if len(two.behind) != 2 {
		program.Check(fmt.Errorf("the database and the bucket are %d processes", len(two.behind)))
	}
	for _, name := range []string{"r0", "r1"} {
		two.servers = append(two.servers, startOurs(*ours, at(name), append(more, "--db", database, "--blobs", bucket)...))
	}
	return append(sites, two)
}

// A table has the results of all rounds, by row and site.
type table struct {
	rows    []string // in the order of the first round
	results map[string]map[string][]result
}

const publishRow = "a skill | publish"

func row(size int, what string) string { return fmt.Sprintf("%d KB | %s", size>>10, what) }

func (t *table) add(row string, s *site, r result) {
	if t.results[row] == nil {
		t.results[row] = map[string][]result{}
		t.rows = append(t.rows, row)
	}
	t.results[row][s.name] = append(t.results[row][s.name], r)
}

// median is that of one number of the results.
func (t *table) median(row, site string, of func(result) float64) float64 {
	var all []float64
	for _, r := range t.results[row][site] {
		all = append(all, of(r))
	}
	if len(all) == 0 {
		return 0
	}
	return middle(all)
}

// middle is the median of some numbers.
func middle(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// compared are the ratios that the tables have: the first by the second.
var compared = [][2]string{{single, distribution}, {single, earlier}, {double, single}}

func (t *table) print(sites []*site, what string, of func(result) float64, format string) {
	names := make([]string, len(sites))
	for i, s := range sites {
		names[i] = s.name
	}
	ratios := slices.DeleteFunc(slices.Clone(compared), func(c [2]string) bool { return !slices.Contains(names, c[0]) || !slices.Contains(names, c[1]) })
	fmt.Printf("| content | %s |", what)
	for _, name := range names {
		fmt.Printf(" %s |", name)
	}
	for _, c := range ratios {
		fmt.Printf(" %s : %s |", c[0], c[1])
	}
	fmt.Printf("\n|%s\n", strings.Repeat("---|", 2+len(names)+len(ratios)))
	cell := func(v float64, format string) string {
		if v == 0 {
			return "–"
		}
		return fmt.Sprintf(format, v)
	}
	for _, row := range t.rows {
		fmt.Printf("| %s |", row)
		for _, name := range names {
			fmt.Printf(" %s |", cell(t.median(row, name, of), format))
		}
		for _, c := range ratios {
			v := 0.0
			if by := t.median(row, c[1], of); by > 0 {
				v = t.median(row, c[0], of) / by
			}
			fmt.Printf(" %s |", cell(v, "%.2f"))
		}
		fmt.Println()
	}
	fmt.Println()
}

// answers measures how long metadata takes: what the REST interface says of a skill, and its manifest.
func answers(sites []*site) {
	fmt.Printf("| %d questions a second | median | p95 | p99 | slowest |\n|---|---|---|---|---|\n", *rate)
	for _, kind := range []struct {
		what, path string
	}{{"a skill", "/api/v1/skills/bench/%s"}, {"its manifest", "/v2/bench/%s/manifests/0.0.0"}} {
		for _, s := range sites {
			if s.name == distribution {
				continue
			}
			took := s.ask(*rate, func(n int) string { return fmt.Sprintf(kind.path, skillName(n%*publishers)) })
			ms := func(of int) float64 { return float64(took[min(len(took)*of/100, len(took)-1)].Microseconds()) / 1000 }
			fmt.Printf("| %s, %s | %.1f ms | %.1f ms | %.1f ms | %.1f ms |\n", s.name, kind.what, ms(50), ms(95), ms(99), ms(100))
		}
	}
	fmt.Println()
}

// memory prints what each server needs, and how soon it is ready: with nothing, and with what was pushed.
func memory(sites []*site) {
	fmt.Println("| server | memory (RSS), idle | at most, under load | ready, new | ready, again |\n|---|---|---|---|---|")
	for _, s := range sites {
		for i, p := range s.servers {
			name, ready := s.nameOf(i), "– | –"
			most := p.Memory("VmHWM")
			if p.ready > 0 {
				before := p.ready
				p.again()
				ready = fmt.Sprintf("%d ms | %d ms", before.Milliseconds(), p.ready.Milliseconds())
			}
			fmt.Printf("| %s | %.0f MiB | %.0f MiB | %s |\n", name, p.idle, most, ready)
		}
	}
	fmt.Println()
}
