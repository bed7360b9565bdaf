package rpkg

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/pkgdoc/rd"
	"github.com/skl-project/skl/spec/pkgdoc/rds"
)

// database opens the objects that an installed package keeps in a folder.
func (r *reader) database(dir string) (*rds.DB, error) {
	base := path.Join(dir, r.p.Name)
	index, err := r.files.Read(base + ".rdx")
	if err != nil {
		return nil, err
	}
	data, err := r.files.Read(base + ".rdb")
	if err != nil {
		return nil, err
	}
	return rds.Open(index, data)
}

// installedTopics are the topics of the database of help, which holds what Rd files say.
func (r *reader) installedTopics() ([]topic, error) {
	db, err := r.database("help")
	if errors.Is(err, fs.ErrNotExist) {
		r.p.Note("help", 0, "it was installed without help")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := slices.Clone(db.Names)
	slices.Sort(names)
	var out []topic
	for _, n := range names {
		file := "man/" + n + ".Rd"
		v, err := db.Value(n)
		if err != nil {
			r.leaveOut(file, err)
			continue
		}
		out = append(out, topic{file, merged(nodesOf(v, 0))})
	}
	return out, nil
}

// nodesOf are the nodes that a list of R's parser holds: each element has its tag as an attribute.
func nodesOf(v rds.Value, depth int) (out []rd.Node) {
	if depth > rd.MaxDepth {
		return nil
	}
	for _, e := range v.List {
		n := rd.Node{Tag: e.Attribute("Rd_tag").String()}
		switch n.Tag {
		case "COMMENT", "USERMACRO", `\newcommand`, `\renewcommand`:
			continue
		case rd.Text, rd.Code, rd.Verbatim:
			n.Str = e.String()
		case "UNKNOWN":
			n.Tag, n.Str = rd.Text, ""
		case "#ifdef", "#ifndef":
			n = rd.Node{Tag: rd.List}
			if system := rd.Plain(nodesOf(rds.Value{List: e.List[:min(1, len(e.List))]}, depth+1)); len(e.List) > 1 && (e.Attribute("Rd_tag").String() == "#ifdef") == (strings.TrimSpace(system) == "unix") {
				n.Children = nodesOf(e.List[1], depth+1)
			}
		case "":
			n.Tag = rd.List
			fallthrough
		default:
			n.Children = nodesOf(e, depth+1)
			if o := e.Attribute("Rd_option"); o.IsList {
				n.Option = nodesOf(o, depth+1)
			} else if text := o.String(); text != "" {
				n.Option = []rd.Node{{Tag: rd.Text, Str: text}}
			}
		}
		out = append(out, n)
	}
	return out
}

// merged joins neighbouring leaves of one tag: R's parser has one for each line.
func merged(nodes []rd.Node) []rd.Node {
	var out []rd.Node
	for _, n := range nodes {
		if n.Children = merged(n.Children); len(n.Children) == 0 {
			n.Children = nil
		}
		if last := len(out) - 1; last >= 0 && out[last].Tag == n.Tag && (n.Tag == rd.Text || n.Tag == rd.Code || n.Tag == rd.Verbatim) {
			out[last].Str += n.Str
			continue
		}
		out = append(out, n)
	}
	return out
}

// installedNames are the objects of an installed package.
func (r *reader) installedNames() ([]string, error) {
	base := path.Join("R", r.p.Name)
	index, err := r.files.Read(base + ".rdx")
	if err != nil {
		return nil, err
	}
	db, err := rds.Open(index, nil)
	if err != nil {
		return nil, err
	}
	return db.Names, nil
}
