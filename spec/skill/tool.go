package skill

import (
	"strings"
	"unicode"

	"github.com/skl-project/skl/spec/diag"
)

// A Tool is one entry of tools.allow, tools.deny or allowed-tools:
//
//	tool = [ns "::"] name ["(" pattern ")"]     or     ns "::*"
//
// Names are case-sensitive. The pattern's meaning belongs to the tool.
type Tool struct {
	Namespace string // "" for a host's built-in tool
	Name      string // "*" for every tool of Namespace
	Pattern   string // "" is every use
}

// String is the canonical spelling: ParseTool(t.String()) equals t.
//
//go:noinline
func (t Tool) String() string {
	s := t.Name
	if t.Namespace != "" {
		s = t.Namespace + "::" + s
	}
	if t.Pattern != "" {
		s += "(" + t.Pattern + ")"
	}
	return s
}

// ParseTool parses s. Its error has the code V1-TOOL-NAME.
func ParseTool(s string) (Tool, error) {
	t, rest := Tool{}, s
	if open := strings.IndexByte(rest, '('); open >= 0 {
		t.Pattern = strings.TrimSuffix(rest[open+1:], ")")
		if !strings.HasSuffix(rest, ")") || t.Pattern == "" || len(t.Pattern) > 256 || strings.ContainsAny(t.Pattern, "()") || strings.ContainsFunc(t.Pattern, unicode.IsControl) {
			return Tool{}, toolError(s, "its pattern is not text of at most 256 bytes between one pair of parentheses")
		}
		rest = rest[:open]
	}
	if ns, name, found := strings.Cut(rest, "::"); found {
		if !isToolWord(ns) {
			return Tool{}, toolError(s, "its namespace is not letters, digits, \".\", \"_\" and \"-\"")
		}
		t.Namespace, rest = ns, name
	}
	t.Name = rest
	if rest == "*" && t.Namespace != "" && t.Pattern == "" {
		return t, nil
	}
	if !isToolWord(rest) {
		return Tool{}, toolError(s, "a tool is NAME, NS::NAME or NS::*, perhaps with a pattern in parentheses")
	}
	return t, nil
}

func toolError(s, why string) *diag.Error {
	return diag.New(diag.Unmet, RuleToolName, "invalid tool %q: %s", diag.Printable(s), why)
}

func isToolWord(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '.' && c != '-') {
			return false
		}
	}
	return true
}

// Covers reports whether every use that u means is one that t means.
func (t Tool) Covers(u Tool) bool {
	return t.Namespace == u.Namespace && (t.Name == "*" || t.Name == u.Name) && (t.Pattern == "" || t.Pattern == u.Pattern)
}

// isInterpreter reports whether t can do whatever other tools can.
func (t Tool) isInterpreter() bool {
	if t.Name == "*" {
		return false
	}
	switch strings.ToLower(t.Name) {
	case "bash", "sh", "shell", "zsh", "powershell", "pwsh", "cmd", "exec", "terminal", "run_terminal_cmd", "run_shell_command",
		"python", "run_python", "run_r", "rscript", "node", "eval", "task", "agent":
		return true
	}
	return false
}

// Preapproved returns what the skill asks hosts to run without a question:
// allowed-tools, cut down to what tools.allow lets through and tools.deny does
// not take away. A name that no tool can have is left out when tools is set.
func (d *Document) Preapproved() []string {
	if d.Tools == nil {
		return d.AllowedTools
	}
	var out []string
	for _, text := range d.AllowedTools {
		asked, err := ParseTool(text)
		if err != nil {
			continue
		}
		for _, t := range d.Tools.narrow(asked) {
			out = append(out, t.String())
		}
	}
	return out
}

// narrow returns the part of asked that t allows. A denial of some uses takes
// away all of them, since patterns cannot be subtracted.
func (t *Tools) narrow(asked Tool) []Tool {
	var out []Tool
	switch {
	case !t.Limited:
		out = []Tool{asked}
	default:
		for _, a := range t.Allow {
			if a.Covers(asked) {
				out = []Tool{asked}
				break
			}
			if asked.Covers(a) {
				out = append(out, a)
			}
		}
	}
	kept := out[:0]
	for _, a := range out {
		if !t.denies(a) {
			kept = append(kept, a)
		}
	}
	return kept
}

func (t *Tools) denies(a Tool) bool {
	for _, d := range t.Deny {
		sameName := d.Namespace == a.Namespace && (d.Name == a.Name || d.Name == "*" || a.Name == "*")
		if sameName && (d.Pattern == "" || a.Pattern == "" || d.Pattern == a.Pattern) {
			return true
		}
	}
	return false
}

// splitTools splits allowed-tools at blanks and commas outside parentheses.
func splitTools(s string) []string {
	var out []string
	depth, start := 0, -1
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case depth == 0 && (isBlank(c) || c == ','):
			if start >= 0 {
				out = append(out, s[start:i])
			}
			start = -1
			continue
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		out = append(out, s[start:])
	}
	return out
}
