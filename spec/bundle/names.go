package bundle

import "strings"

// names knows every path of a bundle and the directories they imply. It refuses what cannot exist side by side: on every file system if it is strict, else
// on any.
type names struct {
	strict bool
	nodes  map[string]node   // by path
	folded map[string]string // the first path that is written otherwise, by the folded one
	skill  string            // SKILL.md, or what some file system opens when asked for it
	dir    string            // the last directory that was added: the next path is often beside it
}

type node struct {
	path string
	link string // text of a link, else ""
	dir  bool
}

// add adds a file or link.
func (n *names) add(p, link string) error {
	if err := n.addDir(parent(p)); err != nil {
		return err
	}
	if had, ok := n.nodes[p]; ok {
		if had.dir {
			return conflict(p)
		}
		return refuse(CodeDuplicate, "path %q occurs twice", p)
	}
	return n.set(node{path: p, link: link})
}

// addDir adds a directory and those above it. Adding one again is fine.
func (n *names) addDir(p string) error {
	if p == n.dir {
		return nil
	}
	for end := 0; end < len(p); end++ {
		i := strings.IndexByte(p[end:], '/')
		if i < 0 {
			end = len(p)
		} else {
			end += i
		}
		dir := p[:end]
		had, ok := n.nodes[dir]
		switch {
		case ok && !had.dir:
			return conflict(dir)
		case !ok:
			if err := n.set(node{path: dir, dir: true}); err != nil {
				return err
			}
		}
	}
	n.dir = p
	return nil
}

// set takes in a new path.
func (n *names) set(v node) error {
	if Means(v.path, skillMD) { // what an agent reads must not depend on the file system
		if n.skill != "" {
			return collision(v.path, n.skill)
		}
		n.skill = v.path
	}
	if other := n.same(v.path); other != "" && n.strict {
		return collision(v.path, other)
	}
	if n.nodes == nil {
		n.nodes = make(map[string]node)
	}
	n.nodes[v.path] = v
	return nil
}

// same is a path that is p on some file systems, and notes how p is written; "" if there is none.
func (n *names) same(p string) string {
	key := Fold(p)
	other, ok := n.folded[key]
	if v, there := n.nodes[key]; !ok && key != p && there {
		other = v.path
	}
	if key != p && !ok {
		if n.folded == nil {
			n.folded = make(map[string]string)
		}
		n.folded[key] = p
	}
	return other
}

// at returns what is at p.
func (n *names) at(p string) (node, bool) {
	v, ok := n.nodes[p]
	return v, ok
}

// resolve follows the link at p to the regular file it leads to. Every
// directory on the way must be a real one, as it must for the system.
func (n *names) resolve(p, target string) error {
	first, to := p, target
	for range n.nodes {
		at := parent(p)
		for e := range strings.SplitSeq(target, "/") {
			if v, ok := n.at(at); at != "" && (!ok || !v.dir) {
				return broken(first, to)
			}
			switch {
			case e == ".":
			case e == "..":
				at = parent(at)
			case e == "":
				return broken(first, to)
			case at == "":
				at = e
			default:
				at += "/" + e
			}
		}
		v, ok := n.at(at)
		switch {
		case !ok || v.dir:
			return broken(first, to)
		case v.link == "":
			return nil
		}
		p, target = v.path, v.link
	}
	return refuse(CodeLinkBroken, "link %q leads to %q, in a circle", first, to)
}

// parent is the directory of p, "" for the root.
func parent(p string) string { return p[:max(0, strings.LastIndexByte(p, '/'))] }

func broken(p, target string) error {
	return refuse(CodeLinkBroken, "link %q leads to %q, which is not a regular file of the bundle", p, target)
}

func collision(p, other string) error {
	return refuse(CodePathCollision, "paths %s", OneName(other, p))
}

// Unportable says of paths, which a [Guard] let through, why some system cannot hold them: each that cannot lie there, and each that is another's there.
func Unportable(paths []string) (why []error) {
	n := names{strict: true}
	for _, p := range paths {
		if err := CheckPortable(p); err != nil {
			why = append(why, err)
		}
		if err := n.add(p, ""); err != nil {
			why = append(why, err)
		}
	}
	return why
}

func conflict(p string) error {
	return refuse(CodePathConflict, "path %q is both a directory and a file or link", p)
}
