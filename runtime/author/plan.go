package author

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Operations that a plan can come from.
const (
	Create   = "create"
	Scaffold = "scaffold"
	Modify   = "modify"
	Improve  = "improve"
	Convert  = "convert"
	Refactor = "refactor"
)

// Operations are all of them.
func Operations() []string { return []string{Create, Scaffold, Modify, Improve, Convert, Refactor} }

// A Plan is what shall be done to skills, whole: nothing is left to be found when it is carried out.
type Plan struct {
	V           int          `json:"v"`  // 1
	Op          string       `json:"op"` // one of Operations
	Skills      []Part       `json:"skills"`
	Losses      []skill.Loss `json:"losses"` // what is not carried over
	Lint        Lint         `json:"lint"`
	Permissions Permissions  `json:"permissions"`
	Left        []string     `json:"left"`      // what needs a person, or a model, and is not done
	Questions   []string     `json:"questions"` // of the model
	Model       string       `json:"model,omitempty"`
	Run         string       `json:"run,omitempty"` // that the plan was made in
	Whole       string       `json:"whole"`         // digest of which skills it is for: see [Plan.Sum]
}

// Sum is the digest of the skills that a plan is for, each as it is before and after: a plan of which one was taken away has another.
func (p *Plan) Sum() string {
	var b strings.Builder
	for i := range p.Skills {
		fmt.Fprintf(&b, "%s\n%s\n%s\n", p.Skills[i].Skill, p.Skills[i].Base, p.Skills[i].Result)
	}
	return Sum([]byte(b.String()))
}

// A Part is what is done to one skill.
type Part struct {
	Skill  string        `json:"skill"` // its folder, with slashes, relative to the working directory
	Base   bundle.Digest `json:"base"`  // of the files as they are, "" of a skill that is not there
	Result bundle.Digest `json:"result"`
	Files  []File        `json:"files"` // by path
}

// A File is what is done to one file.
type File struct {
	Path   string  `json:"path"`
	Change string  `json:"change"`         // new, edited, deleted
	Was    string  `json:"was,omitempty"`  // sha256 of the bytes that are there
	Text   *string `json:"text,omitempty"` // nil of one that is deleted
	Why    string  `json:"why,omitempty"`

	Executable bool   `json:"executable,omitempty"` // of one that is new
	From       string `json:"from,omitempty"`       // of one that is new: a deleted file that held the same bytes
}

// Lint counts findings before and after, and has the errors that are left.
type Lint struct {
	Before Count          `json:"before"`
	After  Count          `json:"after"`
	Errors []diag.Finding `json:"errors"`
}

// A Count is how many findings there are of two severities.
type Count struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
}

// Permissions are what a change lets skills do, in the words of --accept: permissions of an audit, url:HOST, hidden:FILE, requires:REF of
// another skill, file:FILE on which programs or agents act by themselves, and the rules of findings.
type Permissions struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
}

// Kinds of a [File].
const (
	NewFile = "new"
	Edited  = "edited"
	Deleted = "deleted"
)

// Limits of a plan.
const (
	maxPlan  = 64 << 20 // bytes
	MaxParts = 256      // skills
)

// Sum is how a plan names bytes.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// FilesOf are the changes of a draft. Refused are those to or from bytes that are no text, which nobody could agree to.
func FilesOf(d *Draft) ([]File, error) {
	out := []File{}
	for _, c := range d.Changes() {
		f := File{Path: c.Path, Why: c.Why, Change: NewFile}
		if c.Was != nil {
			f.Change, f.Was = Edited, Sum(c.Was)
		}
		if c.Now == nil {
			f.Change = Deleted
		} else {
			if !utf8.Valid(c.Now) || bytes.IndexByte(c.Now, 0) >= 0 {
				return nil, diag.New(diag.Refused, CodeIrregular, "%s would be no text", c.Path)
			}
			text := string(c.Now)
			f.Text = &text
			f.Executable = c.Was == nil && c.Executable
		}
		out = append(out, f)
	}
	origins(out, d.changes)
	return out, nil
}

// origins says of new files which deleted file held the same bytes and the same executable bit: one of the same name first, each once.
// Empty files come from nowhere.
func origins(files []File, changes map[string]*Change) {
	type content struct {
		sum        string
		executable bool
	}
	gone := map[content][]string{}
	for _, f := range files {
		if f.Change == Deleted {
			c := content{f.Was, changes[f.Path].Executable}
			gone[c] = append(gone[c], f.Path)
		}
	}
	for i := range files {
		f := &files[i]
		if f.Change != NewFile || *f.Text == "" {
			continue
		}
		c := content{Sum([]byte(*f.Text)), f.Executable}
		from := gone[c]
		if len(from) == 0 {
			continue
		}
		n := max(slices.IndexFunc(from, func(name string) bool { return path.Base(name) == path.Base(f.Path) }), 0)
		f.From = from[n]
		gone[c] = slices.Delete(from, n, n+1)
	}
}

// Apply makes the changes of a part in a draft of the skill. It is refused if a file is not what the plan was made of.
func (p *Part) Apply(d *Draft) error {
	for _, f := range p.Files {
		was, err := d.was(f.Path)
		if err != nil {
			return err
		}
		if (was == nil) != (f.Was == "") || was != nil && Sum(was) != f.Was {
			return diag.New(diag.Unmet, CodeChanged, "%s is not what the plan was made of", path.Join(p.Skill, f.Path)).Hint("make the plan anew")
		}
		switch {
		case f.Text == nil:
			err = d.Remove(f.Path, f.Why)
		case f.Executable:
			err = d.PutExecutable(f.Path, []byte(*f.Text), f.Why)
		default:
			err = d.Put(f.Path, []byte(*f.Text), f.Why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// was is a file as it is on the disk.
func (d *Draft) was(name string) ([]byte, error) {
	if err := checkPath(name); err != nil {
		return nil, err
	}
	data, _, err := d.regular(name)
	return data, err
}

// now is a regular file as the draft has it, nil if nothing is there.
func (d *Draft) now(name string) ([]byte, error) {
	if c := d.changes[name]; c != nil {
		return c.Now, nil
	}
	return d.was(name)
}

// Encode is the plan as a file.
func (p *Plan) Encode() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(p); err != nil {
		panic("author: a plan cannot be written: " + err.Error())
	}
	return b.Bytes()
}

// Parse reads a plan, and refuses one that a draft could not have given: code invalid_plan. What it says of permissions, losses and findings
// is nobody's word: whoever carries it out computes these.
func Parse(data []byte) (*Plan, error) {
	bad := func(format string, args ...any) error {
		return diag.New(diag.Refused, CodePlan, format, args...).Hint("make one by --plan FILE, which each operation on a skill has")
	}
	if len(data) > maxPlan {
		return nil, bad("a plan has at most %s", diag.Size(maxPlan))
	}
	var p Plan
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, bad("it is no plan: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, bad("something follows the plan")
	}
	switch {
	case p.V != 1:
		return nil, bad("it is a plan of version %d, and this skl reads version 1", p.V)
	case !slices.Contains(Operations(), p.Op):
		return nil, bad("%q is no operation", diag.Clip(p.Op, 40))
	case len(p.Skills) == 0 || len(p.Skills) > MaxParts:
		return nil, bad("it is a plan for %d skills; 1 to %d are possible", len(p.Skills), MaxParts)
	}
	seen := map[string]bool{}
	for i := range p.Skills {
		part := &p.Skills[i]
		if why := part.wrong(); why != "" {
			return nil, bad("%s", why)
		}
		if seen[bundle.Fold(part.Skill)] {
			return nil, bad("it names %q twice", diag.Clip(part.Skill, 100))
		}
		seen[bundle.Fold(part.Skill)] = true
	}
	return &p, nil
}

// wrong is why a part is none, "" if it may be one.
func (p *Part) wrong() string {
	if !below(p.Skill) {
		return "\"" + diag.Clip(diag.Printable(p.Skill), 100) + "\" is no folder below the working directory"
	}
	for _, digest := range []bundle.Digest{p.Base, p.Result} {
		if _, err := bundle.ParseDigest(string(digest)); digest != "" && err != nil {
			return "it has a digest that is none"
		}
	}
	seen, gone := map[string]bool{}, map[string]string{}
	for _, f := range p.Files {
		if f.Change == Deleted {
			gone[f.Path] = f.Was
		}
	}
	for _, f := range p.Files {
		name := diag.Clip(diag.Printable(f.Path), 100)
		switch {
		case bundle.CheckPath(f.Path) != nil:
			return "\"" + name + "\" is no path of a file in a skill"
		case seen[bundle.Fold(f.Path)]:
			return "it names " + name + " twice"
		case !slices.Contains([]string{NewFile, Edited, Deleted}, f.Change), (f.Change == Deleted) != (f.Text == nil), (f.Change == NewFile) != (f.Was == ""):
			return "it does not say what is done to " + name
		case f.Text != nil && (!utf8.ValidString(*f.Text) || strings.ContainsRune(*f.Text, 0) || len(*f.Text) > MaxFile):
			return "the text of " + name + " is none, or too long"
		case f.Executable && f.Change != NewFile:
			return "it makes " + name + " executable, which is for new files"
		case f.From != "" && (f.Change != NewFile || gone[f.From] != Sum([]byte(*f.Text))):
			return "it does not say where " + name + " comes from"
		}
		seen[bundle.Fold(f.Path)] = true
	}
	return ""
}

// below reports whether folder lies below the working directory, and in nothing of git's or of skl's own.
func below(folder string) bool {
	const roots = "/.agents/skills/" // which a bundle may not hold
	plain := strings.TrimPrefix(strings.Replace("/"+folder, roots, "/agents/skills/", 1), "/")
	return folder == "." || path.Clean(folder) == folder && bundle.CheckPath(plain) == nil
}
