package hosts

import (
	"cmp"
	"path/filepath"

	"github.com/skl-project/skl/spec/skill"
)

// What a host does with one copy of a name, in the words of "skl list --json".
const (
	Loads     = "loads"     // this is the one it runs
	Listed    = "listed"    // the model is shown it, beside others
	Hidden    = "hidden"    // another copy is preferred
	Unread    = "unread"    // it does not look there
	Untrusted = "untrusted" // it looks there only in folders it was told to trust
	Unstable  = "unstable"  // one of several differing copies, not always the same
)

// A Copy is one real directory that holds a skill, however many paths lead to it.
type Copy struct {
	Places   []Place
	Name     string // of its frontmatter; "" is that of its directory
	Front    string // the frontmatter, where hosts read it differently: see skill.Front
	Tree     string // tree digest; copies with the same one are identical; "" is unlike any other
	Linked   bool   // its SKILL.md is a link
	Unusable bool   // no host can load it: disabled, or unreadable
	Invalid  bool   // the format does not allow it: hosts whose reading was not measured do not load it
}

// A Place is one path to a copy: its real directory, or a link to it.
type Place struct {
	Root  string // absolute path of the directory that is searched
	Dir   string // name of the skill's directory, or of the link
	Depth int    // 1 is directly below Root

	Whole  bool // there is a SKILL.md directly in Root
	Dotted bool // Dir, or a directory above it and below Root, starts with a dot
}

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
	host Host
	rank map[string]int  // by directory; 0 is the strongest
	shut map[string]bool // directories that the host does not read because it was not told to trust the folder
}

// Reader returns h's view from env.
func (h Host) Reader(env Env) Reader {
	r := Reader{host: h, rank: make(map[string]int), shut: make(map[string]bool)}
	if h.Trust && env.Project != "" && h.FolderTrust(env) != TrustGiven {
		for _, dir := range h.projectReads(env) {
			r.shut[dir] = true
		}
	}
	for i, dir := range h.Reads(env) {
		if _, ok := r.rank[dir]; !ok {
			r.rank[dir] = i
		}
	}
	return r
}

// Use returns what the host does with each of copies, of whatever names. Which of them have the same one, the host's own reading decides.
func (r Reader) Use(copies []Copy) []string {
	uses := make([]string, len(copies))
	seen := make([]sight, len(copies))
	for i, c := range copies {
		seen[i] = r.find(c)
		switch {
		case seen[i].rank >= 0:
		case seen[i].shut:
			uses[i] = Untrusted
		default:
			uses[i] = Unread
		}
	}
	for _, same := range r.byName(copies, seen) {
		for i := range same {
			uses[same[i]] = r.judge(copies, seen, same, same[i])
		}
	}
	return uses
}

// A sight is the strongest place through which a host sees a copy.
type sight struct {
	rank int  // -1 if it does not see it
	shut bool // it would see it, if it trusted the folder
	name string
}

// byName groups the copies that the host sees by what it calls them.
func (r Reader) byName(copies []Copy, seen []sight) map[string][]int {
	groups := make(map[string][]int)
	for i := range copies {
		if seen[i].rank >= 0 {
			groups[seen[i].name] = append(groups[seen[i].name], i)
		}
	}
	return groups
}

// read returns what the host calls a copy, "" for the name of its directory. loads is false if it does not load it.
func (r Reader) read(c Copy) (name string, loads bool) {
	if c.Front != "" {
		if name, loads, known := skill.ReadAs(r.host.ID, []byte(c.Front)); known {
			return name, loads
		}
	}
	if r.host.ByDir {
		return "", !c.Invalid
	}
	return skill.NameKey(c.Name), !c.Invalid
}

func (r Reader) find(c Copy) sight {
	best := sight{rank: -1}
	if c.Unusable {
		return best
	}
	name, loads := r.read(c)
	if !loads || r.host.Unlinked && c.Linked {
		return best
	}
	for _, p := range c.Places {
		if r.host.Undotted && p.Dotted || r.host.Whole && p.Whole || r.host.Flat && p.Depth > 1 {
			continue
		}
		rank, ok := r.rank[p.Root]
		if ok && r.shut[p.Root] {
			best.shut = true
			continue
		}
		if ok && (best.rank < 0 || rank < best.rank) {
			best = sight{rank: rank, shut: best.shut, name: cmp.Or(name, p.Dir)}
		}
	}
	return best
}

// judge compares copy i with those that have its name.
func (r Reader) judge(copies []Copy, seen []sight, group []int, i int) string {
	strongest, alone, same := true, true, true
	for _, j := range group {
		if j == i {
			continue
		}
		other := copies[j]
		alone = false
		same = same && other.Tree != "" && copies[i].Tree == other.Tree
		if seen[j].rank < seen[i].rank || seen[j].rank == seen[i].rank && j < i {
			strongest = false
		}
	}
	switch {
	case alone, same && r.host.Rule == AnyWins:
		return Loads
	case r.host.Rule == AnyWins:
		return Unstable
	case r.host.Rule == ListsAll:
		return Listed
	case strongest:
		return Loads
	case r.host.Rule == ListsOthers:
		return Listed
	}
	return Hidden
}
