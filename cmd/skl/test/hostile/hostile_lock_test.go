package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/testdata/long"
)

// TestHostileLock edits an honest lock in every way that changes one thing, and runs ci, check and verify on each. See
// testdata/lock.txtar for the honest one, edits for the ways, and harmless for what may pass. A sample has each kind of
// edit of each field once, in an entry chosen by a fixed seed, and of these 120.
func TestHostileLock(t *testing.T) {
	long.Slow(t)
	forge := harness.StartForge(t)
	regs := new(harness.Registries)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup:               forge.Setup,
		Cmds: (&harness.Corner{T: t}).AddTo(harness.Commands{
			"publish": forge.Publish, "registry": regs.Command, "forge": fileForge, "pinlog": pinLog,
			"hostilelock": hostileLock,
		}),
	})
}

// fileForge makes github: lead to the script's repositories as files: a clone of each costs no process.
func fileForge(ts *testscript.TestScript, neg bool, args []string) {
	path := filepath.Join(ts.Getenv("HOME"), ".config", "skl", "config.toml")
	old, err := os.ReadFile(path)
	ts.Check(err)
	text := strings.Replace(string(old), ts.Getenv("FORGE"), "file://"+filepath.Join(ts.Getenv("WORK"), "forge"), 1)
	ts.Check(os.WriteFile(path, []byte(text), 0o644))
}

// pinLog writes the key of the log that skl.lock names into config.toml, as the key of the registry corp's log.
func pinLog(ts *testscript.TestScript, neg bool, args []string) {
	origin := regexp.MustCompile(`(?m)^origin = (".*")$`).FindStringSubmatch(ts.ReadFile(filepath.Join(ts.Getenv("WORK"), "project", "skl.lock")))
	if origin == nil {
		ts.Fatalf("skl.lock has no log")
	}
	path := filepath.Join(ts.Getenv("HOME"), ".config", "skl", "config.toml")
	old, err := os.ReadFile(path)
	ts.Check(err)
	text := strings.Replace(string(old), "[registry.corp]\n", "[registry.corp]\nlog = "+origin[1]+"\n", 1)
	ts.Check(os.WriteFile(path, []byte(text), 0o644))
}

// refusedBy are the codes of exit 1 that refuse a lock: it cannot be read, or the place that owns the ref does not have
// what the entry pins.
var refusedBy = []string{"lock_corrupt", "lock_version", "git_object_format", "unknown_path", "oci_not_found"}

// A hostileEdit is one way to change the lock.
type hostileEdit struct {
	entry, field, kind string
	text               string // the whole file
}

func (e hostileEdit) String() string { return e.entry + " " + e.field + " " + e.kind }

// A lockTable is a table of a lock as its lines: [[skill]], [skill.signer] or [skill.log].
type lockTable struct {
	header string
	lines  []string // "key = value"
}

// A lockEntry is one skill: its own table, and those below it.
type lockEntry struct {
	name   string
	tables []lockTable
}

func splitLock(text string) (top []string, entries []lockEntry) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
		case line == "[[skill]]":
			entries = append(entries, lockEntry{tables: []lockTable{{header: line}}})
		case strings.HasPrefix(line, "["):
			e := &entries[len(entries)-1]
			e.tables = append(e.tables, lockTable{header: line})
		case len(entries) == 0:
			top = append(top, line)
		default:
			e := &entries[len(entries)-1]
			table := &e.tables[len(e.tables)-1]
			table.lines = append(table.lines, line)
			if name, ok := strings.CutPrefix(line, "name = "); ok && table.header == "[[skill]]" {
				e.name = strings.Trim(name, `"`)
			}
		}
	}
	return top, entries
}

func joinLock(top []string, entries []lockEntry) string {
	var b strings.Builder
	b.WriteString(strings.Join(top, "\n") + "\n")
	for _, e := range entries {
		for _, table := range e.tables {
			b.WriteString("\n" + table.header + "\n" + strings.Join(table.lines, "\n") + "\n")
		}
	}
	return b.String()
}

// cloneEntries copies entries so that one may be changed.
func cloneEntries(entries []lockEntry) []lockEntry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].tables = slices.Clone(out[i].tables)
		for j := range out[i].tables {
			out[i].tables[j].lines = slices.Clone(out[i].tables[j].lines)
		}
	}
	return out
}

const (
	someHex  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	someTree = `"tree-sha256:` + someHex + `"`
)

// hostileValues are what may be written into a field of a [[skill]] table, in TOML, whatever was there. A field that is not in an
// entry is added with each.
var hostileValues = map[string][]string{
	"name":     {`"evil"`, `"../evil"`, `"PDF"`, `".git"`},
	"ref":      {`"evil/pdf@=1.0.0"`, `"git+https://attacker.invalid/pdf.git"`, `"./src/own"`, `"skl:canopy"`, `"oci://attacker.invalid/a/b:1"`, `"no ref"`},
	"source":   {`"git"`, `"oci"`, `"registry"`, `"local"`, `"embedded"`, `"market"`, `"evil"`},
	"url":      {`"https://attacker.invalid/x.git"`, `"file:///etc"`, `"http://127.0.0.1:1"`, `"https://10.0.0.1/x.git"`, `"http://169.254.169.254/latest"`, `"../.."`, `"/etc"`, `"./src"`, `"ext::sh -c id"`, `"ssh://-oProxyCommand=id/x"`, `"oci://attacker.invalid/a/b"`, `"https://user:pass@attacker.invalid"`},
	"path":     {`"skills"`, `"skills/ocr"`, `"../x"`, `"/etc"`, `"canopy-debug"`, `"src"`, `"."`},
	"ref_kind": {`"range"`, `"tag"`, `"branch"`, `"commit"`, `"default"`, `"evil"`},
	"version":  {`"9.9.9"`, `"1.0.1"`, `"0.0.0-20200101000000-0123456789ab"`, `"evil"`, `"1.1.0"`},
	"commit":   {`"` + someHex[:40] + `"`, `"` + someHex + `"`, `"main"`, `"HEAD"`},
	"manifest": {`"sha256:` + someHex + `"`, `"sha512:` + someHex + someHex + `"`, `"latest"`},
	"artifact": {`"sha256:` + someHex + `"`, `"sha512:` + someHex + someHex + `"`, `"evil"`},
	"tree":     {someTree, `"evil"`},
	"files":    {"0", "1", "2", "1000000", "-1", `"1"`}, "bytes": {"0", "1", "99999999999", "-1", "1.5"},
	"requires": {`["notes"]`, `["evil"]`, `"notes"`}, "required_by": {`["pdf"]`, `["evil"]`, "1"},
	"permissions":    {`["load-command"]`, `["network"]`, `["load-command", "network"]`, "[]", `"load-command"`},
	"generated_from": {`{ package = "evil" }`, "{}", `"evil"`},
	"unsigned":       {"true", "false", `"true"`},
	"signer":         {`{ key = "SHA256:evil" }`, `{ issuer = "https://issuer.invalid", identity = "a@b.invalid" }`, `"evil"`},
	"log":            {`{ index = 0 }`, `"evil"`},
	"later":          {`"a field that this version does not know"`},
}

// edits is every edit of one thing.
func edits(text string, commits []string) []hostileEdit {
	top, entries := splitLock(text)
	var out []hostileEdit
	add := func(entry, field, kind string, top []string, entries []lockEntry) {
		if t := joinLock(top, entries); t != text {
			out = append(out, hostileEdit{entry, field, kind, t})
		}
	}
	for i, line := range top {
		add("", cutKey(line), "removed", slices.Delete(slices.Clone(top), i, i+1), entries)
	}
	add("", "version", "2", []string{"version = 2"}, entries)
	add("", "version", "text", []string{`version = "1"`}, entries)
	add("", "later", "added", append(slices.Clone(top), `later = "x"`), entries)
	for i, e := range entries {
		add(e.name, "entry", "removed", top, slices.Delete(slices.Clone(entries), i, i+1))
		add(e.name, "entry", "twice", top, append(slices.Clone(entries), e))
		for _, by := range []string{"", `required_by = ["` + e.name + `"]`} {
			twin := cloneEntries([]lockEntry{e})[0]
			for j, line := range twin.tables[0].lines {
				if strings.HasPrefix(line, "name = ") {
					twin.tables[0].lines[j] = `name = "twin"`
				}
			}
			if by != "" {
				twin.tables[0].lines = append(twin.tables[0].lines, by)
			}
			add(e.name, "entry", "twin "+by, top, append(slices.Clone(entries), twin))
		}
		for j, table := range e.tables {
			prefix := strings.TrimPrefix(strings.Trim(table.header, "[]"), "skill.") + "."
			if prefix == "skill." {
				prefix = ""
			}
			if j > 0 {
				less := cloneEntries(entries)
				less[i].tables = slices.Delete(less[i].tables, j, j+1)
				add(e.name, strings.TrimSuffix(prefix, "."), "removed", top, less)
			}
			set := func(k int, field, kind, line string) {
				next := cloneEntries(entries)
				lines := next[i].tables[j].lines
				switch {
				case line == "":
					lines = slices.Delete(lines, k, k+1)
				case k < len(lines):
					lines[k] = line
				default:
					lines = append(lines, line)
				}
				next[i].tables[j].lines = lines
				add(e.name, prefix+field, kind, top, next)
			}
			seen := map[string]bool{}
			for k, line := range table.lines {
				key, value, _ := strings.Cut(line, " = ")
				seen[key] = true
				set(k, key, "removed", "")
				set(len(table.lines), key, "twice", line)
				for kind, other := range mutations(value) {
					set(k, key, kind, key+" = "+other)
				}
				for _, o := range entries { // what another entry has there
					if v, ok := fieldOf(o, table.header, key); ok && v != value {
						set(k, key, "of "+o.name, key+" = "+v)
					}
				}
				if j == 0 {
					for _, v := range hostileValues[key] {
						set(k, key, "to "+v, key+" = "+v)
					}
				}
				if key == "commit" {
					for _, c := range commits {
						set(k, key, "another one", `commit = "`+c+`"`)
					}
				}
			}
			for key, values := range hostileValues {
				if j > 0 || seen[key] || (key == "signer" || key == "log") && slices.ContainsFunc(e.tables, func(t lockTable) bool { return t.header == "[skill."+key+"]" }) {
					continue
				}
				for _, v := range values {
					set(len(table.lines), key, "added "+v, key+" = "+v)
				}
			}
			if j > 0 {
				set(len(table.lines), "later", "added", `later = "x"`)
			}
		}
		for _, o := range entries { // a signer or proof that belongs to another
			for _, table := range o.tables[1:] {
				if !slices.ContainsFunc(e.tables, func(t lockTable) bool { return t.header == table.header }) {
					next := cloneEntries(entries)
					next[i].tables = append(next[i].tables, table)
					add(e.name, strings.Trim(strings.TrimPrefix(table.header, "[skill."), "[]"), "of "+o.name, top, next)
				}
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].String() < out[j].String() })
	return slices.CompactFunc(out, func(a, b hostileEdit) bool { return a.text == b.text })
}

func cutKey(line string) string { key, _, _ := strings.Cut(line, " = "); return key }

func fieldOf(e lockEntry, header, key string) (string, bool) {
	for _, table := range e.tables {
		for _, line := range table.lines {
			if k, v, _ := strings.Cut(line, " = "); table.header == header && k == key {
				return v, true
			}
		}
	}
	return "", false
}

// mutations are small changes of a TOML value, by what kind of change they are.
func mutations(value string) map[string]string {
	out := map[string]string{"of another type": "{}"}
	switch value[0] {
	case '"':
		text := strings.Trim(value, `"`)
		out["emptied"] = `""`
		out["longer"] = `"` + text + `x"`
		out["shorter"] = `"` + text[:len(text)-1] + `"`
		last := byte('0')
		if text[len(text)-1] == '0' {
			last = '1'
		}
		out["last changed"] = `"` + text[:len(text)-1] + string(last) + `"`
		first := byte('a')
		if text[0] == 'a' {
			first = 'b'
		}
		out["first changed"] = `"` + string(first) + text[1:] + `"`
		out["case changed"] = `"` + swapCase(text) + `"`
		out["line added"] = `"` + text + `\n"`
		out["control added"] = `"` + text + `\u001b[2J"`
		out["hidden added"] = `"` + text + `\u200b"`
	case '[':
		out["emptied"] = "[]"
		out["word added"] = strings.Replace(value, "[", `["evil", `, 1)
	default:
		out["one more"] = value + "1"
		out["negative"] = "-" + value
		out["huge"] = "99999999999999999999"
	}
	return out
}

// swapCase changes the case of the first letter that has one, escapes aside.
func swapCase(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if c := s[i] ^ 0x20; s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' {
			return s[:i] + string(c) + s[i+1:]
		}
	}
	return s
}

// A lockLab tries locks.
type lockLab struct {
	work       string
	env        []string
	bare, full string   // projects without and with what is installed
	home       string   // what a machine needs that has the same configuration and decisions
	homely     []string // what is in it
	honest     map[string]string
}

// A lockTrial is what became of one run.
type lockTrial struct {
	run      string
	exit     int
	code     string // of the error
	wrote    string // what changed where nothing may
	accepted bool
	output   string
}

// hostileLock is the command of the script: it builds two projects and a home from the script's, checks that the honest
// lock passes in both, and tries the others.
func hostileLock(ts *testscript.TestScript, _ bool, _ []string) {
	work := ts.Getenv("WORK")
	lab := &lockLab{work: work, bare: filepath.Join(work, "bare"), full: filepath.Join(work, "full"), home: filepath.Join(work, "fresh")}
	lab.env = []string{"PATH=" + ts.Getenv("PATH"), "TMPDIR=" + ts.Getenv("TMPDIR")}
	project, home := filepath.Join(work, "project"), ts.Getenv("HOME")
	ts.Check(os.CopyFS(lab.full, os.DirFS(project)))
	ts.Check(os.CopyFS(lab.bare, os.DirFS(project)))
	for _, dir := range []string{".agents", ".claude"} {
		ts.Check(os.RemoveAll(filepath.Join(lab.bare, dir)))
	}
	ts.Check(os.CopyFS(filepath.Join(lab.home, ".config", "skl"), os.DirFS(filepath.Join(home, ".config", "skl"))))
	state := filepath.Join(".local", "state", "skl")
	ts.Check(os.MkdirAll(filepath.Join(lab.home, state), 0o700))
	decided, err := os.ReadFile(filepath.Join(home, state, "unsigned.json"))
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(lab.home, state, "unsigned.json"), decided, 0o600))
	lab.honest, lab.homely = installedTrees(lab.full), harness.Listing(lab.home, contentOf)

	lock, err := os.ReadFile(filepath.Join(project, "skl.lock"))
	ts.Check(err)
	bench, err := lab.bench(-1)
	ts.Check(err)
	for _, trial := range bench.try(string(lock)) {
		if !trial.accepted {
			ts.Fatalf("the honest lock is refused by %s: exit %d %s\n%s", trial.run, trial.exit, trial.code, trial.output)
		}
	}
	other := strings.TrimSpace(harness.RunGit(ts, filepath.Join(work, "forge", "owner", "tools.git"), "rev-parse", "v1.1.0"))
	all := edits(string(lock), []string{other})
	if !long.All() {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = eachKind(all)
		all = all[:min(len(all), long.Of(20, 120, 0))]
	}
	lab.judge(ts, all)
}

// eachKind keeps the first edit of each kind of each field. What a value becomes, or which entry it comes from, makes no kind.
func eachKind(all []hostileEdit) (out []hostileEdit) {
	seen := map[string]bool{}
	for _, e := range all {
		kind := e.kind
		for _, word := range []string{"of ", "to ", "added "} {
			if strings.HasPrefix(kind, word) && kind != "of another type" {
				kind = word
			}
		}
		if key := e.field + " " + kind; !seen[key] {
			seen[key] = true
			out = append(out, e)
		}
	}
	return out
}

// judge tries the edits, as many at once as there are processors, and compares what passes with the table.
func (l *lockLab) judge(ts *testscript.TestScript, all []hostileEdit) {
	start := time.Now()
	results := make([][]lockTrial, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	for n := range max(2, runtime.GOMAXPROCS(0)) {
		b, err := l.bench(n)
		ts.Check(err)
		wg.Go(func() {
			for i := range next {
				results[i] = b.try(all[i].text)
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wg.Wait()
	used := make([]bool, len(harmless))
	refused, passed, bad := 0, 0, 0
	fail := func(e hostileEdit, trial lockTrial, what string) {
		if bad++; bad <= 2000 {
			ts.Logf("%s | %s: %s (exit %d %s)", e, trial.run, what, trial.exit, trial.code)
		}
	}
	for i, trials := range results {
		for _, trial := range trials {
			switch {
			case trial.wrote != "":
				fail(all[i], trial, "wrote "+trial.wrote)
			case !trial.accepted && (trial.exit >= 2 && trial.exit <= 4 || trial.exit == 1 && slices.Contains(refusedBy, trial.code)):
				refused++
			case !trial.accepted:
				fail(all[i], trial, "neither refused nor accepted: "+trial.output)
			case !excused(all[i], trial.run, used):
				fail(all[i], trial, "accepted")
			default:
				passed++
			}
		}
	}
	ts.Logf("%d edits in %s: %d runs refused, %d accepted by the table", len(all), time.Since(start).Round(time.Second), refused, passed)
	for i, row := range harmless {
		if !used[i] && slices.ContainsFunc(all, row.speaksOf) && long.All() {
			bad++
			ts.Logf("the row %+v of the table excuses nothing: remove it", row)
		}
	}
	if bad > 0 {
		ts.Fatalf("%d of the trials fail", bad)
	}
}

// excused reports whether the table lets an edit pass, and marks the row.
func excused(e hostileEdit, run string, used []bool) bool {
	if slices.ContainsFunc(harmlessAtTimes, func(row harmlessRow) bool { return row.excuses(e, run) }) {
		return true
	}
	for i, row := range harmless {
		if row.excuses(e, run) {
			used[i] = true
			return true
		}
	}
	return false
}

// excuses reports whether the row lets the edit pass in a run.
func (row harmlessRow) excuses(e hostileEdit, run string) bool {
	return slices.Contains(strings.Fields(row.runs), run) && row.speaksOf(e)
}

// speaksOf reports whether the row is about the edit, in some run.
func (row harmlessRow) speaksOf(e hostileEdit) bool {
	return (row.entry == "" || slices.Contains(strings.Fields(row.entry), e.entry)) &&
		row.field == e.field && regexp.MustCompile(`^(?:`+row.kind+`)$`).MatchString(e.kind)
}

// A lockBench is the projects that one worker tries locks in.
type lockBench struct {
	*lockLab
	dir    string
	places []lockPlace
}

type lockPlace struct {
	dir, from string
	runs      []string
	pristine  []string // what is in it, without the lock
}

// bench makes the projects of a worker: ci where nothing is installed ("bare"), and check, verify and ci where everything is.
func (l *lockLab) bench(n int) (*lockBench, error) {
	b := &lockBench{lockLab: l, dir: filepath.Join(l.work, "trials", fmt.Sprint(n))}
	b.places = []lockPlace{{from: l.full, runs: []string{"verify", "check", "ci"}}, {from: l.bare, runs: []string{"bare"}}}
	for i := range b.places {
		p := &b.places[i]
		p.dir = filepath.Join(b.dir, filepath.Base(p.from))
		if err := p.restore(); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (p *lockPlace) restore() error {
	err := errors.Join(os.RemoveAll(p.dir), os.CopyFS(p.dir, os.DirFS(p.from)))
	p.pristine = p.list()
	return err
}

// list is what is in the project, the lock aside.
func (p *lockPlace) list() []string {
	return slices.DeleteFunc(harness.Listing(p.dir, touched), func(line string) bool { return strings.Contains(line, " skl.lock ") })
}

// try runs all commands on a lock. All read it with one parser, so what that refuses is tried once.
func (b *lockBench) try(lock string) []lockTrial {
	var out []lockTrial
	for i := range b.places {
		p := &b.places[i]
		for _, run := range p.runs {
			trial := b.run(p, run, lock)
			out = append(out, trial)
			if trial.code == "lock_corrupt" || trial.code == "lock_version" {
				return out
			}
		}
	}
	return out
}

// run is one command in a project, with a home of its own.
func (b *lockBench) run(p *lockPlace, run, lock string) lockTrial {
	home, path := filepath.Join(b.dir, "home"), filepath.Join(p.dir, "skl.lock")
	err := os.WriteFile(path, []byte(lock), 0o644)
	if !slices.Equal(harness.Listing(home, contentOf), b.homely) { // the last run left something there
		err = errors.Join(err, os.RemoveAll(home), os.CopyFS(home, os.DirFS(b.home)))
	}
	if err != nil {
		return lockTrial{run: run, exit: -1, output: err.Error()}
	}
	command := run
	if run == "bare" {
		command = "ci"
	}
	var stdout, stderr bytes.Buffer
	exit := cli.Run(context.Background(), []string{command, "--json"}, cli.Process{Dir: p.dir, Environ: append(harness.GitEnv(home), b.env...), Stdout: &stdout, Stderr: &stderr})
	trial := lockTrial{run: run, exit: exit, accepted: exit == 0, output: stdout.String() + stderr.String()}
	if code := regexp.MustCompile(`"code": "([^"]*)"`).FindStringSubmatch(trial.output); code != nil {
		trial.code = code[1]
	}
	after, text := p.list(), contentOf(path)
	if changed := !slices.Equal(after, p.pristine); changed {
		for _, line := range after {
			if !slices.Contains(p.pristine, line) {
				trial.wrote = line
			}
		}
		if trial.accepted && command == "ci" {
			// It installed what was missing: exactly what the honest lock gives.
			trial.wrote = ""
			for name, tree := range installedTrees(p.dir) {
				if b.honest[name] != tree {
					trial.wrote = name + ", which is not what the honest lock has"
				}
			}
		}
		if err := p.restore(); err != nil {
			trial.wrote = err.Error()
		}
	}
	if text != fmt.Sprintf(" %x", lock) {
		trial.wrote = "skl.lock"
	}
	for _, line := range harness.Listing(home, contentOf) {
		if path := strings.Fields(line)[1]; !strings.HasPrefix(path, ".cache") && !strings.HasPrefix(path, ".local") && !slices.Contains(b.homely, line) {
			trial.wrote = "home " + line
		}
	}
	return trial
}

// touched tells whether a file was written: nothing sets times back.
func touched(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return " " + err.Error()
	}
	return fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
}

func contentOf(path string) string {
	data, _ := os.ReadFile(path)
	return fmt.Sprintf(" %x", data)
}

// installedTrees is what lies in a project's root, by skill: paths, modes and content.
func installedTrees(project string) map[string]string {
	root := filepath.Join(project, ".agents", "skills")
	out := map[string]string{}
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		out["error"] = err.Error()
	}
	for _, e := range entries {
		if e.Name() != ".skl" {
			out[e.Name()] = strings.Join(harness.Listing(filepath.Join(root, e.Name()), contentOf), "\n")
		}
	}
	return out
}
