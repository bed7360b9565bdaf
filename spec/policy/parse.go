package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
)

// CodeInvalid is the code of a file that is not understood.
const CodeInvalid = "policy_invalid"

// Levels of trust, the lowest first.
var levels = []string{"local", "project", "user", "package", "managed"}

// Severities of findings, the lowest first.
var severities = []string{"none", "low", "medium", "high", "critical"}

var (
	topKeys       = []string{"rule", "exception", "expires", "serial"}
	conditionKeys = []string{"sources", "registries", "signers", "unsigned", "level", "min_age", "licences", "max_severity", "forbid", "hosts", "shadowing"}
	// ofSource are the conditions about where a release comes from, and not about what is in it.
	ofSource      = []string{"sources", "registries", "signers", "unsigned", "min_age"}
	ruleKeys      = append([]string{"id", "skills", "from"}, conditionKeys...)
	exceptionKeys = []string{"rule", "skills", "until", "reason", "by"}
)

// Parse reads src, the content of the file called name in messages. Its error has class Refused and a place.
func Parse(src []byte, name string, tier Tier) (*File, error) {
	r, err := tomledit.Open(src, name, CodeInvalid, MaxBytes)
	if err == nil {
		p := &parser{Reader: r, file: &File{Name: name, Policy: tier.String(), Tier: tier, Rules: []*Rule{}, Exceptions: []*Exception{}}}
		p.top()
		if err = p.Err(); err == nil {
			return p.file, nil
		}
	}
	err.Class = diag.Refused
	return nil, err.Hint("nothing is installed or run while a policy is not understood; skl help guide trust shows how policy.toml is written")
}

// A parser puts what its Reader reads into file.
type parser struct {
	*tomledit.Reader
	file *File
}

// unknown is an error, unlike in other files: a rule that is misspelt would refuse nothing.
func (p *parser) unknown(f tomledit.Field, known []string) {
	p.Unknown(f, known...)
	w := p.Warnings[len(p.Warnings)-1]
	p.Fail(f.Value, "%s", strings.Replace(w.Message, " and has no effect", "", 1))
}

func (p *parser) top() {
	for _, f := range p.Doc.Root.Fields {
		switch f.Key {
		case "rule":
			p.tables(f, p.rule)
		case "exception":
			p.tables(f, p.exception)
		case "expires":
			p.file.LastDay, p.file.expires = p.lastDay(f)
		case "serial":
			p.file.Serial = p.Number(f)
		default:
			p.unknown(f, topKeys)
		}
	}
}

func (p *parser) tables(f tomledit.Field, each func(tomledit.Field)) {
	if f.Value.Kind != tomledit.Array {
		p.Fail(f.Value, "%s is %s, not a list of tables: write [[%s]]", f.Key, f.Value.Kind, f.Key)
		return
	}
	for _, item := range f.Value.Items {
		if item.Kind != tomledit.Table {
			p.Fail(item, "%s holds %s; it is a list of [[%s]] tables", f.Key, item.Kind, f.Key)
			return
		}
		each(tomledit.Field{Key: f.Key, Value: item})
	}
}

func (p *parser) at(v *tomledit.Value) diag.Position {
	line, column := p.Doc.Position(v.Offset)
	return diag.Position{File: p.File, Line: line, Column: column}
}

// isID reports whether s can be the id of a rule.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789._-") == "" && !strings.ContainsAny(s[:1], "._-")
}

func (p *parser) rule(entry tomledit.Field) {
	r := &Rule{Where: p.at(entry.Value), tier: p.file.Tier, About: []Line{}}
	r.Where.Column = 0
	for _, f := range entry.Value.Fields {
		switch f.Key {
		case "id":
			if r.ID = p.Text(f); !isID(r.ID) {
				p.Fail(f.Value, "the id %q is not one: up to 64 of a-z, 0-9, \".\", \"_\" and \"-\"", r.ID)
			}
		case "skills":
			r.skills = p.patterns(f, true, false)
			r.About = append(r.About, Line{f.Key, p.Texts(f)})
		case "from":
			r.from = p.patterns(f, true, false)
			r.About = append(r.About, Line{f.Key, p.Texts(f)})
		default:
			if !slices.Contains(conditionKeys, f.Key) {
				p.unknown(f, ruleKeys)
				continue
			}
			c := p.condition(f)
			r.conditions, r.Conditions = append(r.conditions, c), append(r.Conditions, Line{f.Key, c.texts})
		}
	}
	switch {
	case r.ID == "":
		p.Fail(entry.Value, "the rule has no id")
	case len(r.conditions) == 0:
		p.Fail(entry.Value, "the rule %s says nothing that a skill has to hold", r.ID).Hint("conditions are %s", strings.Join(conditionKeys, ", "))
	case slices.ContainsFunc(p.file.Rules, func(o *Rule) bool { return o.ID == r.ID }):
		p.Fail(entry.Value, "there are two rules with the id %s", r.ID)
	}
	p.file.Rules = append(p.file.Rules, r)
}

// condition reads one key that a skill has to hold.
func (p *parser) condition(f tomledit.Field) condition {
	c := condition{key: f.Key, line: p.at(f.Value).Line}
	switch f.Key {
	case "sources", "registries", "signers":
		c.texts, c.list = p.Texts(f), p.patterns(f, false, true)
	case "hosts":
		c.texts, c.list = p.Texts(f), p.patterns(f, true, true)
	case "licences":
		c.texts = p.Texts(f)
		for _, id := range c.texts {
			if !isLicence(id) {
				p.Fail(f.Value, "%q is not the SPDX id of a licence, such as MIT or Apache-2.0", id)
			}
		}
	case "forbid":
		c.texts, c.perms = p.Texts(f), p.forbidden(f)
	case "unsigned":
		p.word(f, "refuse")
		c.texts = []string{"refuse"}
	case "shadowing":
		p.word(f, "error")
		c.texts = []string{"error"}
	case "level":
		c.rank = p.word(f, levels...)
		c.texts = levels[c.rank : c.rank+1]
	case "max_severity":
		c.rank = p.word(f, severities...)
		c.texts = severities[c.rank : c.rank+1]
	case "min_age":
		c.age = p.duration(f)
		c.texts = []string{f.Value.Text}
	}
	return c
}

// word is the index of the one of words that f holds.
func (p *parser) word(f tomledit.Field, words ...string) int {
	i := slices.Index(words, p.Text(f))
	if i < 0 {
		p.Fail(f.Value, "%s is %q, and can be %s", f.Key, f.Value.Text, strings.Join(words, ", "))
		return 0
	}
	return i
}

// patterns are those of f. An empty list allows nothing where that can be meant, and is an error elsewhere.
func (p *parser) patterns(f tomledit.Field, fold, empty bool) []pattern {
	texts := p.Texts(f)
	out := make([]pattern, 0, len(texts))
	for i, s := range texts {
		one, err := newPattern(s, fold)
		if err != nil {
			p.Fail(f.Value.Items[i], "%w", err)
		}
		out = append(out, one)
	}
	if len(out) == 0 && !empty {
		p.Fail(f.Value, "%s is empty, so the rule applies to nothing; without the key it applies to all", f.Key)
	}
	return out
}

// A forbidden permission, or some of its kind.
type forbidden struct {
	kind audit.Kind
	args pattern
	all  bool
}

// spoken are words that people say for kinds.
var spoken = map[string]audit.Kind{"network": audit.Net, "secret": audit.Env}

// kinds that can be forbidden; the others are limits that a skill sets itself.
var kinds = []audit.Kind{audit.Load, audit.Dynamic, audit.Run, audit.Net, audit.Env, audit.Reads, audit.Writes, audit.Package, audit.Hook, audit.Agent, audit.Tool}

func (p *parser) forbidden(f tomledit.Field) (out []forbidden) {
	for i, s := range p.Texts(f) {
		kind, arg, has := strings.Cut(s, ":")
		k := audit.Kind(kind)
		if other, ok := spoken[kind]; ok {
			k = other
		}
		one := forbidden{kind: k, all: !has || arg == "*" || arg == "**"}
		if !slices.Contains(kinds, k) || has && arg == "" {
			known := make([]string, len(kinds))
			for i, k := range kinds {
				known[i] = string(k)
			}
			p.Fail(f.Value.Items[i], "%q is not a permission: network, %s, some of them with \":\" and what they are about", s, strings.Join(known, ", "))
		} else if !one.all {
			var err error
			if one.args, err = newPattern(arg, k == audit.Net); err != nil {
				p.Fail(f.Value.Items[i], "%w", err)
			}
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		p.Fail(f.Value, "forbid is empty, so it forbids nothing")
	}
	return out
}

// maxDays bounds durations, so that they are no overflow.
const maxDays = 36500

// duration reads "90m", "36h", "3d" or "2w".
func (p *parser) duration(f tomledit.Field) time.Duration {
	d, ok := Duration(p.Text(f))
	if !ok {
		p.Fail(f.Value, "invalid duration %q: use 90m, 36h, 3d or 2w", f.Value.Text)
	}
	return d
}

// Duration reads "90m", "36h", "3d" or "2w".
func Duration(s string) (time.Duration, bool) {
	if len(s) < 2 || len(s) > 8 {
		return 0, false
	}
	unit, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 31)
	if d := time.Duration(n); ok && err == nil && n > 0 && d <= maxDays*24*time.Hour/unit {
		return d * unit, true
	}
	return 0, false
}

// date is the end of the day that f holds, UTC.
// lastDay is the day of f, and the moment after it.
func (p *parser) lastDay(f tomledit.Field) (text string, end time.Time) {
	day, text := p.Day(f)
	return text, day.AddDate(0, 0, 1)
}

func (p *parser) exception(entry tomledit.Field) {
	e := &Exception{Where: p.at(entry.Value)}
	e.Where.Column = 0
	for _, f := range entry.Value.Fields {
		switch f.Key {
		case "rule":
			e.Rule = p.Text(f)
		case "skills":
			e.Skills, e.skills = p.Texts(f), p.patterns(f, false, false)
		case "until":
			e.Until, e.end = p.lastDay(f)
		case "reason":
			e.Reason = strings.TrimSpace(p.Text(f))
		case "by":
			e.By = strings.TrimSpace(p.Text(f))
		default:
			p.unknown(f, exceptionKeys)
		}
	}
	for _, need := range []struct {
		key     string
		missing bool
	}{{"rule", e.Rule == ""}, {"skills", e.skills == nil}, {"until", e.Until == ""}, {"reason", e.Reason == ""}, {"by", e.By == ""}} {
		if need.missing {
			p.Fail(entry.Value, "the exception has no %s", need.key)
		}
	}
	p.file.Exceptions = append(p.file.Exceptions, e)
}
