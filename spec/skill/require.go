package skill

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// requiresKey is the entry of metadata that names the skills whose ops may be called.
const requiresKey = "skl-requires"

// Require adds a name to metadata.skl-requires, whose style stays: one splice, or none where the name is there. The name of a Ref
// is what stands behind its last slash and before "@". Its error is cannot_convert, also for a skill that SKILL.json describes.
func Require(src []byte, name string) ([]byte, error) {
	r, p := open(src)
	if p != nil {
		return nil, cannotConvert("%s", p.Message)
	}
	if r.fm.flowRoot {
		return nil, cannotConvert("the frontmatter is written in braces")
	}
	meta, _ := find(r.fm.root, "metadata")
	entry, there := find(meta.Value.Fields, requiresKey)
	if there && slices.ContainsFunc(requiredWords(entry.Value), func(word string) bool { return RefName(word) == name }) {
		return slices.Clone(src), nil
	}
	var at int
	var text string
	var err error
	switch v := entry.Value; {
	case !there:
		at, text, err = r.metadataInsert([]string{requiresKey + ": " + name})
	case v.IsNull() && v.Text == "":
		at, text = entry.KeySpan.End+1, " "+name
	case v.Kind == Scalar && strings.HasPrefix(v.Text, "["):
		return nil, cannotConvert("metadata.%s is a list in a text, which takes no more names by a splice", requiresKey)
	case v.Kind == Scalar && v.Style == Plain:
		at, text = v.End, " "+name
	case v.Kind == Scalar && v.Style == Quoted:
		at, text = v.End-1, " "+name
	case v.Kind == List && v.Style == Flow && len(v.Items) > 0:
		at, text = v.Items[len(v.Items)-1].End, ", "+name
	case v.Kind == List && v.Style == Lines && len(v.Items) > 0:
		last := v.Items[len(v.Items)-1]
		at, text = nextLine(src, last.End, r.fm.end), strings.Repeat(" ", v.Column-1)+"- "+name+r.lineBreak()
	default:
		return nil, cannotConvert("metadata.%s is written in a way that takes no more names", requiresKey)
	}
	if err != nil {
		return nil, err
	}
	out := Apply(src, []diag.Fix{{Start: at, End: at, Text: text}})
	if !requiresOnly(r, out, append(requiredWords(entry.Value), name)) {
		return nil, cannotConvert("metadata.%s would change", requiresKey)
	}
	return out, nil
}

// requiresOnly reports whether a changed file says what it said, but for the names it requires.
func requiresOnly(before *reader, out []byte, want []string) bool {
	after, p := open(out)
	if p != nil {
		return false
	}
	facts := func(fields []Field) map[string]string {
		f := fieldFacts(fields)
		delete(f, "metadata."+requiresKey)
		return f
	}
	meta, _ := find(after.fm.root, "metadata")
	entry, _ := find(meta.Value.Fields, requiresKey)
	_, same := sameFacts(facts(before.fm.root), facts(after.fm.root))
	return same && slices.Equal(requiredWords(entry.Value), want)
}

// requiredWords are the words of skl-requires: a list, or between blanks and commas.
func requiredWords(v Value) []string {
	if names, ok := v.texts(); ok && v.Kind == List {
		return names
	}
	if v.Kind != Scalar || v.IsNull() {
		return nil
	}
	return strings.FieldsFunc(v.Text, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' })
}

// Required are the names of the skills in metadata.skl-requires, each once, in order.
func (d *Document) Required() (names []string) {
	words, _ := d.Requires() // whoever installs it is told
	for _, word := range words {
		if name := RefName(word); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Requires are the references in metadata.skl-requires, between blanks and commas, or a list. Its error is that of a list that is none.
func (d *Document) Requires() (words []string, err error) {
	text, _ := d.Meta(requiresKey)
	if strings.HasPrefix(text, "[") {
		if json.Unmarshal([]byte(text), &words) != nil {
			return nil, diag.New(diag.Failed, "unreadable", "%s is not a list of references", requiresKey)
		}
		return words, nil
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' }), nil
}

// RefName is the name of the skill in a word that means one, and may be no reference.
func RefName(word string) string {
	if !strings.Contains(word, "://") {
		word, _, _ = strings.Cut(word, "@") // a branch can have slashes
	}
	word = word[strings.LastIndexAny(word, "/#")+1:]
	word, _, _ = strings.Cut(word, "@")
	word, _, _ = strings.Cut(word, ":")
	return word
}
