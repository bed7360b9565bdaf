package manifest

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
)

// A Side is one of two that were merged.
type Side string

// The sides, as git calls them.
const (
	Ours   Side = "ours"
	Theirs Side = "theirs"
)

// A Clash is what both sides say of one entry.
type Clash struct {
	Entry        string // a path: skills.pdf
	Ours, Theirs string // as TOML on one line
	Line         int    // of the first marker of the file
	Unknown      bool   // what both sides come from is not known
}

// A Taken is what became of an entry that the sides do not agree on.
type Taken struct {
	Entry string
	From  Side
	Text  string // as TOML on one line; "" for an entry that goes
	Other string // what the other side says; "" if nothing
}

// Merge makes one manifest of the two sides of a merge, of the file of this name. Of an entry that the sides do not agree on the side is taken
// that changed it since the common ancestor, or of two ranges of versions of one skill the one inside the other. Whatever that leaves is decided
// by pick: without an ancestor every entry that one side alone has, since nobody knows whether that one added it or the other removed it.
// Comments of both sides stay where the text of both fits together; those of theirs are lost else, which told says.
func Merge(sides *conflict.Sides, file string, pick func(Clash) (Side, error)) (m *Manifest, taken []Taken, told string, err error) {
	g := merging{sides: sides, file: file, pick: pick, final: map[string]string{}, from: map[string]Side{}}
	if err := g.read(); err != nil {
		return nil, nil, "", err
	}
	if err := g.decide(); err != nil {
		return nil, nil, "", err
	}
	if m, err = Parse(g.text(), file); err == nil && maps.Equal(items(m), g.final) {
		return m, g.taken, "", nil
	}
	if m, err = g.edited(); err != nil {
		return nil, nil, "", err
	}
	if !maps.Equal(items(m), g.final) {
		return nil, nil, "", diag.New(diag.Failed, CodeConflict, "the two sides cannot be written as one file").At(diag.Position{File: file, Line: sides.Line}).
			Hint("write it by hand, without the markers, then: skl lock")
	}
	return m, g.taken, "comments that only their side of " + file + " has were not kept", nil
}

// A merging is one call of Merge.
type merging struct {
	sides              *conflict.Sides
	file               string
	pick               func(Clash) (Side, error)
	mine, its          *Manifest
	ours, theirs, base map[string]string // items
	final              map[string]string
	from               map[string]Side // of entries that differ; those that go have none and are not in final
	taken              []Taken
}

// read reads both sides, and the ancestor if it is a manifest.
func (g *merging) read() (err error) {
	if g.mine, err = Parse(g.sides.Ours, g.file); err != nil {
		return ofSide(err, Ours, g.sides.Line)
	}
	if g.its, err = Parse(g.sides.Theirs, g.file); err != nil {
		return ofSide(err, Theirs, g.sides.Line)
	}
	g.ours, g.theirs = items(g.mine), items(g.its)
	if g.sides.Base != nil {
		if m, err := Parse(g.sides.Base, g.file); err == nil {
			g.base = items(m)
		}
	}
	return nil
}

// ofSide is the error of one side, whose lines are not those of the file.
func ofSide(err error, side Side, line int) error {
	e, ok := diag.Own(err)
	if !ok {
		return err
	}
	e.Message = string(side) + " is not a manifest: " + e.Message
	return e.At(diag.Position{File: e.Where.File, Line: line})
}

// decide chooses what becomes of each entry.
func (g *merging) decide() error {
	names := maps.Clone(g.ours)
	maps.Copy(names, g.theirs)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		mine, inOurs := g.ours[name]
		its, inTheirs := g.theirs[name]
		was, inBase := g.base[name]
		switch {
		case inOurs && inTheirs && (mine == its || g.sameSkill(name)):
			g.final[name] = mine
		case g.base != nil && inBase == inOurs && was == mine:
			g.take(name, Theirs, its, mine, inTheirs)
		case g.base != nil && inBase == inTheirs && was == its:
			g.take(name, Ours, mine, its, inOurs)
		default:
			side, err := g.side(name, mine, its)
			switch {
			case err != nil:
				return err
			case side == Theirs:
				g.take(name, Theirs, its, mine, inTheirs)
			default:
				g.take(name, Ours, mine, its, inOurs)
			}
		}
	}
	return nil
}

// sameSkill reports whether both sides say the same of a skill, written in another order.
func (g *merging) sameSkill(name string) bool {
	a, b, ok := g.skills(name)
	return ok && reflect.DeepEqual(a, b) && len(g.mine.Warnings)+len(g.its.Warnings) == 0
}

// skills are the entries of both sides, if the item of this name is a skill of both.
func (g *merging) skills(item string) (mine, its Skill, ok bool) {
	name, isSkill := strings.CutPrefix(item, "skills\x00")
	if !isSkill {
		return Skill{}, Skill{}, false
	}
	mine, inOurs := g.mine.Skill(name)
	its, inTheirs := g.its.Skill(name)
	return mine, its, inOurs && inTheirs
}

// side is the side that one entry is taken from, which both changed.
func (g *merging) side(name, mine, its string) (Side, error) {
	if a, b, ok := g.skills(name); ok && a.Version != "" && b.Version != "" {
		c := b
		if c.Version = a.Version; reflect.DeepEqual(a, c) {
			switch {
			case Within(a.Version, b.Version):
				return Ours, nil
			case Within(b.Version, a.Version):
				return Theirs, nil
			}
		}
	}
	return g.pick(Clash{Entry: shown(name), Ours: mine, Theirs: its, Line: g.sides.Line, Unknown: g.base == nil})
}

func (g *merging) take(name string, side Side, text, other string, stays bool) {
	if g.from[name] = side; stays {
		g.final[name] = text
	}
	g.taken = append(g.taken, Taken{shown(name), side, text, other})
}

// shown is the name of an item as a path.
func shown(item string) string {
	parts := strings.Split(item, "\x00")
	for i := range parts {
		parts[i] = tomledit.QuoteKey(parts[i])
	}
	return strings.Join(parts, ".")
}

// items is what m says, each entry as TOML on one line, by its path with NULs between: entries of tables one by one, [[ack]] by what it
// accepts.
func items(m *Manifest) map[string]string {
	out := map[string]string{}
	for _, f := range m.doc.Root.Fields {
		switch {
		case f.Key == "ack" && f.Value.Kind == tomledit.Array && len(m.Acks) == len(f.Value.Items):
			for i, a := range m.Acks {
				out[strings.Join([]string{"ack", a.Code, a.Name, a.Winner, a.Loser}, "\x00")] = f.Value.Items[i].Inline()
			}
		case f.Value.Kind == tomledit.Table:
			for _, in := range f.Value.Fields {
				out[f.Key+"\x00"+in.Key] = in.Value.Inline()
			}
		default:
			out[f.Key] = f.Value.Inline()
		}
	}
	return out
}

// edited is our side with what is taken from theirs.
func (g *merging) edited() (*Manifest, error) {
	m := g.mine
	for _, name := range slices.Sorted(maps.Keys(g.from)) {
		if g.from[name] != Theirs {
			continue
		}
		path := strings.Split(name, "\x00")
		text, stays := g.final[name]
		var err error
		switch {
		case path[0] == "ack":
			err = m.takeAck(g.its, path)
		case path[0] == "skills" && stays:
			s, _ := g.its.Skill(path[1])
			err = m.SetSkill(path[1], s)
		default:
			err = m.edit(func(doc *tomledit.Doc) error {
				if !stays {
					text = ""
				}
				return set(doc, path, text)
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// takeAck takes the acceptance with this path from another manifest, or removes it if that has none.
func (m *Manifest) takeAck(from *Manifest, path []string) error {
	a := Ack{Code: path[1], Name: path[2], Winner: path[3], Loser: path[4]}
	if i := slices.IndexFunc(from.Acks, a.same); i >= 0 {
		return m.AddAck(from.Acks[i])
	}
	return m.RemoveAck(a)
}

// text is the text of both sides as one file, with the lines of their hunks one behind the other below the header that they are below, and
// without the lines that were not taken. It may be no manifest: entries that are longer than a line are not looked into.
func (g *merging) text() []byte {
	var out bytes.Buffer
	at := 0
	for _, h := range g.sides.Hunks {
		out.Write(g.sides.Ours[at:h.At])
		at = h.At + len(h.Ours)
		table := lastHeader(out.Bytes())
		mine, its := g.sections(h.Ours, table, Ours), g.sections(h.Theirs, table, Theirs)
		for _, s := range mine {
			out.Write(s.head)
			out.Write(s.lines)
			if i := slices.IndexFunc(its, func(o section) bool { return o.name == s.name }); i >= 0 {
				out.Write(without(its[i].lines, s.lines))
				its = slices.Delete(its, i, i+1)
			}
		}
		for _, s := range its {
			out.Write(s.head)
			out.Write(s.lines)
		}
	}
	out.Write(g.sides.Ours[at:])
	return out.Bytes()
}

// A section is the lines below one header.
type section struct {
	name        string // the header, "" for lines below one before the hunk; of [[...]] with its lines, since each is one of its own
	head, lines []byte
}

// sections are the lines of one side of a hunk that stands below the header of table, without those of entries that are not taken from it.
func (g *merging) sections(text []byte, table string, side Side) []section {
	all := []section{{}}
	gone := false
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		s := &all[len(all)-1]
		if bytes.HasPrefix(trimmed, []byte("[")) {
			table = tableOf(trimmed)
			if gone = g.leaves(table, side); !gone {
				all = append(all, section{name: string(trimmed), head: line})
			}
			continue
		}
		if gone || g.leaves(join(table, tableOf(trimmed)), side) {
			continue
		}
		if s.lines = append(s.lines, line...); bytes.HasPrefix(s.head, []byte("[[")) {
			s.name += string(line)
		}
	}
	return all
}

// leaves reports whether the entry of an item is not taken from a side, though it has one.
func (g *merging) leaves(item string, side Side) bool {
	from, differs := g.from[item]
	_, stays := g.final[item]
	return differs && (!stays || from != side)
}

func join(table, key string) string {
	if table == "" || key == "" {
		return key
	}
	return table + "\x00" + key
}

// tableOf is the path that one line of TOML names first: a header, or the key of a value; "" if it is no such line.
func tableOf(line []byte) string {
	doc, err := tomledit.Parse(line)
	if err != nil || len(doc.Root.Fields) != 1 {
		return ""
	}
	f := doc.Root.Fields[0]
	if !bytes.HasPrefix(line, []byte("[")) || f.Value.Kind != tomledit.Table || len(f.Value.Fields) != 1 {
		return f.Key
	}
	return f.Key + "\x00" + f.Value.Fields[0].Key
}

// lastHeader is the path of the last header in text.
func lastHeader(text []byte) (table string) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("[")) {
			table = tableOf(line)
		}
	}
	return table
}

// without is the lines that are not among others.
func without(lines, others []byte) (out []byte) {
	had := map[string]bool{}
	for line := range bytes.Lines(others) {
		had[string(bytes.TrimSpace(line))] = true
	}
	for line := range bytes.Lines(lines) {
		if !had[string(bytes.TrimSpace(line))] {
			out = append(out, line...)
		}
	}
	return out
}
