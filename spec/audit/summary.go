package audit

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

const noHost = "names no host"

// Summary is what a person needs to decide, in at most three lines: what runs, what is reached, what is changed.
// Max is how many names of a kind are written out. A release that asks for nothing has none.
func (r Report) Summary(max int) []string {
	of := func(kinds ...Kind) (names []string) {
		for _, f := range r {
			for _, k := range kinds {
				if f.Permission.Kind == k {
					name := f.Permission.Arg
					if k == Run && f.Scripts > 1 {
						name += " (" + diag.Count(f.Scripts, "file") + ")"
					}
					names = append(names, name)
				}
			}
		}
		return names
	}
	list := func(verb, any string, names []string) string {
		computed := false
		var shown []string
		for _, n := range names {
			if n == "*" {
				computed = true
			} else {
				shown = append(shown, n)
			}
		}
		more := len(shown) - max
		if more > 0 {
			shown = append(shown[:max:max], diag.Count(more, "other"))
		}
		if computed {
			shown = append(shown, any)
		}
		if len(shown) == 0 {
			return ""
		}
		return verb + " " + strings.Join(shown, ", ")
	}
	line := func(parts ...string) (out []string) {
		for _, p := range parts {
			if p != "" {
				out = append(out, p)
			}
		}
		return out
	}
	flag := func(k Kind, text string) string {
		if r.Set().any(k) {
			return text
		}
		return ""
	}
	unknown := flag(Dynamic, "runs code that its files do not show")
	for i := range r {
		if r[i].Permission.Kind == Dynamic && r[i].onlyLong() {
			unknown = "has " + diag.Count(r[i].Scripts, "file") + " too long to be read"
		}
	}
	network := list("speaks to", "hosts that are computed", of(Net))
	if network == "" && len(r) > 0 {
		network = noHost
	}
	var writes, outside []string
	for _, n := range of(Writes) {
		if n == "." {
			writes = append(writes, "files of the project")
		} else {
			outside = append(outside, n)
		}
	}
	lines := [][]string{
		line(flag(Load, "runs commands when an agent loads it"), list("runs", "", of(Run)), unknown, list("hooks", "events", of(Hook)), flag(Agent, "starts agents")),
		line(network, list("reads variables", "the whole environment", of(Env)), list("reads", "files it is given", of(Reads))),
		line(list("writes", "files it is given", append(writes, outside...)), list("installs", "", of(Package)), list("wants tools", "", of(Tool))),
	}
	if len(lines[0]) > 0 && len(lines[1]) == 1 && lines[1][0] == noHost {
		lines[0], lines[1] = append(lines[0], noHost), nil
	}
	var out []string
	for _, l := range lines {
		if len(l) > 0 {
			out = append(out, strings.Join(l, "; "))
		}
	}
	return out
}
