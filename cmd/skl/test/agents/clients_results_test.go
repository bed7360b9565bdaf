package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/testdata/long"
)

// The state in "skl list --json" of each copy in a generated layout is what each agent shows when it is started there:
// a copy that it loads or lists is shown, another one is not, and of copies that it takes in turn one is. The seed of a
// layout is in the name of its subtest. SKL_TEST_LONG=every tries 200 layouts, those after the seed
// SKL_TEST_CLIENTS_AFTER; SKL_TEST_CLIENTS_TABLE names a file for a table of results.
func TestClientsAgreeOnLayouts(t *testing.T) {
	all := realClients(t)
	n := long.Of(1, 3, 8)
	if long.Every() {
		n = 200
	}
	after := 0
	if text := os.Getenv("SKL_TEST_CLIENTS_AFTER"); text != "" {
		var err error
		if after, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	tallies := make([]tally, len(all))
	var mu sync.Mutex
	t.Run("seed", func(t *testing.T) {
		for seed := after + 1; seed <= after+n; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				l := newLayout(t, uint64(seed))
				for i, c := range all {
					t.Run(c.host, func(t *testing.T) {
						// Codex writes skills of its own into its directories, so that each client has its own listing.
						j := judgement{t: t, layout: l, client: c, of: usesOf(t, l.records(c.host), c.host)}
						j.judge()
						mu.Lock()
						defer mu.Unlock()
						tallies[i].add(j)
					})
				}
			})
		}
	})
	if file := os.Getenv("SKL_TEST_CLIENTS_TABLE"); file != "" {
		if err := os.WriteFile(file, []byte(clientsTable(all, tallies)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// records is what skl says of the copies, seen from where the client of host is started.
func (l *layout) records(host string) []roots.Record {
	l.T.Helper()
	cmd := l.Command("list", "--all", "--json", "--host", host)
	cmd.Dir = l.cwd
	out, err := cmd.Output()
	var listing roots.Listing
	if err == nil {
		err = json.Unmarshal(out, &listing)
	}
	if err != nil {
		l.T.Fatalf("skl list --json: %v\n%s", err, out)
	}
	return slices.DeleteFunc(listing.Skills, func(r roots.Record) bool { return r.Scope == roots.ScopeSystem })
}

// A use is what skl says of the copy in one real directory, for one host.
type use struct {
	name, use, digest string
}

func usesOf(t *testing.T, records []roots.Record, host string) map[string]use {
	t.Helper()
	uses := map[string]use{}
	for _, r := range records {
		dir, err := filepath.EvalSymlinks(r.Path)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Hosts, func(h roots.HostUse) bool { return h.Host == host })
		if at < 0 {
			t.Fatalf("skl says nothing of %s and %s", r.Path, host)
		}
		known, ok := uses[dir]
		if !ok || slices.Index(strength, r.Hosts[at].Use) < slices.Index(strength, known.use) { // links out of a project are copies of their own
			known = use{cmp.Or(nameFor(host, dir), r.Name), r.Hosts[at].Use, r.Digest}
		}
		uses[dir] = known
	}
	return uses
}

var strength = []string{hosts.Loads, hosts.Unstable, hosts.Listed, hosts.Hidden, hosts.Untrusted, hosts.Unread}

// nameFor is what the agent calls the skill in dir by its frontmatter; "" if that gives it no name.
func nameFor(host, dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, "SKILL.md"))
	if err != nil {
		return ""
	}
	if name, loads, known := skill.ReadAs(host, data); known && loads {
		return name
	}
	return ""
}

// A judgement compares one client's starts in one layout with what skl says.
type judgement struct {
	t             *testing.T
	layout        *layout
	client        realClient
	of            map[string]use // by real directory
	starts        int
	isOdd         bool     // its starts differ
	disagreements []string // their classes
}

func (j *judgement) judge() {
	ask := ""
	if j.client.host == "claude-code" {
		ask = j.command()
	}
	var first answer
	starts := 1
	if n := j.layout.seed; n%10 == 0 || n%4 == 0 && j.client.host == "opencode" {
		starts = 2
	}
	for range starts {
		a, err := j.client.start(j.client, j.layout, ask)
		if err != nil {
			j.t.Fatal(err)
		}
		j.compare(a)
		if ask != "" {
			j.compareCommand(ask, a.command)
		}
		if j.starts++; j.starts == 1 {
			first = a
		} else if !slices.Equal(first.shown, a.shown) {
			j.isOdd = true
		}
	}
}

// command is the name of a directory of which skl says that its skill runs as a command: one of several, if there is one. A directory
// with links of other names to it has no such name, and a skill for some paths may be no command.
func (j *judgement) command() (name string) {
	most := 0
	for _, dir := range slices.Sorted(maps.Keys(j.of)) {
		base := filepath.Base(dir)
		if j.of[dir].use != hosts.Loads || strings.ContainsAny(base, " ") || j.layout.is(dir, "paths") || j.layout.is(dir, "not for people") {
			continue
		}
		if slices.ContainsFunc(j.layout.at(dir), func(c laid) bool { return filepath.Base(c.path) != base }) {
			continue
		}
		same := 0
		for other, u := range j.of {
			if filepath.Base(other) == base && u.use != hosts.Unread {
				same++
			}
		}
		if same > most {
			most, name = same, base
		}
	}
	return name
}

func (j *judgement) compareCommand(name string, ran []string) {
	for _, dir := range ran {
		if j.of[dir].use == hosts.Loads {
			return
		}
	}
	if len(ran) == 0 {
		j.disagree("the command runs none", "/"+name, "")
		return
	}
	j.disagree("the command runs another", "/"+name, ran[0])
}

func (j *judgement) compare(a answer) {
	shown := map[string]bool{}
	for _, dir := range a.shown {
		shown[dir] = true
	}
	alike := func(dir string) bool { // it, or an identical copy of that name, is shown
		copies := j.layout.alike(dir)
		return slices.ContainsFunc(a.shown, func(other string) bool {
			return other == dir || j.isReported(other) && slices.Contains(copies, other) || j.of[dir].digest != "" && j.of[other].digest == j.of[dir].digest && j.of[other].name == j.of[dir].name
		})
	}
	unstable := map[string]int{} // by name: how many are shown
	for _, dir := range slices.Sorted(maps.Keys(j.of)) {
		u := j.of[dir]
		switch u.use {
		case hosts.Loads, hosts.Listed:
			if !alike(dir) && !j.unlisted(a, dir) {
				j.disagree(u.use+", and not shown", u.name, dir)
			}
		case hosts.Unstable:
			if shown[dir] {
				unstable[u.name]++
			} else {
				unstable[u.name] += 0
			}
		default:
			if shown[dir] && !j.excused(dir) {
				j.disagree(u.use+", and shown", u.name, dir)
			}
		}
	}
	for name, n := range unstable {
		if n != 1 && !(n == 0 && slices.ContainsFunc(a.shown, func(dir string) bool { return j.of[dir].use == hosts.Unstable && j.layout.isPath(dir, name) })) {
			j.disagree(fmt.Sprintf("unstable, and %d are shown", n), name, "")
		}
	}
	for _, dir := range a.shown {
		if _, ok := j.of[dir]; !ok && !j.isReported(dir) && !j.excused(dir) {
			j.disagree("shown, and not in the list", filepath.Base(dir), dir)
		}
	}
}

// isReported: a skill inside another, or directly in a root, is no copy of its own to skl, which warns of it.
func (j *judgement) isReported(dir string) bool {
	_, inside := j.of[filepath.Dir(dir)]
	return inside || strings.HasPrefix(filepath.Base(dir), "skill") && j.layout.kindOf(dir) != ""
}

// unlisted reports whether Claude Code knows a skill, by its command, that its list for the model leaves out: one for people alone, or
// one whose text has no marker in its first line. One for some paths it lists when a file there is read.
func (j *judgement) unlisted(a answer, dir string) bool {
	if j.client.host != "claude-code" {
		return false
	}
	return j.layout.is(dir, "paths") || slices.ContainsFunc(j.layout.at(dir), func(c laid) bool { return slices.Contains(a.commands, filepath.Base(c.path)) })
}

// excused: Claude Code names no directories, so that identical copies cannot be told apart.
func (j *judgement) excused(dir string) bool {
	if j.client.host != "claude-code" {
		return false
	}
	return slices.ContainsFunc(j.layout.alike(dir), func(other string) bool {
		use := j.of[other].use
		return other != dir && (use == hosts.Loads || use == hosts.Listed)
	})
}

func (j *judgement) disagree(class, name, dir string) {
	j.t.Helper()
	if !j.t.Failed() {
		j.t.Log(j.layout.describe())
	}
	if j.starts == 0 {
		j.disagreements = append(j.disagreements, class)
	}
	rel, _ := filepath.Rel(filepath.Dir(j.layout.Home), dir)
	j.t.Errorf("%s: %s: %q in %s [%s]; started in %s", j.client.host, class, name, rel, j.layout.kindOf(dir), strings.TrimPrefix(j.layout.cwd, filepath.Dir(j.layout.Home)))
}

// A tally is what came of all layouts for one client.
type tally struct {
	layouts, agree, starts, copies, odd, unstable int
	uses, classes                                 map[string]int
}

func (y *tally) add(j judgement) {
	if y.uses == nil {
		y.uses, y.classes = map[string]int{}, map[string]int{}
	}
	y.layouts++
	y.starts += j.starts
	y.copies += len(j.of)
	if len(j.disagreements) == 0 {
		y.agree++
	}
	if j.isOdd {
		y.odd++
	}
	unstable := false
	for _, u := range j.of {
		y.uses[u.use]++
		unstable = unstable || u.use == hosts.Unstable
	}
	if unstable {
		y.unstable++
	}
	for _, class := range j.disagreements {
		y.classes[class]++
	}
}

// clientsTable writes the results as Markdown.
func clientsTable(all []realClient, tallies []tally) string {
	var b strings.Builder
	b.WriteString("| agent | layouts | agree | starts | copies | loads | listed | hidden | unread | untrusted | unstable | layouts with unstable ones | starts differ |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i, c := range all {
		y := tallies[i]
		fmt.Fprintf(&b, "| %s %s | %d | %d | %d | %d |", c.host, c.version, y.layouts, y.agree, y.starts, y.copies)
		for _, use := range []string{hosts.Loads, hosts.Listed, hosts.Hidden, hosts.Unread, hosts.Untrusted, hosts.Unstable} {
			fmt.Fprintf(&b, " %d |", y.uses[use])
		}
		fmt.Fprintf(&b, " %d | %d |\n", y.unstable, y.odd)
	}
	b.WriteString("\n| agent | disagreement | copies |\n|---|---|---|\n")
	for i, c := range all {
		for _, class := range slices.Sorted(maps.Keys(tallies[i].classes)) {
			fmt.Fprintf(&b, "| %s | %s | %d |\n", c.host, class, tallies[i].classes[class])
		}
	}
	return b.String()
}
