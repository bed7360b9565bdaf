package bundle

import "strings"

// names knows every path of a bundle and the directories they imply, and
// refuses what cannot exist side by side on every file system.
type names struct {
	nodes map[string]node // by folded path
	dir   string          // the last directory that was added: the next path is often beside it
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
	key := Fold(p)
	if had, ok := n.nodes[key]; ok {
		switch {
		case had.path != p:
			return collision(p, had.path)
		case had.dir:
			return conflict(p)
		}
		return refuse(CodeDuplicate, "path %q occurs twice", p)
	}
	n.set(key, node{path: p, link: link})
	return nil
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
		key := Fold(dir)
		had, ok := n.nodes[key]
		switch {
		case ok && had.path != dir:
			return collision(dir, had.path)
		case ok && !had.dir:
			return conflict(dir)
		case !ok:
			n.set(key, node{path: dir, dir: true})
		}
	}
	n.dir = p
	return nil
}

func (n *names) set(key string, v node) {
	if n.nodes == nil {
		n.nodes = make(map[string]node)
	}
	n.nodes[key] = v
}

// at returns what is at exactly p.
func (n *names) at(p string) (node, bool) {
	v, ok := n.nodes[Fold(p)]
	return v, ok && v.path == p
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
	return refuse(CodePathCollision, "paths %q and %q are the same on some file systems", other, p)
}

func conflict(p string) error {
	return refuse(CodePathConflict, "path %q is both a directory and a file or link", p)
}
