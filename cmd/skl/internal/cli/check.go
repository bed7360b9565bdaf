package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

// A checkItem is one check of "skl check".
type checkItem struct {
	Check  string   `json:"check"` // lock, verify, conflicts, trust
	OK     bool     `json:"ok"`
	Detail []string `json:"detail"`
}

type checkResult struct {
	OK     bool        `json:"ok"`
	Checks []checkItem `json:"checks"`
}

func checkCommand() command {
	return command{name: "check", group: "Team", usage: "the one line for CI: lock fresh, files verified, no open conflicts", output: checkResult{},
		example: "skl check\nskl check --base origin/main\nskl check --sarif",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "base", Usage: "also refuse a lower trust than at the git revision `REV` (exit 4)"},
			&cli.BoolFlag{Name: "sarif", Usage: "print findings as SARIF"},
		},
		run: runCheck}
}

func runCheck(ctx context.Context, w *world, c *cli.Context) error {
	out := checkResult{OK: true}
	class, code := diag.Class(0), "check"
	add := func(name string, detail []string) {
		out.Checks = append(out.Checks, checkItem{name, len(detail) == 0, append([]string{}, detail...)})
		out.OK = out.OK && len(detail) == 0
	}
	if err := w.Settled(); err != nil {
		return err
	}
	f, err := w.Load()
	if err != nil {
		return err
	}
	if len(f.Manifest.Skills) > 0 && !f.HasLock {
		add("lock", []string{"there is no skl.lock"})
	} else if err := w.checkLockFile(ctx, f, add, &class); err != nil {
		return err
	}
	v, err := w.Verify(ctx, nil, true)
	if err != nil {
		return err
	}
	var drift []string
	for _, s := range v.Skills {
		if s.State != "ok" {
			drift = append(drift, fmt.Sprintf("%s: %s %v", s.Name, s.State, s.Drift))
		}
	}
	add("verify", drift)
	var signatures []string
	for _, s := range v.Skills {
		if s.Signature == string(attest.Failed) {
			signatures = append(signatures, s.Name+": "+s.Reason)
		}
	}
	if len(signatures) > 0 || slices.ContainsFunc(f.Lock.Skills, apply.CanBeSigned) {
		add("signatures", signatures)
	}
	l, err := w.Discover(ctx, nil)
	if err != nil {
		return err
	}
	add("conflicts", openConflicts(l))
	if v.Refused != nil {
		class = diag.Refused
	}
	if base := c.String("base"); base != "" {
		old, err := w.LockAt(ctx, f, base)
		if err != nil {
			return err
		}
		var lower []string
		compared, err := w.CompareLocks(old, f.Lock)
		if err != nil {
			return err
		}
		for _, d := range compared {
			if d.Downgrade != "" {
				lower = append(lower, d.Name+": "+d.Downgrade)
			}
		}
		add("trust", lower)
		if len(lower) > 0 {
			class, code = diag.Refused, "trust_downgrade"
		}
	}
	if err := w.printCheck(out, c.Bool("sarif")); err != nil {
		return err
	}
	switch {
	case class == diag.Refused:
		return refused(code)
	case !out.OK:
		return unmet("check")
	}
	return nil
}

// checkLockFile adds whether the lock follows from the manifest, and whether each entry is of the source that owns its ref.
func (w *world) checkLockFile(ctx context.Context, f *scope.Files, add func(string, []string), class *diag.Class) error {
	c, err := w.Claims(ctx, f, true)
	if err != nil {
		return err
	}
	var wrong []string
	for _, name := range c.Stale {
		wrong = append(wrong, name+": skl.lock does not follow from skl.toml")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Refused)) {
		*class = diag.Refused
		wrong = append(wrong, name+": "+c.Refused[name].Error())
	}
	add("lock", wrong)
	return nil
}

// openConflicts are the collisions that want a decision.
func openConflicts(l roots.Listing) []string {
	var out []string
	for _, r := range l.Skills {
		for _, warning := range r.Warnings {
			if slices.Contains([]string{"W_TRUST_DOWNGRADE", "W_CONFUSABLE", "W_SYMLINK_ESCAPE"}, warning.Code) {
				out = append(out, fmt.Sprintf("%s: %s [%s]", r.Qualified, warning.Message, warning.Code))
			}
		}
	}
	return out
}

func (w *world) printCheck(out checkResult, sarif bool) error {
	if sarif {
		var findings []diag.Finding
		for _, c := range out.Checks {
			for _, d := range c.Detail {
				findings = append(findings, diag.Finding{File: "skl.lock", Rule: "CHECK-" + c.Check, Severity: diag.SeverityError, Message: d})
			}
		}
		return w.ui.Result(diag.SARIF(findings, build.Current().Version))
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	for _, c := range out.Checks {
		mark := ui.Painted(w.ui.Done())
		if !c.OK {
			mark = "✗"
		}
		w.ui.Print("%s %s", mark, c.Check)
		for _, d := range c.Detail {
			w.ui.Print("  %s", d)
		}
	}
	for _, c := range out.Checks {
		hint := map[string]string{"lock": "skl lock", "verify": "skl verify, then skl diff NAME", "conflicts": "skl list --shadowed, then skl ack CODE NAME --reason WHY", "trust": "skl diff --base REV"}[c.Check]
		if !c.OK && hint != "" {
			w.ui.Hint("%s", hint)
		}
	}
	return nil
}

// statusResult is manifest, lock, disk and hosts at a glance.
type statusResult struct {
	OK          bool     `json:"ok"`
	Scope       string   `json:"scope"`
	Base        string   `json:"base"`
	Root        string   `json:"root"`
	Hosts       []string `json:"hosts"`
	Skills      int      `json:"skills"`
	Stale       []string `json:"stale"`
	Drift       []string `json:"drift"`
	Conflicts   []string `json:"conflicts"`
	Interrupted bool     `json:"interrupted"`
	Trusted     bool     `json:"trusted"`
}

func statusCommand() command {
	return command{name: "status", group: "Team", usage: "manifest, lock, disk and agents at a glance", output: statusResult{},
		example: "skl status\nskl status -g",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			if err := w.Settled(); err != nil {
				return err
			}
			s, err := w.status(ctx)
			if err != nil {
				return err
			}
			if w.ui.JSON {
				if err := w.ui.Result(s); err != nil {
					return err
				}
			} else {
				w.printStatus(s)
			}
			if !s.OK {
				return unmet("status")
			}
			return nil
		}}
}

func (w *world) status(ctx context.Context) (statusResult, error) {
	f, err := w.Load()
	if err != nil {
		return statusResult{}, err
	}
	all, err := scope.Wants(f.Manifest)
	if err != nil {
		return statusResult{}, err
	}
	s := statusResult{Scope: string(w.Kind), Base: w.Base, Root: w.Root, Hosts: append([]string{}, w.EnabledHosts(f)...), Skills: len(f.Manifest.Skills),
		Stale: append([]string{}, resolver.Stale(all, f.Lock)...), Drift: []string{}, Conflicts: []string{}}
	receipts, bad := roots.Receipts(w.Root)
	if len(bad) > 0 {
		return statusResult{}, bad[0]
	}
	drifts, err := w.Site.CheckAll(ctx, receipts, false)
	if err != nil {
		return statusResult{}, err
	}
	for i, d := range drifts {
		if d.Any() {
			s.Drift = append(s.Drift, receipts[i].Name)
		}
	}
	for _, locked := range f.Lock.Skills {
		if !slices.ContainsFunc(receipts, func(r roots.Receipt) bool { return r.Name == locked.Name }) {
			s.Drift = append(s.Drift, locked.Name)
		}
	}
	l, err := w.Discover(ctx, nil)
	if err != nil {
		return statusResult{}, err
	}
	s.Conflicts = append(s.Conflicts, openConflicts(l)...)
	if s.Trusted, err = w.Trusted(); err != nil {
		return statusResult{}, err
	}
	s.OK = len(s.Stale)+len(s.Drift)+len(s.Conflicts) == 0
	return s, nil
}

func (w *world) printStatus(s statusResult) {
	say := func(label string, ok bool, good string, bad []string) {
		if ok {
			w.ui.Print("%s %s", label, good)
			return
		}
		w.ui.Print("%s %s", label, bad)
	}
	w.ui.Print("scope      %s, %s", s.Scope, w.Short(s.Base))
	w.ui.Print("skills     %d in skl.toml, installed in %s", s.Skills, w.Short(s.Root))
	w.ui.Print("agents     %s", orDash(fmt.Sprint(joinWords(s.Hosts))))
	say("lock      ", len(s.Stale) == 0, "fresh", prefixed("stale: ", s.Stale))
	say("files     ", len(s.Drift) == 0, "as published", prefixed("differ or missing: ", s.Drift))
	say("conflicts ", len(s.Conflicts) == 0, "none", s.Conflicts)
	if w.Project != "" && !s.Trusted {
		w.ui.Print("trust      this project is not trusted: its skills are listed, not loaded")
		w.ui.Hint("skl ci, or skl trust allow")
	}
	switch {
	case len(s.Stale) > 0:
		w.ui.Hint("skl install")
	case len(s.Drift) > 0:
		w.ui.Hint("skl verify")
	case len(s.Conflicts) > 0:
		w.ui.Hint("skl list --shadowed")
	}
}

func joinWords(words []string) string {
	out := ""
	for i, word := range words {
		if i > 0 {
			out += ", "
		}
		out += word
	}
	return out
}

func prefixed(prefix string, words []string) []string { return []string{prefix + joinWords(words)} }
