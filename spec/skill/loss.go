package skill

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// Codes of a [Loss].
const (
	LossField    = "LOSS-FIELD"    // a key that the target does not read
	LossEnforce  = "LOSS-ENFORCE"  // a limit that is kept in the file, and not by the target
	LossWiden    = "LOSS-WIDEN"    // the target would allow more than before
	LossTrigger  = "LOSS-TRIGGER"  // the skill starts in other cases than before
	LossArgs     = "LOSS-ARGS"     // arguments that the target does not fill in
	LossLoadCmd  = "LOSS-LOADCMD"  // a command that ran when the skill was loaded
	LossInclude  = "LOSS-INCLUDE"  // a file or variable that the target does not put in
	LossFiles    = "LOSS-FILES"    // files of the folder that stay behind
	LossLength   = "LOSS-LENGTH"   // text longer than the target takes
	LossTree     = "LOSS-TREE"     // a step that only prose, or only a tree, says
	LossOps      = "LOSS-OPS"      // operations that the target has nothing like
	LossReads    = "LOSS-READS"    // files that only some steps read
	LossName     = "LOSS-NAME"     // a name that the target spells otherwise
	LossComment  = "LOSS-COMMENT"  // comments that are left out
	LossEncoding = "LOSS-ENCODING" // spelling and places that do not come back
	LossText     = "LOSS-TEXT"     // a sentence that stands nowhere any more
	LossRule     = "LOSS-RULE"     // a rule of the skill that stands nowhere any more
)

// LossCodes are the codes of all losses, in the order in which guides explain them.
func LossCodes() []string {
	return []string{LossField, LossEnforce, LossWiden, LossTrigger, LossArgs, LossLoadCmd, LossInclude, LossFiles,
		LossLength, LossTree, LossOps, LossReads, LossName, LossComment, LossEncoding, LossText, LossRule}
}

// A Loss is one thing that a conversion does not carry over as it was.
// Its severity is info for what comes back with a conversion back, warning for
// what the target does otherwise, and error for what must be allowed by its code.
type Loss struct {
	Code     string        `json:"code"`
	Field    string        `json:"field"`          // the key, or the feature of the body
	From     string        `json:"from"`           // its place or spelling before
	To       string        `json:"to"`             // its place or spelling now, "" if it has none
	Line     int           `json:"line,omitempty"` // of SKILL.md before; 0 for the skill as a whole
	Severity diag.Severity `json:"severity"`
	Text     string        `json:"text"`
}

// String is the loss as a sentence with its place.
func (l Loss) String() string {
	if l.Line == 0 {
		return l.Text
	}
	return diag.Position{File: FileName, Line: l.Line}.String() + ": " + l.Text
}

// sortLosses orders losses by line, code and field.
func sortLosses(losses []Loss) {
	slices.SortStableFunc(losses, func(a, b Loss) int {
		return cmp.Or(a.Line-b.Line, strings.Compare(a.Code, b.Code), strings.Compare(a.Field, b.Field))
	})
}

// lineOf is the line of a top-level key, or else of its spelling in metadata; 0 for neither.
func (d *Document) lineOf(key string) int {
	if f, ok := find(d.Fields, key); ok {
		return f.KeySpan.Line
	}
	meta, _ := find(d.Fields, "metadata")
	for _, name := range []string{portableName(key), strings.ReplaceAll(portableName(key), ".", "-"), key} {
		if f, ok := find(meta.Value.Fields, name); ok {
			return f.KeySpan.Line
		}
	}
	head, _, _ := strings.Cut(key, ".")
	switch key {
	case "model_invocation":
		return max(d.lineOf(KeyNoModel), d.lineOf(keyUser))
	case "tools.deny":
		return cmp.Or(d.lineOf(head), d.lineOf(KeyNoTools))
	case "tools.allow":
		return d.lineOf(head)
	}
	return 0
}

// placeOf is the line of d, the skill before, that a loss is about, whose own is one of a later state in which the body begins in another line.
func (d *Document) placeOf(l *Loss, body int) int {
	if l.Line >= body {
		return l.Line - body + d.BodyLine
	}
	if l.Line == 0 {
		return 0
	}
	if n := d.lineOf(l.From); n > 0 {
		return n
	}
	return cmp.Or(d.lineOf(carriedName(l.From)), l.Line)
}

// enforce is a limit that the target does not keep.
func (d *Document) enforce(key, text string) Loss {
	return Loss{Code: LossEnforce, Field: key, From: key, To: key, Line: d.lineOf(key), Severity: diag.SeverityWarning, Text: text}
}

// moreThan names what d allows and limit does not, "" if there is nothing.
func (d *Document) moreThan(limit *Document) (key, text string) {
	if was := limit.Invocation; d.Invocation.ByModel() && !was.ByModel() || d.Invocation.ByUser() && !was.ByUser() {
		return "model_invocation", "the skill was " + string(was) + " and would be " + string(d.Invocation)
	}
	if limit.Tools == nil {
		return "", ""
	}
	now := Tools{}
	if d.Tools != nil {
		now = *d.Tools
	}
	for _, t := range limit.Tools.Deny {
		if !slices.Contains(now.Deny, t) && !(now.Limited && len(now.Allow) == 0) {
			return "tools.deny", t.String() + " was denied and would not be"
		}
	}
	if limit.Tools.Limited {
		if !now.Limited {
			return "tools.allow", "tools were limited and would not be"
		}
		for _, t := range now.Allow {
			if !slices.Contains(limit.Tools.Allow, t) {
				return "tools.allow", t.String() + " was not allowed and would be"
			}
		}
	}
	return "", ""
}

// bodyLosses are the features of the body that the host of a target does not know, one for each kind.
func (r *reader) bodyLosses(target string) []Loss {
	host := targets[target]
	codes := map[FeatureKind]string{LoadCommand: LossLoadCmd, ArgumentsVar: LossArgs, NumberedVar: LossArgs, NamedVar: LossArgs,
		FileInclude: LossInclude, HostVar: LossInclude, BaseDir: LossInclude}
	var out []Loss
	count := map[FeatureKind]int{}
	for _, f := range BodyFeatures(r.fm.src[r.fm.body:], r.argumentNames()...) {
		code := codes[f.Kind]
		if code == "" || slices.Contains(f.Kind.Hosts(), host) {
			continue
		}
		if count[f.Kind]++; count[f.Kind] > 1 {
			continue
		}
		said := diag.Printable(f.Text)
		if f.Kind == LoadCommand {
			said = "!`" + said + "`"
		}
		loss := Loss{Code: code, Field: string(f.Kind), From: f.Text, To: f.Text, Line: r.fm.bodyLine + f.Line - 1, Severity: diag.SeverityWarning, Text: said + " is plain text to " + target}
		if host == "" { // any host may read it
			loss.Severity, loss.Text = diag.SeverityInfo, said+" is plain text but to "+strings.Join(f.Kind.Hosts(), ", ")
		}
		out = append(out, loss)
	}
	if n := utf8.RuneCountInString(r.doc.Description); n > 1024 && (target == "codex" || target == "copilot") {
		out = append(out, Loss{Code: LossLength, Field: "description", From: "description", To: "description", Line: r.doc.lineOf("description"), Severity: diag.SeverityWarning,
			Text: diag.Count(n, "character") + " are more than the 1024 that " + target + " takes"})
	}
	return out
}
