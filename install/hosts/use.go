package hosts

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/skill"
)

// Use states: how a host treats one copy of a name, in the words of "skl list --json".
const (
	Loads     = "loads"     // this is the one it runs
	Listed    = "listed"    // the model is shown it, beside others
	Hidden    = "hidden"    // another copy is preferred
	Unread    = "unread"    // it does not look there
	Untrusted = "untrusted" // it looks there only in folders it was told to trust
	Unstable  = "unstable"  // one of several differing copies, not always the same
	Off       = "off"       // its settings keep the copy from its model: see Reader.Off
)

// A Copy is one real directory that holds a skill, however many paths lead to it.
type Copy struct {
	Places []Place
	Dir    string // its real directory, an absolute path
	Name   string // of its frontmatter; "" is that of its directory
	Front  string // the frontmatter, where hosts read it differently: see skill.Front
	Tree   string // tree digest; copies with the same one are identical; "" is unlike any other
	Linked bool   // its SKILL.md is a link

	Description, WhenToUse string // of its frontmatter

	Withheld bool // it says "disable-model-invocation: true", or is for some paths only
	Unusable bool // no host can load it: disabled, or unreadable
	Invalid  bool // the format does not allow it: hosts whose reading was not measured do not load it
}

// A Place is one path to a copy: its real directory, or a link to it.
type Place struct {
	Root  string // absolute path of the directory that is searched
	Rel   string // slash-separated path of the skill's directory, or of the link, below Root
	Whole bool   // there is a SKILL.md directly in Root
}

func (p Place) dir() string { return path.Base(p.Rel) }

func (p Place) isDotted() bool { return p.Rel[0] == '.' || strings.Contains(p.Rel, "/.") }

// Reads returns the absolute directories that h reads, strongest first. In a
// project these are the host's directories below Cwd and below each parent up to
// the project's top; of a CwdOnly host those below Cwd alone.
// Of a ByKind host a stronger directory is so at every level.
func (h Host) Reads(env Env) []string {
	var user []string
	project := h.projectReads(env)
	for _, dir := range h.UserReads {
		if dir = env.Expand(dir); dir != "" {
			user = append(user, dir)
		}
	}
	if h.UserFirst {
		return append(user, project...)
	}
	return append(project, user...)
}

func (h Host) projectReads(env Env) (project []string) {
	if env.Project == "" {
		return nil
	}
	levels := Levels(env.Project, env.Cwd)
	if h.CwdOnly {
		levels = levels[:1]
	}
	if h.ByKind {
		for _, dir := range h.ProjectReads {
			for _, level := range levels {
				project = append(project, filepath.Join(level, filepath.FromSlash(dir)))
			}
		}
		return project
	}
	for _, level := range levels {
		for _, dir := range h.ProjectReads {
			project = append(project, filepath.Join(level, filepath.FromSlash(dir)))
		}
	}
	return project
}

// Levels returns cwd and its parents up to project, nearest first. A cwd that
// is empty or not inside project counts as project itself.
func Levels(project, cwd string) []string {
	var levels []string
	for dir := cwd; dir != ""; dir = filepath.Dir(dir) {
		levels = append(levels, dir)
		if dir == project {
			return levels
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return []string{project}
}

// Use returns what h does with each of copies, of whatever names.
func Use(h Host, env Env, copies []Copy) []string {
	return h.Reader(env).Use(copies)
}

// A Reader is a host in one environment. It answers for many names without
// working out the host's directories each time.
type Reader struct {
	host  Host
	rank  map[string]int  // by directory; 0 is the strongest
	kinds []dirKind       // by rank
	shut  map[string]bool // directories that the host does not read because it was not told to trust the folder
	off   *switches
}

// A dirKind says whose a directory is.
type dirKind struct {
	dir  string
	user bool // the user's
	own  bool // the host puts the skills that come with it there
}

// Reader returns h's view from env.
func (h Host) Reader(env Env) Reader {
	r := Reader{host: h, rank: make(map[string]int), shut: make(map[string]bool), off: h.switches(env)}
	if h.Trust && env.Project != "" && h.FolderTrust(env) != TrustGiven {
		for _, dir := range h.projectReads(env) {
			r.shut[dir] = true
		}
	}
	users := 0
	for _, dir := range h.UserReads {
		if env.Expand(dir) != "" {
			users++
		}
	}
	all := h.Reads(env)
	for i, dir := range all {
		if _, ok := r.rank[dir]; !ok {
			r.rank[dir] = i
		}
		r.kinds = append(r.kinds, dirKind{dir: dir, user: h.UserFirst && i < users || !h.UserFirst && i >= len(all)-users, own: filepath.Base(dir) == ".system"})
	}
	return r
}

// Use returns what the host does with each of copies, of whatever names. Which of them have the same one, the host's own reading decides.
func (r Reader) Use(copies []Copy) []string {
	uses := make([]string, len(copies))
	seen := make([]sight, len(copies))
	var partly []int // off under one of the names that they may have
	for i, c := range copies {
		seen[i] = r.find(c)
		off, some := r.switched(c, seen[i])
		if some {
			partly = append(partly, i)
		}
		switch {
		case off != nil:
			uses[i], seen[i].rank = Off, -1
		case seen[i].rank >= 0:
		case seen[i].shut:
			uses[i] = Untrusted
		default:
			uses[i] = Unread
		}
	}
	for _, group := range r.byName(copies, seen) {
		r.judge(copies, seen, group, uses)
	}
	for _, i := range partly {
		if uses[i] == Loads || uses[i] == Listed {
			uses[i] = Unstable
		}
	}
	return uses
}

// Off is what keeps a copy from the host's model that it would else find, nil if nothing does.
func (r Reader) Off(c Copy) *Switch {
	off, _ := r.switched(c, r.find(c))
	return off
}

// Unclear are the files of the host's settings that could not be read: what they switch off is not known.
func (r Reader) Unclear() []Unclear { return r.off.unclear }

// switched is what keeps a copy from the host's model, under each name that it may have; some is true if it is kept under some of them only.
func (r Reader) switched(c Copy, s sight) (off *Switch, some bool) {
	if s.rank < 0 && !s.shut || len(r.off.rules) == 0 {
		return nil, false
	}
	on := false
	for _, name := range append([]string{s.name}, s.others...) {
		if at := r.off.of(name, c); at == nil {
			on = true
		} else if off == nil {
			off = at
		}
	}
	if on {
		return nil, off != nil
	}
	return off, false
}

// A sight is the strongest place through which a host sees a copy.
type sight struct {
	rank int  // -1 if it does not see it
	shut bool // it would see it, if it trusted the folder
	name string

	first, last string   // of the paths to it in that directory, by name
	others      []string // further names that it may have, where the path decides that
}

// byName groups the copies that the host sees by what it calls them, or may call them.
func (r Reader) byName(copies []Copy, seen []sight) map[string][]int {
	groups := make(map[string][]int)
	for i := range copies {
		if seen[i].rank >= 0 {
			for _, name := range append([]string{seen[i].name}, seen[i].others...) {
				groups[name] = append(groups[name], i)
			}
		}
	}
	return groups
}

// Takes reports whether h loads a copy that lies in a directory of that name where h looks.
func (h Host) Takes(c Copy, dir string) bool {
	name, loads := h.read(c)
	if loads && name == "" {
		_, loads = skill.DirName(h.ID, dir)
	}
	return loads
}

// read returns what the host calls a copy, "" for the name of its directory. loads is false if it does not load it.
func (h Host) read(c Copy) (name string, loads bool) {
	if c.Front != "" {
		if name, loads, known := skill.ReadAs(h.ID, []byte(c.Front)); known {
			return name, loads
		}
	}
	if h.ByDir {
		return "", !c.Invalid
	}
	return skill.NameKey(c.Name), !c.Invalid
}

func (r Reader) find(c Copy) sight {
	best := sight{rank: -1}
	if c.Unusable {
		return best
	}
	name, loads := r.host.read(c)
	if !loads || r.host.Unlinked && c.Linked {
		return best
	}
	for _, p := range c.Places {
		if p.isDotted() && r.host.isUndotted(p.Root) || r.host.Whole && p.Whole || r.host.Flat && strings.Contains(p.Rel, "/") {
			continue
		}
		rank, ok := r.rank[p.Root]
		own, named := name, true
		if own == "" {
			own, named = skill.DirName(r.host.ID, p.dir())
		}
		if ok && r.shut[p.Root] {
			if best.shut = true; best.rank < 0 {
				best.name = own
			}
			continue
		}
		switch {
		case !ok || !named:
		case best.rank < 0 || rank < best.rank:
			best = sight{rank: rank, shut: best.shut, name: own, first: p.Rel, last: p.Rel}
		case rank == best.rank && r.host.Merged:
			best.first, best.last = min(best.first, p.Rel), max(best.last, p.Rel)
			if own != best.name && !slices.Contains(best.others, own) {
				best.others = append(best.others, own)
			}
		case rank == best.rank && p.Rel < best.first:
			best.name, best.first, best.last = own, p.Rel, p.Rel
		}
	}
	return best
}

// isUndotted reports whether h passes by directories below root that start with a dot.
func (h Host) isUndotted(root string) bool {
	return slices.Contains(h.Undotted, "*") || slices.Contains(h.Undotted, filepath.Base(filepath.Dir(root)))
}

// judge compares the copies of one name, which are those of group.
func (r Reader) judge(copies []Copy, seen []sight, group []int, uses []string) {
	first := firsts(seen, group)
	if sure := slices.DeleteFunc(slices.Clone(group), func(i int) bool { return seen[i].others != nil }); len(sure) > 0 && len(sure) < len(group) {
		first = union(first, firsts(seen, sure))
	}
	var told []int // the copy that the model is told of, where that is another one
	if r.host.Withholds && copies[first[0]].Withheld {
		if rest := slices.DeleteFunc(slices.Clone(group), func(i int) bool { return copies[i].Withheld }); len(rest) > 0 {
			told = firsts(seen, rest)
		}
	}
	for _, i := range group {
		use := Hidden
		switch {
		case len(group) == 1:
			use = Loads
		case r.host.Rule == ListsAll:
			use = Listed
		case r.host.Rule == AnyWins && !identical(copies, group),
			slices.Contains(first, i) && !identical(copies, first):
			use = Unstable
		case r.host.Rule == AnyWins, i == first[0]:
			use = Loads
		case slices.Contains(told, i):
			use = Listed
		}
		if uses[i] != "" && uses[i] != use { // under its other name
			use = Unstable
		}
		uses[i] = use
	}
}

func union(a, b []int) []int {
	return append(a, slices.DeleteFunc(b, func(i int) bool { return slices.Contains(a, i) })...)
}

// firsts are those of group that come before all others: one, unless that depends on which of the paths to it a host meets first.
func firsts(seen []sight, group []int) []int {
	best := seen[group[0]]
	for _, i := range group {
		if s := seen[i]; s.rank < best.rank || s.rank == best.rank && s.last < best.last {
			best = s
		}
	}
	var all []int
	for _, i := range group {
		s := seen[i]
		isTaken := slices.ContainsFunc(all, func(j int) bool { return seen[j].first == s.first })
		if s.rank == best.rank && s.first <= best.last && !isTaken {
			all = append(all, i)
		}
	}
	return all
}

// identical reports whether those of group have the same content.
func identical(copies []Copy, group []int) bool {
	tree := copies[group[0]].Tree
	return len(group) == 1 || tree != "" && !slices.ContainsFunc(group, func(i int) bool { return copies[i].Tree != tree })
}
