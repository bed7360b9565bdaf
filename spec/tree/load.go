package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Limits of a whole skill, beyond which op files are not read.
const (
	MaxOpFiles    = 512
	MaxOps        = 4096
	MaxOpBytes    = 8 << 20 // of all op files
	MaxSkillNodes = 100_000 // of all trees
)

// Codes of the errors of Load, beside those of skill.Read.
const (
	codeNone       = "no_skill"
	codeUnreadable = "unreadable"
)

const defaultExplore = "assets/schemas/explore-schema.json"

// ParseTree reads the lines of one tree: the text between "## Tree" and the next
// heading, fences included. file and line place its nodes; owner is the skill's or
// op's name, which a label repeats. isOp tells names of ops, so that a call without
// operators is told from prose; nil knows none.
func ParseTree(src, file string, line int, owner string, isOp func(string) bool) (*Tree, []diag.Finding) {
	op := ""
	if isOpName(owner) {
		op = owner
	}
	p := newPage(src, file, line)
	t, findings := readTree(p, 0, len(p.lines), op, owner, isOp, math.MaxInt)
	diag.SortFindings(findings)
	return t, findings
}

// A loader reads the files of one skill.
type loader struct {
	skill *Skill
	fsys  fs.FS
	files []*opFile
	known map[string]bool // ops that a call may mean
	bytes int
	nodes int // left to read
}

// Load reads a skill: fsys is rooted at its directory, whose name is dir ("" is
// not compared). A skill without a tree is no error: Tree is nil. Its error is a
// *diag.Error when there is no SKILL.md or it cannot be read.
func Load(fsys fs.FS, dir string) (*Skill, error) {
	for _, name := range [...]string{skill.FileName, "skill.md"} {
		src, err := readFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return build(fsys, name, dir, src, err)
	}
	return nil, diag.New(diag.Misuse, codeNone, "there is no %s in %s", skill.FileName, where(dir))
}

func where(dir string) string {
	if dir == "" {
		return "the directory"
	}
	return diag.Printable(dir)
}

// LoadAgent reads an agent file of the layout before SKILL.md: name is its path
// in fsys, "agents/deploy.md", and its ops and resources are in the directory of
// the same name, "agents/deploy". Errors are those of [Load].
func LoadAgent(fsys fs.FS, name string) (*Skill, error) {
	dir := strings.TrimSuffix(name, path.Ext(name))
	src, err := readFile(fsys, name)
	sub, suberr := fs.Sub(fsys, dir)
	if suberr != nil {
		return nil, diag.New(diag.Misuse, codeNone, "%s is not a path of an agent file", diag.Printable(name))
	}
	return build(sub, path.Base(name), path.Base(dir), src, err)
}

// build makes the skill whose entry file has the content src.
func build(fsys fs.FS, file, dir string, src string, err error) (*Skill, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.Misuse, codeNone, "there is no file %s", diag.Printable(file))
	} else if err != nil {
		return nil, diag.New(diag.Failed, codeUnreadable, "%s of %s cannot be read: %w", file, where(dir), err)
	}
	var sidecar []byte
	if file == skill.FileName {
		sidecar = skill.SidecarIn(fsys, ".")
	}
	doc, err := skill.ReadWith([]byte(src), sidecar)
	if err != nil {
		return nil, err
	}
	s := &Skill{Name: doc.Name, Dir: dir, File: file, Doc: doc, FS: fsys}
	if s.Name == "" {
		s.Name = dir
	}
	if v, ok := doc.Meta("canopy-features"); ok {
		s.Features = features(v)
	}
	if v, ok := doc.Meta("canopy-contracts"); ok {
		s.Strict = v == "strict"
	}
	l := &loader{skill: s, fsys: fsys, known: map[string]bool{}, nodes: MaxSkillNodes}
	l.findOps()
	l.readBody(newPage(src[doc.Body:], file, doc.BodyLine))
	for _, f := range l.files {
		l.readOps(f)
	}
	s.index = map[string]*Op{}
	for _, exact := range [...]bool{true, false} {
		for _, f := range l.files {
			for _, op := range f.ops {
				if _, ok := s.index[op.Name]; !ok && l.known[op.Name] && (!exact || f.wants == "" || f.wants == op.Name) {
					s.index[op.Name] = op
				}
			}
		}
	}
	bindIdioms(s)
	diag.SortFindings(s.Findings)
	return s, nil
}

// Op returns the definition that a call of name means, nil if the skill has none: the
// first in lookup order (references/ops.md, references/ops/, ops.md, ops/), where a file
// of its own counts after all others for ops that it is not named for.
// Definitions of primitives are ignored, but for EXPLORE as ruling 5.8 has it.
//
//go:noinline
func (s *Skill) Op(name string) *Op {
	if s.index != nil {
		return s.index[name]
	}
	k, reserved := Primitive(name)
	for _, op := range s.Ops {
		if op.Name == name && (!reserved || k == Explore && op.Subagent) {
			return op
		}
	}
	return nil
}

var errNotText = errors.New("it is not UTF-8 text")

// readFile reads a text file of at most MaxFileBytes. Another kind of file does not exist.
func readFile(fsys fs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fs.ErrNotExist
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > MaxFileBytes:
		return "", fmt.Errorf("it is larger than %d bytes", MaxFileBytes)
	case !utf8.Valid(b) || strings.IndexByte(string(b), 0) >= 0:
		return "", errNotText
	}
	return string(b), nil
}

// features reads a list of names: JSON, or "[a, b]" as text. It is never nil.
func features(s string) []string {
	out := []string{}
	if json.Unmarshal([]byte(s), &out) == nil && out != nil {
		return out
	}
	out = []string{}
	s = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "["), "]")
	for _, f := range strings.Split(s, ",") {
		if f = strings.Trim(f, " \t\"'"); f != "" {
			out = append(out, f)
		}
	}
	return out
}

// readBody reads what follows the frontmatter of the entry file.
func (l *loader) readBody(p *page) {
	s := l.skill
	heads := p.sections()
	lo, hi := -1, -1
	s.Guard, lo, hi = p.guard()
	s.Preamble = p.prose(0, heads[0].line, func(i int) bool { return lo <= i && i < hi })
	trees := 0
	for k, h := range heads[:len(heads)-1] {
		end := heads[k+1].line
		sec := Section{Title: h.title, Pos: p.pos(h.line, 1), Last: p.first + end - 1, Text: p.prose(h.line+1, end, nil)}
		s.Sections = append(s.Sections, sec)
		switch {
		case h.title == "Tree":
			if trees++; trees > 1 {
				s.Findings = append(s.Findings, p.finding(h.line, 1, ruleTrees, diag.SeverityError, "the skill has a second section \"## Tree\"; only the first is run"))
				continue
			}
			l.readMain(p, h.line, end)
		case h.title == "Agent" && s.Agent == nil:
			s.Agent = readAgent(sec)
		case h.title == "Rules":
			s.Rules = append(s.Rules, bullets(sec.Text)...)
		case strings.HasPrefix(h.title, "Response") && s.Response == nil:
			s.Response = responseFields(strings.TrimPrefix(h.title, "Response"))
			s.Guide = sec.Text
		}
	}
	l.near(p)
}

// Numbered is the message of the finding about a list that is numbered where a tree should stand.
const Numbered = "the section \"## Tree\" holds a numbered list: steps are bullets, write * for each number"

func (l *loader) readMain(p *page, heading, end int) {
	t, findings := readTree(p, heading+1, p.upToHeading(heading+1, end), "", l.skill.Name, l.isOp, l.nodes)
	l.skill.Findings = append(l.skill.Findings, findings...)
	if t == nil {
		t = &Tree{First: p.first + heading, Last: p.first + heading}
		message := "the section \"## Tree\" is empty"
		if p.numbered(heading+1, end) >= 0 {
			message = Numbered
		}
		l.skill.Findings = append(l.skill.Findings, p.finding(heading, 1, ruleTrees, diag.SeverityError, message))
	}
	l.skill.Tree = t
	Walk(t.Nodes, func(*Node) bool { l.nodes--; return true })
}

func (l *loader) isOp(name string) bool { return l.known[name] }

type sectionHead struct {
	line  int
	title string
}

// sections finds the level-2 headings; a last entry stands for the end of the page.
func (p *page) sections() []sectionHead {
	var out []sectionHead
	for i, l := range p.lines {
		if l.kind == headingLine && l.level == 2 {
			title, _ := p.title(i)
			out = append(out, sectionHead{i, title})
		}
	}
	return append(out, sectionHead{line: len(p.lines)})
}

// guard finds the blockquote that asks for a runtime, in lines lo to hi.
func (p *page) guard() (sec *Section, lo, hi int) {
	for i, l := range p.lines {
		quote, ok := strings.CutPrefix(p.text(i), ">")
		if l.kind != textLine || !ok {
			continue
		}
		quote = trim(quote)
		for _, title := range [...]string{"Runtime required.", "Runtime required:"} {
			if !strings.HasPrefix(quote, "**"+title+"**") {
				continue
			}
			for hi = i; hi < len(p.lines) && p.lines[hi].kind == textLine && strings.HasPrefix(p.text(hi), ">"); hi++ {
			}
			text := make([]string, 0, hi-i)
			for k := i; k < hi; k++ {
				text = append(text, trim(p.text(k)[1:]))
			}
			return &Section{Title: title, Pos: p.pos(i, 1), Last: p.first + hi - 1, Text: strings.Join(text, "\n")}, i, hi
		}
	}
	return nil, -1, -1
}

// bullets are the items of a list, each joined to one line with what hangs below
// it. A paragraph that belongs to no item is one of its own.
func bullets(text string) []string {
	var out, item []string
	open := false // for lines at the margin too
	for _, s := range strings.Split(text, "\n") {
		m := measure(s)
		switch {
		case trim(s) == "":
			open = false
			continue
		case m.kind == bulletMark && m.col < 2:
			s = s[m.text:]
		case len(item) > 0 && (open || m.first > 0):
			item = append(item, trim(s))
			continue
		}
		if len(item) > 0 {
			out = append(out, strings.Join(item, " "))
		}
		item, open = append(item[:0], trim(s)), true
	}
	if len(item) > 0 {
		out = append(out, strings.Join(item, " "))
	}
	return out
}

// responseFields reads the names behind the word Response of a heading.
func responseFields(s string) []string {
	out := []string{}
	for _, s := range strings.Split(strings.ReplaceAll(strings.TrimLeft(s, ": \t"), " / ", "|"), "|") {
		if s = bare(trim(s)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// readAgent classifies the body of the Agent section.
func readAgent(sec Section) *Agent {
	a := &Agent{Pos: sec.Pos, Text: sec.Text, Schema: defaultExplore}
	if p, _, ok := contractIn(sec.Text, "Output contract:"); ok {
		a.Schema, a.Named = p, true
	}
	task := sec.Text
	if _, rest, ok := strings.Cut(task, "**explore**"); ok {
		task = strings.TrimLeft(rest, blanks+"\n—–-")
	}
	if rest, ok := strings.CutPrefix(task, "execute "); ok {
		rest = strings.TrimPrefix(trim(rest), "`")
		if end := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') }); end >= 0 {
			rest = rest[:end]
		}
		if isOpName(rest) {
			a.Shape, a.Op = ShapeC, rest
			return a
		}
	}
	if _, rest, ok := strings.Cut(sec.Text+"\n", "Sub-tasks:\n"); ok {
		list := 0 // the tasks end at the first line at the margin
		for _, s := range strings.Split(rest, "\n") {
			if m := measure(s); m.kind == plainMark && m.first == 0 {
				break
			}
			list += len(s) + 1
		}
		a.Tasks = bullets(rest[:min(list, len(rest))])
		if a.Tasks != nil {
			a.Shape = ShapeB
		}
	}
	return a
}
