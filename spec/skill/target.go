package skill

import (
	"bytes"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// targets are the dialects of a SKILL.md, with the host whose keys each one reads.
var targets = map[string]string{"base": "", "v1": "", "claude": "claude-code", "copilot": "github-copilot", "codex": "codex", "openclaw": "openclaw"}

// Targets are the dialects that [To] writes, in the order of their guide.
func Targets() []string { return []string{"v1", "base", "claude", "copilot", "codex", "openclaw"} }

// added marks lines that a conversion to v1 wrote, for it to be undone.
const added = " # added by skl convert"

// A Translation is a SKILL.md in another dialect.
type Translation struct {
	Text   []byte
	Losses []Loss
	Policy bool // Codex needs [PolicyFile] beside it
}

// To writes a skill in the dialect of a target, one of [Targets]. Keys that the target
// does not read move to metadata.skl-DIALECT-KEY, comments included, and come back
// with the next conversion to a target that reads them. Keys by which a host keeps a limit
// are added at the end, and no later conversion to a host takes them away; the name of the
// format that v1 adds is. Every other byte stays. A conversion there and back gives the same
// bytes unless one of the two has a loss of code LOSS-COMMENT or LOSS-ENCODING. Sidecar is the SKILL.json that v1 takes in, or nil.
//
// Its error is that of [ReadWith], E_FORMAT_UNSUPPORTED, E_DUAL_ENCODING or cannot_convert.
func To(src, sidecar []byte, target string) (Translation, error) {
	var before *Document
	var err error
	if target == "v1" {
		before, err = ReadWith(src, sidecar)
	} else {
		before, err = Read(src)
	}
	if err == nil {
		err = before.Problem
	}
	if err != nil {
		return Translation{}, err
	}
	plain := home(src)
	var t Translation
	var encoded []byte // plain in the encoding of the target
	switch target {
	case "base":
		t, encoded, err = toBase(plain, before)
	case "v1":
		t, encoded, err = toV1(plain, sidecar)
	default:
		encoded = plain
		var moved []Loss
		if t.Text, moved, err = pack(plain, target); err == nil {
			t, err = toHost(t.Text, target)
			t.Losses = append(moved, t.Losses...)
		}
	}
	if err != nil {
		return Translation{}, err
	}
	t.Losses = append(t.Losses, encodingLosses(plain, encoded, t.Text, sidecar)...)
	after, err := open1(t.Text)
	if err != nil {
		return Translation{}, err
	}
	t.Losses = append(t.Losses, after.bodyLosses(target)...)
	for i := range t.Losses {
		t.Losses[i].Line = before.placeOf(&t.Losses[i], after.fm.bodyLine)
	}
	t.Losses = append(t.Losses, after.revived(before)...)
	if key, text := after.doc.moreThan(before); key != "" {
		t.Losses = append(t.Losses, Loss{Code: LossWiden, Field: key, From: key, Line: before.lineOf(key), Severity: diag.SeverityError, Text: text})
	}
	sortLosses(t.Losses)
	return t, nil
}

// open1 opens and reads a result.
func open1(out []byte) (*reader, error) {
	r, p := open(out)
	if p != nil {
		return nil, cannotConvert("%s", p.Message)
	}
	r.read()
	return r, nil
}

// toBase moves all keys of dialects into metadata. Who may start the skill stays readable for skl.
func toBase(plain []byte, before *Document) (t Translation, encoded []byte, err error) {
	encoded, err = ToPortable(plain)
	if err != nil {
		return t, nil, err
	}
	if t.Text, t.Losses, err = pack(encoded, "base"); err != nil {
		return t, nil, err
	}
	after, err := open1(t.Text)
	if err != nil {
		return t, nil, err
	}
	if by := before.Invocation; by != after.doc.Invocation && after.doc.Format == "" && !bytes.Equal(t.Text, encoded) {
		at, text, err := after.metadataInsert([]string{portableName("model_invocation") + ": " + string(by)})
		if err != nil {
			return t, nil, err
		}
		t.Text = Apply(t.Text, []diag.Fix{{Start: at, End: at, Text: text}})
	}
	if by := before.Invocation; by != Auto {
		t.Losses = append(t.Losses, before.enforce("model_invocation", "model_invocation is "+string(by)+", which only skl run keeps in the base format"))
	}
	if before.V1 != nil {
		if f, ok := find(before.Fields, "trust"); ok {
			t.Losses = append(t.Losses, Loss{Code: LossField, Field: "trust", From: "trust", Line: f.KeySpan.Line, Severity: diag.SeverityWarning, Text: "trust is never carried"})
		}
	}
	return t, encoded, nil
}

// toV1 names the format, or moves its keys to top level.
func toV1(plain, sidecar []byte) (t Translation, encoded []byte, err error) {
	r, p := open(plain)
	if p == nil {
		r.read()
	}
	if p == nil && r.doc.Format != "" {
		if encoded, err = ToTopLevel(plain); err != nil {
			return t, nil, err
		}
		t.Text, t.Losses, err = pack(encoded, "v1")
		return t, encoded, err
	}
	packed, losses, err := pack(plain, "v1")
	if err != nil {
		return t, nil, err
	}
	out, remarks, err := Migrate(packed, sidecar)
	if err != nil {
		return t, nil, err
	}
	t.Text, t.Losses = markAdded(packed, out), losses
	for _, remark := range remarks {
		field, _, _ := strings.Cut(remark, ":")
		field, _, _ = strings.Cut(field, " ")
		code := LossField
		if field == "model_invocation" {
			continue // the same limit in two spellings
		}
		t.Losses = append(t.Losses, Loss{Code: code, Field: field, From: field, Severity: diag.SeverityWarning, Text: remark})
	}
	return t, plain, nil
}

// markAdded marks the lines of corteza.skill/v1 that out has and src has not.
func markAdded(src, out []byte) []byte {
	r, p := open(out)
	was, q := open(src)
	if p != nil || q != nil {
		return out // a frontmatter of SKILL.json is there to stay
	}
	var edits []diag.Fix
	for _, f := range r.fm.root {
		if _, there := find(was.fm.root, f.Key); !there && slices.Contains(addedKeys, f.Key) {
			edits = append(edits, diag.Fix{Start: f.Value.End, End: f.Value.End, Text: added})
		}
	}
	return Apply(out, edits)
}

var addedKeys = []string{"skill_format", "model_invocation", "critical"}

// home is a skill as it was before conversions moved keys and added others.
func home(src []byte) []byte {
	text := frontmatterOf(src)
	out := src
	if bytes.Contains(text, []byte(added)) {
		out = withoutAdded(out)
	}
	if bytes.Contains(text, []byte(carriedPrefix)) {
		out = unpack(withoutInvocation(out))
	}
	return out
}

// withoutAdded removes the lines that markAdded marked, unless keys of the format beside them would lose their meaning. Extensions have none.
func withoutAdded(src []byte) []byte {
	r, p := open(src)
	if p != nil || r.fm.flowRoot {
		return src
	}
	var fields []Field
	for _, f := range r.fm.root {
		start, end := r.linesOf(f)
		if line, ok := strings.CutSuffix(strings.TrimRight(string(src[start:end]), "\r\n"), added); ok && slices.Contains(addedKeys, f.Key) && !strings.Contains(line, "\n") {
			fields = append(fields, f)
		}
	}
	others := slices.DeleteFunc(r.topLevelKeys(), func(f Field) bool {
		_, marked := find(fields, f.Key)
		return marked || !isV1Shaped(f) || isExtension(f.Key)
	})
	if len(others)+len(r.portableKeys()) > 0 {
		return src
	}
	return Apply(src, r.cuts(fields))
}

// withoutInvocation removes the entry of metadata that toBase wrote in place of switches that it moved.
func withoutInvocation(src []byte) []byte {
	r, p := open(src)
	if p != nil || r.fm.flowRoot {
		return src
	}
	meta, _ := find(r.fm.root, "metadata")
	all := meta.Value.Fields
	if len(all) < 2 || all[len(all)-1].Key != portableName("model_invocation") || !strings.HasPrefix(all[len(all)-2].Key, carriedPrefix) {
		return src
	}
	last := all[len(all)-1:]
	out := Apply(src, r.cuts(last))
	if meta.Value.Style == Flow {
		out = Apply(src, flowCutsOf(all, func(f Field) bool { return f.Key == last[0].Key }))
	}
	if d, err := Read(unpack(out)); err == nil && string(d.Invocation) == last[0].Value.Text {
		return out
	}
	return src
}

// encodingLosses say that a conversion back would not give the same bytes.
func encodingLosses(plain, encoded, out, sidecar []byte) []Loss {
	loss := Loss{Code: LossEncoding, Field: "skill_format", From: string(TopLevel), To: string(Portable), Severity: diag.SeverityInfo}
	if !bytes.Equal(plain, encoded) {
		loss.Text = "the keys of corteza.skill/v1 stand in metadata; --to v1 writes them at top level"
		back, err := ToTopLevel(encoded)
		if bytes.Equal(back, encoded) {
			loss.From, loss.To = loss.To, loss.From
			loss.Text = "the keys of corteza.skill/v1 stand at top level; --to base writes them into metadata"
			back, err = ToPortable(encoded)
		}
		if err != nil || !bytes.Equal(back, plain) {
			loss.Severity = diag.SeverityWarning
			loss.Text += ", in one order and spelling"
			if bytes.Count(frontmatterOf(plain), []byte("#")) > bytes.Count(frontmatterOf(encoded), []byte("#")) {
				loss.Code, loss.Text = LossComment, "comments on the keys of corteza.skill/v1 are left out"
			}
		}
		return []Loss{loss}
	}
	if sidecar == nil && !bytes.Equal(home(out), encoded) {
		return []Loss{{Code: LossEncoding, Field: "metadata", From: "metadata", To: "metadata", Severity: diag.SeverityWarning, Text: "a conversion back gives the same keys in another place or spelling"}}
	}
	return nil
}

// frontmatterOf is the text between the fences.
func frontmatterOf(src []byte) []byte {
	fm, p := split(src)
	if p != nil {
		return nil
	}
	return src[fm.start:fm.end]
}
