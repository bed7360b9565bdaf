package hosts

import "path/filepath"

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
	Tree     string // tree digest; copies with the same one are identical; "" is unlike any other
	Unusable bool   // no host can load it: disabled, no description
}

// A Place is one path to a copy: its real directory, or a link to it.
type Place struct {
	Root  string // absolute path of the directory that is searched
	Dir   string // name of the skill's directory, or of the link
	Depth int    // 1 is directly below Root
}

// Reads returns the absolute directories that h reads, strongest first. In a
// project these are the host's directories below Cwd and below each parent up to
// the project's top; of a CwdOnly host those below Cwd alone.
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
	for _, level := range Levels(env.Project, env.Cwd) {
		for _, dir := range h.ProjectReads {
			project = append(project, filepath.Join(level, filepath.FromSlash(dir)))
		}
		if h.CwdOnly {
			break
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

// Use returns what h does with each of copies, which all have one name.
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

// Use returns what the host does with each of copies, which all have one name.
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
	for i := range copies {
		if seen[i].rank >= 0 {
			uses[i] = r.judge(copies, seen, i)
		}
	}
	return uses
}

// A sight is the strongest place through which a host sees a copy.
type sight struct {
	rank int  // -1 if it does not see it
	shut bool // it would see it, if it trusted the folder
	dir  string
}

func (r Reader) find(c Copy) sight {
	best := sight{rank: -1}
	if c.Unusable {
		return best
	}
	for _, p := range c.Places {
		rank, ok := r.rank[p.Root]
		if ok && r.shut[p.Root] {
			best.shut = best.shut || !(r.host.Flat && p.Depth > 1)
			continue
		}
		if ok && (best.rank < 0 || rank < best.rank) && !(r.host.Flat && p.Depth > 1) {
			best = sight{rank: rank, dir: p.Dir}
		}
	}
	return best
}

// judge compares copy i with the others that the host reads and takes for the
// same skill.
func (r Reader) judge(copies []Copy, seen []sight, i int) string {
	strongest, alone, same := true, true, true
	for j, other := range copies {
		if j == i || seen[j].rank < 0 || r.host.ByDir && seen[j].dir != seen[i].dir {
			continue
		}
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
