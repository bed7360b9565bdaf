// Bench measures skl beside the programs that people would use in its place, in one
// run on one machine, and prints a Markdown table of medians and ratios.
//
// CPU is user and system time of a command and its children; memory is the largest
// resident set; received bytes are those that a server on loopback wrote to its connections.
// The runs of skl and of what it is compared with alternate.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	skl  = flag.String("skl", "", "the program to measure")
	dir  = flag.String("dir", "", "a directory that is created and filled")
	runs = flag.Int("runs", 7, "how often each command is run")
	only = flag.String("only", "", "measure only the `WORD`: version, list, one, all, verify, index or weight")
	old  = flag.String("before", "", "an earlier build of skl, for weight")
	cold = flag.String("cold", "", "CPU seconds of the builds of both, \"NOW BEFORE\", for weight")
)

// A cost is what one command took.
type cost struct {
	CPU, Wall time.Duration
	RSS       int64 // bytes
	Received  int64 // bytes; set by those who count them
}

// measureWord as first argument makes this program run the rest as a command and print its
// cost. It is a small process, so that the memory of the child is not that of its parent.
const measureWord = "measure-one"

func main() {
	log.SetFlags(0)
	if len(os.Args) > 2 && os.Args[1] == measureWord {
		measureOne(os.Args[2:])
		return
	}
	flag.Parse()
	b := newBench()
	fmt.Printf("| what, median of %d runs | skl | beside it | | ratio | wanted | holds |\n|---|---|---|---|---|---|---|\n", *runs)
	for _, part := range []struct {
		word string
		run  func()
	}{{"version", b.version}, {"list", b.list}, {"one", b.one}, {"all", b.all}, {"verify", b.verify}, {"index", b.index}, {"weight", b.weight}} {
		if *only == "" && part.word != "weight" || *only == part.word {
			part.run()
		}
	}
	fmt.Printf("\n%s\n", b.machine())
}

func measureOne(args []string) {
	cmd := exec.Command(args[0], args[1:]...)
	output, err := os.CreateTemp("", "bench")
	check(err)
	defer os.Remove(output.Name())
	cmd.Stdout, cmd.Stderr = output, output
	start := time.Now()
	err = cmd.Run()
	wall := time.Since(start)
	if err != nil {
		said, _ := os.ReadFile(output.Name())
		os.Remove(output.Name())
		log.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, said)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	unit := int64(1 << 10)
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	json.NewEncoder(os.Stdout).Encode(cost{
		CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), Wall: wall, RSS: int64(usage.Maxrss) * unit,
	})
}

// A bench has the directories and the server that all measurements share.
type bench struct {
	self, skl, dir string
	before         string // load before the first run
	server         *server
	skills         string // a project in which all skills are installed
	skillsHome     string
}

func newBench() *bench {
	self, err := os.Executable()
	check(err)
	b := &bench{self: self, before: load()}
	b.skl, err = filepath.Abs(*skl)
	check(err)
	b.dir, err = filepath.Abs(*dir)
	check(err)
	check(os.Mkdir(b.dir, 0o755))
	return b
}

// command is measured by another process: see measureWord.
func (b *bench) command(home, cwd string, args ...string) cost {
	cmd := exec.Command(b.self, append([]string{measureWord}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = cwd, environ(home), os.Stderr
	out, err := cmd.Output()
	check(err)
	var c cost
	check(json.Unmarshal(out, &c))
	return c
}

// environ depends on nothing but PATH.
func environ(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LC_ALL=C", "CI=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Bench", "GIT_AUTHOR_EMAIL=bench@example.com", "GIT_COMMITTER_NAME=Bench", "GIT_COMMITTER_EMAIL=bench@example.com"}
}

// prepare runs a command that is not measured.
func (b *bench) prepare(home, cwd string, args ...string) string {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = cwd, environ(home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		log.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// project makes an empty project and an empty home.
func (b *bench) project(name string) (home, project string) {
	home, project = filepath.Join(b.dir, name, "home"), filepath.Join(b.dir, name, "project")
	check(os.MkdirAll(home, 0o755))
	check(os.MkdirAll(filepath.Join(project, ".git"), 0o755))
	return home, project
}

// alternate runs the given measurements in turn and returns the median of each quantity.
func alternate(measure ...func(run int) cost) []cost {
	all := make([][]cost, len(measure))
	for run := range *runs {
		for i, m := range measure {
			all[i] = append(all[i], m(run))
		}
	}
	medians := make([]cost, len(measure))
	for i, costs := range all {
		medians[i] = cost{
			CPU:      median(costs, func(c cost) time.Duration { return c.CPU }),
			Wall:     median(costs, func(c cost) time.Duration { return c.Wall }),
			RSS:      median(costs, func(c cost) int64 { return c.RSS }),
			Received: median(costs, func(c cost) int64 { return c.Received }),
		}
	}
	return medians
}

func median[T time.Duration | int64](costs []cost, of func(cost) T) T {
	values := make([]T, len(costs))
	for i, c := range costs {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// row prints one line. other and ratio are empty where nothing is compared.
func row(what, value, beside, other, ratio, wanted string, holds bool) {
	answer := "yes"
	if !holds {
		answer = "**no**"
	}
	fmt.Printf("| %s | %s | %s | %s | %s | %s | %s |\n", what, value, beside, other, ratio, wanted, answer)
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000)
}
func kilobytes(n int64) string { return fmt.Sprintf("%.0f kB", float64(n)/1000) }

// against prints a row whose limit is a multiple of what something else takes.
func against[T time.Duration | int64](what, beside string, mine, other T, show func(T) string, limit float64) {
	ratio := float64(mine) / float64(other)
	row(what, show(mine), beside, show(other), fmt.Sprintf("%.2f", ratio), fmt.Sprintf("≤ %.2f", limit), ratio <= limit)
}

// version is what every command costs at least.
func (b *bench) version() {
	home, project := b.project("version")
	measure := []func(int) cost{
		func(int) cost { return b.command(home, project, b.skl, "version") },
		func(int) cost { return b.command(home, project, "git", "version") },
	}
	_, err := exec.LookPath("node")
	node := err == nil
	if node {
		measure = append(measure, func(int) cost { return b.command(home, project, "node", "-e", "0") })
	}
	c := alternate(measure...)
	const mebi = 1 << 20
	row("`skl version`, CPU", milliseconds(c[0].CPU), "`git version`", milliseconds(c[1].CPU), "", "≤ 20 ms", c[0].CPU <= 20*time.Millisecond)
	row("`skl version`, memory", fmt.Sprintf("%d MiB", c[0].RSS/mebi), "`git version`", fmt.Sprintf("%d MiB", c[1].RSS/mebi), "", "≤ 40 MiB", c[0].RSS <= 40*mebi)
	if node {
		against("the same beside node, CPU", "`node -e 0`", c[0].CPU, c[2].CPU, milliseconds, 1)
		against("the same beside node, memory", "`node -e 0`", c[0].RSS, c[2].RSS, func(n int64) string { return fmt.Sprintf("%d MiB", n/mebi) }, 1)
	}
}

// weight compares the program with an earlier build of it.
func (b *bench) weight() {
	const name = "the program before"
	before, err := filepath.Abs(*old)
	check(err)
	size := func(path string) int64 {
		info, err := os.Stat(path)
		check(err)
		return info.Size()
	}
	megabytes := func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
	mine, other := size(b.skl), size(before)
	row("stripped program", megabytes(mine), name, megabytes(other), fmt.Sprintf("%.2f", float64(mine)/float64(other)), "≤ 45 MB", mine <= 45e6)
	home, project := b.project("weight")
	c := alternate(
		func(int) cost { return b.command(home, project, b.skl, "version") },
		func(int) cost { return b.command(home, project, before, "version") },
	)
	tenths := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	against("`skl version`, CPU", name, c[0].CPU, c[1].CPU, tenths, 18/20.5)
	const mebi = 1 << 20
	row("`skl version`, memory", fmt.Sprintf("%d MiB", c[0].RSS/mebi), name, fmt.Sprintf("%d MiB", c[1].RSS/mebi),
		fmt.Sprintf("%.2f", float64(c[0].RSS)/float64(c[1].RSS)), "≤ 34 MiB", c[0].RSS <= 34*mebi)
	var now, then int64
	if _, err := fmt.Sscan(*cold, &now, &then); err == nil {
		against("cold build, CPU", name, now, then, func(n int64) string { return fmt.Sprintf("%d s", n) }, 0.55)
	}
}

// list looks at 200 skills in each of five roots. Those of the project and of the user were
// installed by skl, the others are loose.
func (b *bench) list() {
	const each = 200
	home, project := b.project("list")
	first := 0
	generate := func(root string) {
		for i := range each {
			writeSkill(filepath.Join(root, fmt.Sprintf("skill-%04d", first+i)), first+i)
		}
		first += each
	}
	for _, scope := range []string{"project", "user"} {
		source := filepath.Join(b.dir, "list", "repository-"+scope)
		generate(filepath.Join(source, "skills"))
		b.prepare(home, source, "git", "init", "-q", ".")
		b.prepare(home, source, "git", "add", "-A")
		b.prepare(home, source, "git", "commit", "-q", "-m", "skills")
		b.prepare(home, project, b.skl, "install", "--scope", scope, "git+file://"+source, "--all", "--host", "opencode")
	}
	extra := filepath.Join(b.dir, "list", "extra")
	generate(filepath.Join(project, ".github", "skills"))
	generate(filepath.Join(home, ".copilot", "skills"))
	generate(extra)
	list := func(int) cost { return b.command(home, project, b.skl, "list", "--json", "--root", extra) }
	caches := filepath.Join(home, ".cache", "skl", "stat")
	cold := alternate(func(run int) cost {
		check(os.RemoveAll(caches))
		return list(run)
	})[0]
	var listing struct{ Skills []json.RawMessage }
	check(json.Unmarshal([]byte(b.prepare(home, project, b.skl, "list", "--json", "--root", extra)), &listing))
	if len(listing.Skills) < first {
		log.Fatalf("skl list shows %d of %d skills", len(listing.Skills), first)
	}
	if kept, err := os.ReadDir(caches); err != nil || len(kept) != 5 {
		log.Fatalf("%d of 5 roots have a stat cache: %v", len(kept), err)
	}
	warm := alternate(list)[0]
	row("`skl list`, 1,000 skills in 5 roots, CPU", milliseconds(warm.CPU), "", "", "", "≤ 60 ms", warm.CPU <= 60*time.Millisecond)
	row("the same without the stat cache", milliseconds(cold.CPU), "", "", "", "≤ 200 ms", cold.CPU <= 200*time.Millisecond)
}

// writeSkill writes a skill of 3 kB; every second has another file and every tenth a script.
func writeSkill(dir string, n int) {
	check(os.MkdirAll(filepath.Join(dir, "scripts"), 0o755))
	body := strings.Repeat("Read the request, look at the files it names, and answer in one paragraph.\n", 38)
	check(os.WriteFile(filepath.Join(dir, "SKILL.md"),
		fmt.Appendf(nil, "---\nname: %s\ndescription: Answers questions of kind %d about a repository.\n---\n# Skill %d\n%s", filepath.Base(dir), n, n, body), 0o644))
	if n%2 == 0 {
		check(os.WriteFile(filepath.Join(dir, "reference.md"), fmt.Appendf(nil, "# Reference %d\n%s", n, body), 0o644))
	}
	if n%10 == 0 {
		check(os.WriteFile(filepath.Join(dir, "scripts", "run.sh"), fmt.Appendf(nil, "#!/bin/sh\necho %d\n", n), 0o755))
	}
}

// repository is one of the shared data, with about 400 skills.
const repository = "awesome-copilot"

// one installs a single skill of a large repository, with nothing in any cache.
func (b *bench) one() {
	if !b.serve() {
		return
	}
	name := b.middleSkill()
	url := b.server.url + "/" + repository + ".git"
	c := alternate(
		func(run int) cost {
			home, project := b.project(fmt.Sprintf("one-skl-%d", run))
			start := b.server.sent.Load()
			c := b.command(home, project, b.skl, "install", "git+"+url+"//skills/"+name, "--host", "github-copilot", "--accept", "load-command")
			c.Received = b.server.sent.Load() - start
			mustHave(filepath.Join(project, ".agents", "skills", name, "SKILL.md"))
			return c
		},
		func(run int) cost {
			home, project := b.project(fmt.Sprintf("one-git-%d", run))
			start := b.server.sent.Load()
			c := b.command(home, project, "sh", "-c",
				"git clone -q --depth 1 --filter=blob:none --sparse "+url+" clone && git -C clone sparse-checkout set skills/"+name)
			c.Received = b.server.sent.Load() - start
			mustHave(filepath.Join(project, "clone", "skills", name, "SKILL.md"))
			return c
		},
	)
	home, project := b.project("one-pack")
	b.prepare(home, project, b.skl, "pack", filepath.Join(b.dir, "one-skl-0", "project", ".agents", "skills", name), "-o", "skill.tar.gz")
	info, err := os.Stat(filepath.Join(project, "skill.tar.gz"))
	check(err)
	what := fmt.Sprintf("one skill of %d over loopback HTTP, cold: ", len(b.skillNames()))
	const git = "`git clone --depth 1 --filter=blob:none --sparse`"
	against(what+"CPU", git, c[0].CPU, c[1].CPU, milliseconds, 0.75)
	against(what+"wall", git, c[0].Wall, c[1].Wall, milliseconds, 0.75)
	limit := info.Size()*12/10 + 200_000
	row(what+"received", kilobytes(c[0].Received), git, kilobytes(c[1].Received), fmt.Sprintf("%.2f", float64(c[0].Received)/float64(c[1].Received)),
		fmt.Sprintf("≤ %s (1.2 × %s packed + 200 kB)", kilobytes(limit), kilobytes(info.Size())), c[0].Received <= limit)
}

// all installs every skill from a store that has them, as a second project on a machine does.
func (b *bench) all() {
	if !b.install() {
		return
	}
	from := filepath.Join(b.skills, ".agents", "skills")
	c := alternate(
		func(run int) cost {
			_, project := b.project(fmt.Sprintf("all-skl-%d", run))
			for _, file := range []string{"skl.toml", "skl.lock"} {
				data, err := os.ReadFile(filepath.Join(b.skills, file))
				check(err)
				check(os.WriteFile(filepath.Join(project, file), data, 0o644))
			}
			b.prepare(b.skillsHome, project, b.skl, "trust", "allow") // the server is on this machine, which nobody but a person may name
			c := b.command(b.skillsHome, project, b.skl, "ci", "--offline")
			mustHave(filepath.Join(project, ".agents", "skills", b.middleSkill(), "SKILL.md"))
			return c
		},
		func(run int) cost {
			home, project := b.project(fmt.Sprintf("all-cp-%d", run))
			return b.command(home, project, "cp", "-r", from, "skills")
		},
	)
	against(fmt.Sprintf("`skl ci` of %d skills from a warm store, wall", len(b.skillNames())), "`cp -r`", c[0].Wall, c[1].Wall, milliseconds, 2)
}

// verify reads every byte of every skill.
func (b *bench) verify() {
	if !b.install() {
		return
	}
	c := alternate(
		func(int) cost { return b.command(b.skillsHome, b.skills, b.skl, "verify") },
		func(int) cost {
			return b.command(b.skillsHome, b.skills, "sh", "-c",
				"find .agents/skills -name .skl -prune -o -type f -print0 | xargs -0 sha256sum >/dev/null")
		},
	)
	what := fmt.Sprintf("`skl verify` of %d skills, CPU", len(b.skillNames()))
	row(what, milliseconds(c[0].CPU), "`sha256sum`", milliseconds(c[1].CPU), fmt.Sprintf("%.2f", float64(c[0].CPU)/float64(c[1].CPU)), "≤ 100 ms", c[0].CPU <= 100*time.Millisecond)
}

// install makes the project with all skills of the repository, once.
func (b *bench) install() bool {
	if b.skills != "" || !b.serve() {
		return b.skills != ""
	}
	b.skillsHome, b.skills = b.project("skills")
	b.prepare(b.skillsHome, b.skills, b.skl, "install", "git+"+b.server.url+"/"+repository+".git", "--all", "--host", "github-copilot", "--accept", "load-command,AUD-AGENT-CONFIG")
	return true
}

func mustHave(path string) {
	_, err := os.Stat(path)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal("bench: ", err)
	}
}

// machine says where and beside what the numbers were taken.
func (b *bench) machine() string {
	model := ""
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				model = ", " + strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s/%s%s, %d cores, %s, %s. Load before %s, after %s.",
		runtime.GOOS, runtime.GOARCH, model, runtime.NumCPU(), runtime.Version(), b.prepare(b.dir, b.dir, "git", "version"), b.before, load())
}

func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(data))[0]
}
