package resource

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// ParseClaim reads `file X exists`, `file X does not exist`, `file X contains "Y"`,
// `file X does not contain "Y"` and `binding X is …`. The whole text must match; ok is
// false for what a model has to judge.
func ParseClaim(text string) (Claim, bool) {
	t := strings.TrimSpace(text)
	if u := strings.TrimSuffix(t, "."); !strings.HasSuffix(u, ".") {
		t = strings.TrimSpace(u)
	}
	t = strings.TrimPrefix(strings.TrimPrefix(t, "The "), "the ")
	if rest, ok := cutWord(t, "binding"); ok {
		return bindingClaim(rest)
	}
	rest, named := cutWord(t, "file")
	path, rest, ok := claimPath(rest)
	if !ok || !named && !strings.ContainsAny(path, "./") {
		return Claim{}, false
	}
	c := Claim{Path: path}
	switch rest {
	case "exists":
		return c, true
	case "does not exist":
		c.Not = true
		return c, true
	}
	want, ok := strings.CutPrefix(rest, "contains ")
	if !ok {
		want, ok = strings.CutPrefix(rest, "does not contain ")
		c.Not = true
	}
	if !ok || len(want) < 3 {
		return Claim{}, false
	}
	q := want[0]
	if q != '"' && q != '`' || want[len(want)-1] != q || strings.IndexByte(want[1:], q) != len(want)-2 {
		return Claim{}, false
	}
	c.Kind, c.Want = FileContains, want[1:len(want)-1]
	return c, true
}

// bindingClaim reads "x is …" and "`x` equals …": the condition grammar decides what follows.
func bindingClaim(text string) (Claim, bool) {
	name, rest := text, ""
	if strings.HasPrefix(text, "`") {
		end := strings.IndexByte(text[1:], '`')
		if end < 0 {
			return Claim{}, false
		}
		name, rest = text[1:end+1], text[end+2:]
	} else if i := strings.IndexByte(text, ' '); i > 0 {
		name, rest = text[:i], text[i:]
	}
	rest = strings.TrimSpace(rest)
	if rest == "" || pathEnd(name, 0, true) != len(name) || name == "" {
		return Claim{}, false
	}
	// Backticks make the name surely a reference, so that it is not taken for a word.
	return Claim{Kind: Binding, Condition: "`" + name + "` " + rest}, true
}

// cutWord removes a first word, however it is capitalized.
func cutWord(t, word string) (rest string, ok bool) {
	if len(t) > len(word) && strings.EqualFold(t[:len(word)], word) && t[len(word)] == ' ' {
		return strings.TrimSpace(t[len(word):]), true
	}
	return t, false
}

// claimPath reads the path at the start of t: in backticks or quotes, or one word.
func claimPath(t string) (path, rest string, ok bool) {
	if t == "" {
		return "", "", false
	}
	if q := t[0]; q == '`' || q == '"' {
		end := strings.IndexByte(t[1:], q)
		if end <= 0 {
			return "", "", false
		}
		return t[1 : end+1], strings.TrimSpace(t[end+2:]), true
	}
	path, rest, ok = strings.Cut(t, " ")
	return path, strings.TrimSpace(rest), ok
}

// Check decides c.
func (c Claim) Check(env ClaimEnv) (bool, error) {
	give := func(s string) string {
		if env.Fill == nil {
			return s
		}
		return env.Fill(s)
	}
	switch {
	case c.Kind == Binding && env.Holds != nil:
		return env.Holds(c.Condition)
	case c.Kind == FileExists && env.Exists != nil:
		ok, err := env.Exists(give(c.Path))
		return ok != c.Not && err == nil, err
	case c.Kind == FileContains && env.Read != nil:
		data, err := env.Read(give(c.Path))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return bytes.Contains(data, []byte(give(c.Want))) != c.Not, nil
	}
	return false, diag.New(diag.Unmet, "claim_undecided", "checklist claim about %q cannot be checked here", c.Path+c.Condition)
}
