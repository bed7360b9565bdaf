package inspect

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// offerLimits are those of a skill that is served over MCP: Skills extension of MCP, "Limits".
var offerLimits = bundle.Limits{Entries: 512, Bytes: 16 << 20}

// An Offer is a skill that models may have, with all of its files, as they were read at one time.
type Offer struct {
	Name        string // as its SKILL.md says
	Description string
	Front       []byte            // all of its frontmatter, as a JSON object
	Files       map[string][]byte // by slash path; that of a link has the bytes of the file that it leads to
}

// Offers reads the skills that models may have and whose name comes after one, in the order of their names. It calls each with
// every one until that returns false. One that cannot be served has an error, and nothing but its name.
func (in *Inspector) Offers(ctx context.Context, after string, each func(o Offer, err error) bool) error {
	l, err := in.Applier.Scope.Discover(ctx, nil)
	if err != nil {
		return err
	}
	gate, err := in.Applier.GateModels(ctx, apply.Glance, l.Skills)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range l.Skills {
		if r.State == roots.Active && r.Name > after && ref.IsWord(r.Name) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := ctx.Err(); err != nil {
			return err
		}
		o, err := offer(name, l.Lookup(name), gate)
		if apply.WithheldBy(err) != "" {
			continue
		}
		if err != nil {
			o = Offer{Name: name}
		}
		if !each(o, err) {
			return nil
		}
	}
	return nil
}

// Offer reads the skill that has exactly that name. Its error says why it is none that models may have, or none that can be served.
func (in *Inspector) Offer(ctx context.Context, name string) (Offer, error) {
	found, err := in.copiesOf(ctx, name)
	if err != nil {
		return Offer{}, err
	}
	gate, err := in.Applier.GateModels(ctx, apply.Glance, found)
	if err != nil {
		return Offer{}, err
	}
	return offer(name, found, gate)
}

// offer reads the active copy among found.
func offer(name string, found []roots.Record, gate *apply.ModelGate) (Offer, error) {
	r, t, err := readForModel(found, gate, readOffered)
	switch {
	case err != nil:
		return Offer{}, err
	case r.Name != name: // it is known by several spellings, and has one URI
		return Offer{}, diag.New(diag.Misuse, "unknown_skill", "no skill called %q is installed", name).Meant(r.Name)
	}
	o := Offer{Name: name, Files: make(map[string][]byte, len(t))}
	for file, f := range t {
		o.Files[file] = f.Data
	}
	o.Front, o.Description, err = offeredFront(name, t[skill.FileName].Data)
	if err != nil {
		return Offer{}, err
	}
	return o, nil
}

// notServed says why a skill cannot be served.
func notServed(format string, args ...any) *diag.Error {
	return diag.New(diag.Refused, "mcp_not_served", format, args...)
}

// readOffered reads all files of a skill within offerLimits, with those that links lead to in place of the links.
func readOffered(fsys fs.FS) (trees.Tree, error) {
	t, err := trees.ReadIn(fsys, offerLimits)
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Code == bundle.CodeTooMany {
		return nil, tooMany()
	} else if ok && e.Code == bundle.CodeTooBig {
		return nil, tooBig()
	} else if err != nil {
		return nil, err
	}
	out, size := make(trees.Tree, len(t)), int64(0)
	for name := range t {
		f, err := follow(t, name)
		if err != nil {
			return nil, err
		}
		if size += int64(len(f.Data)); size > offerLimits.Bytes {
			return nil, tooBig()
		}
		out[name] = f
	}
	return out, nil
}

func tooMany() error {
	return notServed("it has more than %d files, the limit of a skill that is served over MCP", offerLimits.Entries)
}

func tooBig() error {
	return notServed("its files have more than %d bytes, the limit of a skill that is served over MCP", offerLimits.Bytes)
}

// follow is the file that name is, or that it leads to as a link.
func follow(t trees.Tree, name string) (trees.File, error) {
	at := name
	for range len(t) {
		f, ok := t[at]
		if ok && f.Kind != bundle.Link {
			return f, nil
		} else if !ok {
			break
		}
		at = path.Join(path.Dir(at), string(f.Data))
	}
	return trees.File{}, notServed("its link %q does not lead to a file of it", name)
}

// offeredFront is the frontmatter of the SKILL.md of the skill name as JSON, and its description.
func offeredFront(name string, src []byte) (front []byte, description string, err error) {
	doc, err := skill.Read(src)
	if err != nil {
		return nil, "", err
	}
	for _, w := range doc.Warnings {
		if w.Rule == skill.RuleYAMLQuote {
			return nil, "", notServed("line %d of its %s is no YAML until the value is quoted", w.Line, skill.FileName).Hint("skl lint --fix")
		}
	}
	root := skill.Value{Kind: skill.Map, Fields: doc.Fields}
	text := func(key string) string {
		v, _ := root.Get(key)
		if js, err := v.JSON(); err != nil || !bytes.HasPrefix(js, []byte(`"`)) {
			return "" // a number, a list or nothing
		}
		return v.Text
	}
	own := text("name")
	switch {
	case own == "":
		return nil, "", notServed("the frontmatter of its %s has no name that is a text", skill.FileName)
	case text("description") == "":
		return nil, "", notServed("the frontmatter of its %s has no description that is a text", skill.FileName)
	case own != name:
		return nil, "", notServed("its %s calls it %q", skill.FileName, own)
	}
	if err := skill.CheckName(own, ""); err != nil {
		return nil, "", notServed("%w", err)
	}
	if front, err = root.JSON(); err != nil {
		return nil, "", notServed("its frontmatter cannot be written as JSON: %w", err)
	}
	return front, doc.Description, nil
}
