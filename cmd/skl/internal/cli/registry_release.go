package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// actCommand is a subcommand that decides about one release; done is what it is afterwards.
func actCommand(action, usage, done string) command {
	return command{name: action, args: "NAMESPACE/NAME@VERSION", usage: usage, output: registryResult{},
		flags: append([]cli.Flag{&cli.StringFlag{Name: "reason", Usage: "say why: readers and the log see `TEXT`"}, dryRunFlag()}, siteFlags()...),
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			args, err := words(c, 1, "registry "+action+" NAMESPACE/NAME@VERSION")
			if err != nil {
				return err
			}
			namespace, name, version, err := exactRelease(args[0])
			if err != nil {
				return err
			}
			reason := strings.TrimSpace(c.String("reason"))
			if reason == "" && action != "approve" {
				return diag.New(diag.Misuse, "usage", "%s needs a reason", action).Hint("add --reason TEXT")
			}
			s, err := w.site(ctx, c)
			if err != nil {
				return err
			}
			defer s.close()
			v, err := ship.Current(ctx, s.Client, namespace, name, version)
			if err == nil && !c.Bool("dry-run") {
				v, err = s.Act(ctx, namespace, name, version, wire.Action{Action: action, Reason: reason})
			}
			if err != nil {
				return err
			}
			if w.ui.JSON {
				return w.ui.Result(registryResult{OK: true, Registry: s.name, Action: action, Target: args[0], State: v.State})
			}
			if c.Bool("dry-run") {
				w.ui.Print("%s is %s now and would be %s", args[0], v.State, done)
				w.ui.Note("nothing was changed (--dry-run)")
				return nil
			}
			w.ui.Print("%s is %s", args[0], v.State)
			return nil
		}}
}

// exactRelease takes "acme/pdf@1.4.2" apart.
func exactRelease(text string) (namespace, name, version string, err error) {
	r, err := ref.Parse(text)
	if err != nil {
		return "", "", "", err
	}
	full, version, _ := strings.Cut(text, "@")
	namespace, name, ok := strings.Cut(full, "/")
	if _, bad := semver.StrictNewVersion(version); bad != nil || !ok || strings.Contains(name, "/") || r.Kind != ref.Name {
		return "", "", "", diag.New(diag.Misuse, "invalid_ref", "%q is not one release", text).Hint("write NAMESPACE/NAME@VERSION, as in acme/pdf@1.4.2")
	}
	return namespace, name, version, nil
}

type mirrorResult struct {
	OK       bool         `json:"ok"`
	From     string       `json:"from"`
	To       string       `json:"to"`
	Releases []mirrorLine `json:"releases"`
}

type mirrorLine struct {
	Name       string `json:"name"` // NAMESPACE/NAME@VERSION, at the destination
	Manifest   string `json:"manifest"`
	Result     string `json:"result"`     // copied, there, held, failed; with --dry-run: would copy
	Signatures int    `json:"signatures"` // and other artifacts that refer to it
	Error      string `json:"error,omitempty"`
}

func mirrorCommand() command {
	return command{name: "mirror", args: "NAMESPACE", usage: "copy the releases of a namespace from another registry, with their signatures", output: mirrorResult{}, run: runMirror,
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "copy from registry `NAME|URL`"},
			&cli.StringFlag{Name: "into", Usage: "copy into `NAMESPACE` (default: the same)"},
			&cli.StringFlag{Name: "approve", Usage: "let copies that wait be seen (`auto|manual`), or see to it that they wait (default: as the namespace says)"},
			dryRunFlag(),
		}, siteFlags()...)}
}

func runMirror(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry mirror NAMESPACE --from NAME|URL")
	if err != nil {
		return err
	}
	approve := c.String("approve")
	switch {
	case c.String("from") == "":
		return diag.New(diag.Misuse, "usage", "--from says which registry to copy from").Hint("skl registry mirror %s --from URL", args[0])
	case c.String("data") != "":
		return diag.New(diag.Misuse, "usage", "mirror speaks to a running registry").Hint("add --registry NAME|URL in place of --data")
	case approve != "" && approve != "auto" && approve != "manual":
		return diag.New(diag.Misuse, "usage", "--approve is auto or manual, not %q", approve).Meant("auto", "manual")
	}
	base, err := w.SiteURL(c.String("from"))
	if err != nil {
		return err
	}
	from, err := client.New(w.HTTP, base)
	if err != nil {
		return err
	}
	to, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer to.close()
	if from.URL() == to.URL() && (c.String("into") == "" || c.String("into") == args[0]) {
		return diag.New(diag.Misuse, "usage", "%s would be copied to itself", args[0]).Hint("add --registry OTHER or --into NAMESPACE")
	}
	items, err := from.Releases(ctx, args[0], c.String("into"))
	if err != nil {
		return err
	}
	into := args[0]
	if c.String("into") != "" {
		into = c.String("into")
	}
	if n, err := to.Namespace(ctx, into); err != nil {
		return err
	} else if approve == "manual" && !n.Policy.ManualApproval {
		return diag.New(diag.Misuse, "wrong_policy", "releases of namespace %s are seen at once", into).Hint("skl registry namespace set %s --approval manual", into)
	}
	m := mirroring{w: w, to: to, approve: approve == "auto", out: mirrorResult{OK: true, From: from.URL(), To: to.URL(), Releases: []mirrorLine{}}}
	if c.Bool("dry-run") {
		err = m.plan(ctx, items)
	} else {
		job := &client.Mirror{From: client.NewOCI(w.HTTP), To: client.NewOCI(w.HTTP), Client: to.Client, Origin: from.URL(), Report: func(done client.Copied) { m.report(ctx, done) }}
		job.Run(ctx, items) // each of its errors was reported
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	return m.print()
}

// A mirroring collects what becomes of each release.
type mirroring struct {
	w       *world
	to      *site
	approve bool
	out     mirrorResult
	first   error
}

func (m *mirroring) add(item client.Copying, line mirrorLine, err error) {
	line.Name = item.Namespace + "/" + item.Name + "@" + item.Version
	if err != nil {
		line.Result, line.Error = "failed", diag.Printable(err.Error())
		if m.first == nil {
			m.first = err
		}
		m.out.OK = false
	}
	m.out.Releases = append(m.out.Releases, line)
	m.w.ui.Detail("%s %s", line.Name, line.Result)
}

// plan looks what is there already.
func (m *mirroring) plan(ctx context.Context, items []client.Copying) error {
	for _, item := range items {
		have, err := m.to.Version(ctx, item.Namespace, item.Name, item.Version)
		line := mirrorLine{Manifest: item.Reference, Result: "would copy"}
		switch e, ok := errors.AsType[*diag.Error](err); {
		case err == nil && have.Manifest == item.Reference:
			line.Result, err = "there", nil
		case err == nil:
			err = diag.New(diag.Refused, "version_exists", "%s has another manifest of this version", m.to.name)
		case ok && e.Class == diag.Misuse:
			err = nil
		default:
			return err
		}
		m.add(item, line, err)
	}
	return nil
}

func (m *mirroring) report(ctx context.Context, done client.Copied) {
	line, err := mirrorLine{Manifest: done.Manifest, Result: "there", Signatures: done.Referrers}, done.Err
	if done.Created {
		line.Result = "copied"
	}
	if err == nil {
		v, verr := m.to.Version(ctx, done.Namespace, done.Name, done.Version)
		if verr == nil && v.State == wire.Quarantined {
			line.Result = "held"
			if m.approve {
				line.Result = "copied"
				_, verr = m.to.Act(ctx, done.Namespace, done.Name, done.Version, wire.Action{Action: "approve", Reason: "mirrored from " + m.out.From})
			}
		}
		err = verr
	}
	m.add(done.Copying, line, err)
}

func (m *mirroring) print() error {
	w := m.w
	if w.ui.JSON {
		if err := w.ui.Result(m.out); err != nil {
			return err
		}
	} else {
		rows := [][]string{{"RELEASE", "RESULT", "SIGNATURES"}}
		held := false
		for _, r := range m.out.Releases {
			result := r.Result
			if r.Error != "" {
				result += ": " + r.Error
			}
			held = held || r.Result == "held"
			rows = append(rows, []string{r.Name, result, strconv.Itoa(r.Signatures)})
		}
		w.ui.Rows(rows)
		if len(m.out.Releases) == 0 {
			w.ui.Note("%s has no releases there", m.out.From)
		}
		if held {
			w.ui.Hint("skl registry approve NAMESPACE/NAME@VERSION, or run it again with --approve auto")
		}
	}
	if m.first != nil {
		return shown{m.first}
	}
	return nil
}
