package lock

import (
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/internal/tomledit"
)

// Format is l as the bytes of skl.lock. They depend on the content alone:
// Format(Parse(Format(l))) is Format(l). Fields that are empty are left out.
func (l *Lock) Format() []byte {
	skills := slices.Clone(l.Skills)
	sort.SliceStable(skills, func(i, j int) bool { return skills[i].Name < skills[j].Name })
	var w writer
	w.WriteString("version = " + strconv.Itoa(Version) + "\n" + l.unknown)
	for _, s := range skills {
		w.skill(clone(s))
	}
	return []byte(w.String())
}

type writer struct{ strings.Builder }

// skill writes one entry, in the order of the file format's description.
func (w *writer) skill(s Skill) {
	w.WriteString("\n[[skill]]\n")
	w.str("name", s.Name)
	w.str("skill", s.Skill)
	w.str("ref", s.Ref)
	w.str("source", s.Source)
	w.str("url", s.URL)
	w.str("path", s.Path)
	w.str("ref_kind", string(s.RefKind))
	w.str("version", s.Version)
	w.str("commit", string(s.Commit))
	w.str("manifest", string(s.Manifest))
	w.str("moved", s.Moved)
	w.str("artifact", string(s.Artifact))
	w.str("tree", string(s.Tree))
	w.number("files", int64(s.Files))
	w.number("bytes", s.Bytes)
	w.str("root", s.Root)
	w.list("requires", s.Requires)
	w.list("required_by", s.RequiredBy)
	w.list("permissions", s.Permissions)
	w.list("findings", s.Findings)
	if len(s.GeneratedFrom) > 0 {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(s.GeneratedFrom)) {
			pairs = append(pairs, tomledit.QuoteKey(key)+" = "+tomledit.Quote(s.GeneratedFrom[key]))
		}
		w.WriteString("generated_from = { " + strings.Join(pairs, ", ") + " }\n")
	}
	if s.Unsigned {
		w.WriteString("unsigned = true\n")
	}
	w.WriteString(s.unknown)
	if s.Signer != nil {
		w.WriteString("\n[skill.signer]\n")
		w.str("kind", s.Signer.Kind)
		w.str("issuer", s.Signer.Issuer)
		w.str("identity", s.Signer.Identity)
		w.str("repository", s.Signer.Repository)
		w.str("ref", s.Signer.Ref)
		w.str("runner", s.Signer.Runner)
		w.str("key", s.Signer.Key)
		w.WriteString(s.unknownSigner)
	}
	if s.Log != nil {
		w.WriteString("\n[skill.log]\n")
		w.str("origin", s.Log.Origin)
		w.number("index", s.Log.Index)
		w.str("entry", s.Log.Entry)
		w.str("checkpoint", s.Log.Checkpoint)
		w.list("proof", s.Log.Proof)
		w.WriteString(s.unknownLog)
	}
}

func (w *writer) str(key, value string) {
	if value != "" {
		w.WriteString(key + " = " + tomledit.Quote(value) + "\n")
	}
}

func (w *writer) number(key string, n int64) {
	if n != 0 {
		w.WriteString(key + " = " + strconv.FormatInt(n, 10) + "\n")
	}
}

func (w *writer) list(key string, list []string) {
	if len(list) > 0 {
		w.WriteString(key + " = " + tomledit.QuoteList(list) + "\n")
	}
}
