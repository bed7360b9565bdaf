package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "print the plan and change nothing"}
}

func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "replace local edits, after a backup"}
}

func acceptFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "accept", Usage: "accept `PERM`[,…] that a skill asks for, \"signer\" or \"moved\""}
}

func reasonFlag() cli.Flag {
	return &cli.StringFlag{Name: "reason", Usage: "why it is accepted: skl.toml keeps that, with who and when"}
}

func unsignedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "allow-unsigned", Usage: "accept and record releases without a signature where one is wanted"}
}

func hostFlag(usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: "host", Aliases: []string{"a", "agent"}, Usage: usage}
}

func installCommand() command {
	return command{name: "install", aliases: []string{"add", "i"}, args: "[REF…] [NAME…]", group: "Skills",
		usage: "resolve, lock and install skills", output: report.Installed{},
		example: `skl install anthropics/skills/pdf
			skl install obra/superpowers brainstorming writing-plans
			skl install obra/superpowers --all
			skl install github:o/r//skills/pdf@v1.2.0 --pin
			skl install ./my-skill
			skl install anthropics/skills/pdf --root .claude/skills   # there instead of .agents/skills
			skl install skl:canopy-runtime   # comes with skl
			skl install            # what skl.toml says`,
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "skill", Aliases: []string{"s"}, Usage: "install the skill `NAME` of the reference (repeatable)"},
			hostFlag("install for the agent `HOST` (repeatable)"),
			&cli.BoolFlag{Name: "all", Usage: "all skills of the reference that can be installed; held ones are listed, exit 3"},
			&cli.BoolFlag{Name: "strict", Usage: "with --all: all or nothing"},
			&cli.BoolFlag{Name: "list", Aliases: []string{"l"}, Usage: "only list what the reference holds"},
			&cli.StringFlag{Name: "as", Usage: "install the one skill under `NAME`, which skl.toml records"},
			&cli.BoolFlag{Name: "pin", Usage: "write the exact version"},
			&cli.BoolFlag{Name: "link", Usage: "link a local folder instead of copying it, while you work on it"},
			&cli.BoolFlag{Name: "gate", Usage: "say how to keep skills from agents that ignore the limits they set"},
			&cli.BoolFlag{Name: "frozen", Usage: "exactly skl.lock or nothing (skl ci)"},
			forceFlag(), acceptFlag(), reasonFlag(), unsignedFlag(), dryRunFlag(),
		},
		run: runInstall}
}

func runInstall(ctx context.Context, w *world, c *cli.Context) error {
	refs, names, err := parseArgs(c.Args().Slice(), namesIn(c, "skill"))
	if err != nil {
		return err
	}
	ci := w.scope.Getenv("CI") == "true" || w.scope.Getenv("CI") == "1"
	frozen := c.Bool("frozen") || ci && len(refs)+len(names) == 0 && scope.Exists(filepath.Join(w.scope.Base, "skl.lock"))
	if err := installUsage(c, len(refs), len(names), frozen); err != nil {
		return err
	}
	if c.Bool("list") {
		return w.listRefs(ctx, refs)
	}
	if len(refs) > 0 && !c.Bool("dry-run") {
		if err := w.askWhere(); err != nil {
			return err
		}
	}
	if c.Bool("link") {
		return w.link(ctx, c, refs)
	}
	if frozen {
		if len(refs)+len(names) > 0 {
			return diag.New(diag.Misuse, "usage", "--frozen installs what skl.lock says and takes no reference")
		}
		return runFrozen(ctx, w, c)
	}
	result, err := w.apply.Install(ctx, apply.InstallRequest{
		Refs: refs, Names: names, All: c.Bool("all"), Strict: c.Bool("strict"), Pin: c.Bool("pin"), Hosts: namesIn(c, "host"),
		Agreed: agreed(c), DryRun: c.Bool("dry-run"), Gate: c.Bool("gate"),
		Root: strings.Join(c.StringSlice("root"), ""), As: c.String("as"),
	})
	if held, ok := errors.AsType[*apply.Ambiguous](err); ok {
		return w.ambiguous(held)
	}
	return w.installed(result, err)
}

// askWhere asks whether skills are for the user or for the directory, which is in no project, where nobody said it and somebody can be asked.
func (w *world) askWhere() error {
	if !w.scope.ByDefault() || w.ui.Yes || !w.ui.CanAsk() || !w.scope.MayStart() {
		return nil
	}
	root := func(dir string) string { return w.scope.Short(scope.CanonicalIn(dir)) }
	answer, err := w.ui.Letters("this directory is in no project: install where?", []ask.Letter{{Key: "h", Word: "home, for all projects: " + root(w.scope.Home)},
		{Key: "t", Word: "this directory: " + root(w.scope.Cwd)}, {Key: "n", Word: "nowhere"}}, "h")
	switch {
	case err != nil:
		return err
	case answer == "t":
		return w.scope.StartProject()
	case answer == "n":
		return ask.ErrLeft
	}
	return nil
}

// installUsage refuses flags that do not go together.
func installUsage(c *cli.Context, refs, names int, frozen bool) error {
	usage := func(format string, args ...any) *diag.Error { return diag.New(diag.Misuse, "usage", format, args...) }
	elsewhere := frozen || c.Bool("list") || c.Bool("link")
	roots := len(c.StringSlice("root"))
	switch {
	case c.Bool("strict") && !c.Bool("all"):
		return usage("--strict belongs to --all: all skills or none")
	case c.Bool("all") && names > 0:
		return usage("--all installs every skill of a reference, and some were named").Hint("skl install REF NAME").Hint("skl install REF --all")
	case c.Bool("gate") && (elsewhere || c.Bool("dry-run")):
		e := usage("--gate is about skills left by an install here, and goes with none of --dry-run, --frozen (as in CI), --list and --link")
		if c.Bool("frozen") || !frozen { // else it is one of CI
			e = e.Hint("skl install --gate")
		}
		return e
	case roots > 1:
		return usage("a skill is installed in one root; --root was given %d times", roots)
	case roots == 1 && (refs+names == 0 || elsewhere):
		return usage("--root says where the skills of a reference are installed, and goes with none of --frozen, --list and --link").
			Hint("skl install REF --root DIR").Hint("for all skills: root = \"DIR\" under [targets] in skl.toml")
	case c.IsSet("as") && (refs != 1 || names > 1 || frozen || c.Bool("list") || c.Bool("all")):
		return usage("--as names the one skill of a reference, and goes with none of --all, --frozen and --list").Hint("skl install REF NAME --as OTHER")
	}
	return nil
}

// ambiguous shows what a reference holds, of which some have to be named.
func (w *world) ambiguous(e *apply.Ambiguous) error {
	out := report.Report{End: e, Text: func(say *report.Text) { printFound(say, e.Found, e.Passed) }}
	for _, f := range e.Found {
		out.Candidates = append(out.Candidates, f.Lock.Name)
	}
	return out.Write(w.ui)
}

// installed says what became of an install, an update, a removal or a ci, unless err says that nothing did.
func (w *world) installed(r apply.Result, err error) error {
	if err != nil {
		return err
	}
	return w.desk.Install(r).Write(w.ui)
}

// agreed is what the flags of a command agree to.
func agreed(c *cli.Context) apply.Agreed {
	return apply.Agreed{Accept: accepted(c), Reason: c.String("reason"), AllowUnsigned: c.Bool("allow-unsigned"), Force: c.Bool("force")}
}

// accepted is the permissions named by --accept. KIND=VALUE is another spelling of KIND:VALUE.
func accepted(c *cli.Context) []string {
	words := namesIn(c, "accept")
	for i, word := range words {
		kind, value, ok := strings.Cut(word, "=")
		if ok && slices.Contains(audit.Kinds(), audit.Kind(kind)) {
			words[i] = kind + ":" + value
		}
	}
	return words
}

// A listed is a skill of a reference, as -l shows it.
type listed struct {
	Name        string      `json:"name"`
	Path        string      `json:"path"`
	Version     string      `json:"version"`
	Commit      string      `json:"commit,omitempty"`
	Description string      `json:"description"`
	Invalid     string      `json:"invalid,omitempty"`
	Held        *apply.Held `json:"held,omitempty"` // why --all would leave it out, as far as that is known without its files
}

// listRefs shows what references hold, and changes nothing.
func (w *world) listRefs(ctx context.Context, refs []ref.Ref) error {
	all, over := []listed{}, []apply.Passed{}
	var text report.Text
	for _, r := range refs {
		found, passed, err := w.apply.Holdings(ctx, r)
		if err != nil {
			return err
		}
		printFound(&text, found, passed)
		over = append(over, passed...)
		for _, s := range found {
			l := listed{s.Lock.Name, s.Lock.Path, s.Lock.Version, string(s.Lock.Commit), s.Description, "", s.Held}
			if s.Invalid != nil {
				l.Invalid = s.Invalid.Error()
			}
			all = append(all, l)
		}
	}
	return w.show(map[string]any{"skills": all, "passed_over": over}, nil, func(say *report.Text) { *say = text })
}

// agree shows what is about to be added and asks for one yes; --yes gives it, and where nobody can be asked the command line
// is the yes.
func (w *world) agree(_ context.Context, p apply.Proposal) (bool, error) {
	if !w.ui.CanAsk() {
		return true, nil
	}
	added := w.desk.Proposed(p)
	w.ui.Show(draw.Before(w.ui.ErrLook(), added, diag.Size))
	if w.ui.Yes {
		return true, nil
	}
	question := "install?"
	if names := draw.Agents(p.Hosts); len(names) > 0 && len(names) < 6 {
		question = "install for " + strings.Join(names, ", ") + "?"
	}
	for {
		answer, err := w.ui.Letters(question, []ask.Letter{{Key: "y", Word: "yes"}, {Key: "f", Word: "files"}, {Key: "n", Word: "no"}}, "y")
		if err != nil || answer != "f" {
			return answer == "y", err
		}
		for _, a := range added {
			files, err := p.Files(a.Name)
			if err != nil {
				return false, err
			}
			for _, file := range files {
				w.ui.Show(w.ui.ErrLook().Lines(screen.L(screen.T("  " + a.Name + "/" + file))))
			}
		}
	}
}

// gained shows what an update asks for anew, and asks whether it may have that. --yes does not answer.
func (w *world) gained(g apply.Gain) (bool, error) {
	w.ui.Show(draw.Gained(w.ui.ErrLook(), g))
	for {
		answer, err := w.ui.Letters(g.Name+" asks for more than was accepted:", []ask.Letter{{Key: "d", Word: "diff"}, {Key: "a", Word: "accept"}, {Key: "k", Word: "keep " + screen.Version(g.From)}}, "")
		if err != nil || answer != "d" {
			return answer == "a", err
		}
		files, err := g.Files()
		if err != nil {
			return false, err
		}
		w.ui.Show(draw.Diff(w.ui.ErrLook(), inspect.Diff{Name: g.Name, From: g.From, To: g.To, Files: files}, false))
	}
}
