package admin

import (
	"cmp"
	"context"
	"errors"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// A MirrorRequest asks for the releases of a namespace of another registry.
type MirrorRequest struct {
	Site      Site   // copy into it; over the network
	From      string // name or URL of the other registry
	Namespace string
	Into      string // namespace; "" is the same
	Approve   string // auto: copies that wait are approved; manual: the namespace must let them wait; "": as it does
	DryRun    bool
}

// A Mirrored is what became of the releases of a namespace.
type Mirrored struct {
	OK       bool             `json:"ok"`
	From     string           `json:"from"`
	To       string           `json:"to"`
	Releases []MirroredSingle `json:"releases"`
	First    error            `json:"-"` // of the releases that were not copied; nil if OK
}

// A MirroredSingle is what became of one release.
type MirroredSingle struct {
	Name       string `json:"name"` // NAMESPACE/NAME@VERSION, at the destination
	Manifest   string `json:"manifest"`
	Result     string `json:"result"`     // copied, there, held, failed; with --dry-run: would copy
	Signatures int    `json:"signatures"` // and other artifacts that refer to it
	Error      string `json:"error,omitempty"`
}

// Mirror copies the releases of a namespace with their signatures. That one of them failed is in the result, and not an
// error.
func (a *Admin) Mirror(ctx context.Context, r MirrorRequest) (Mirrored, error) {
	if err := r.check(); err != nil {
		return Mirrored{}, err
	}
	from, err := a.remote(r.From)
	if err != nil {
		return Mirrored{}, err
	}
	to, err := a.open(ctx, r.Site)
	if err != nil {
		return Mirrored{}, err
	}
	defer to.close()
	into := cmp.Or(r.Into, r.Namespace)
	if from.URL() == to.client.URL() && into == r.Namespace {
		return Mirrored{}, diag.New(diag.Misuse, "usage", "%s would be copied to itself", r.Namespace).Hint("add --registry OTHER or --into NAMESPACE")
	}
	items, err := from.Releases(ctx, r.Namespace, r.Into)
	if err != nil {
		return Mirrored{}, err
	}
	n, err := to.client.Namespace(ctx, into)
	if err != nil {
		return Mirrored{}, err
	}
	if r.Approve == "manual" && !n.Policy.ManualApproval && !n.Policy.SecondPerson {
		return Mirrored{}, diag.New(diag.Misuse, "wrong_policy", "releases of namespace %s are seen at once", into).Hint("skl registry namespace set %s --approval manual", into)
	}
	m := mirroring{Admin: a, to: to, approve: r.Approve == "auto", out: Mirrored{OK: true, From: from.URL(), To: to.client.URL(), Releases: []MirroredSingle{}}}
	if r.DryRun {
		err = m.plan(ctx, items)
	} else {
		job := &client.Mirror{From: client.NewOCI(a.Scope.HTTP), To: client.NewOCI(a.Scope.HTTP), Client: to.client, Origin: from.URL(), Report: func(done client.Copied) { m.report(ctx, done) }}
		job.Run(ctx, items) // each of its errors was reported
		err = ctx.Err()
	}
	return m.out, err
}

// check refuses a request that no registry can answer.
func (r MirrorRequest) check() error {
	switch {
	case r.From == "":
		return diag.New(diag.Misuse, "usage", "--from says which registry to copy from").Hint("skl registry mirror %s --from URL", r.Namespace)
	case r.Site.Data != "":
		return diag.New(diag.Misuse, "usage", "mirror speaks to a running registry").Hint("add --registry NAME|URL in place of --data")
	case r.Approve != "" && r.Approve != "auto" && r.Approve != "manual":
		return diag.New(diag.Misuse, "usage", "--approve is auto or manual, not %q", r.Approve).Meant("auto", "manual")
	}
	return nil
}

// A mirroring collects what becomes of each release.
type mirroring struct {
	*Admin
	to      *site
	approve bool
	out     Mirrored
}

func (m *mirroring) add(item client.Copying, line MirroredSingle, err error) {
	line.Name = item.Namespace + "/" + item.Name + "@" + item.Version
	if err != nil {
		line.Result, line.Error = "failed", diag.Printable(err.Error())
		if m.out.First == nil {
			m.out.First = err
		}
		m.out.OK = false
	}
	m.out.Releases = append(m.out.Releases, line)
	m.Scope.Tell.Detail("%s %s", line.Name, line.Result)
}

// plan looks what is there already.
func (m *mirroring) plan(ctx context.Context, items []client.Copying) error {
	for _, item := range items {
		have, err := m.to.client.Version(ctx, item.Namespace, item.Name, item.Version)
		line := MirroredSingle{Manifest: item.Reference, Result: "would copy"}
		switch e, ok := errors.AsType[*diag.Error](err); {
		case err == nil && have.Manifest == item.Reference:
			line.Result, err = "there", nil
		case err == nil:
			err = diag.New(diag.Refused, "version_exists", "%s has another manifest of this version", m.to.at.Name)
		case ok && e.Class == diag.Misuse:
			err = nil
		default:
			return err
		}
		m.add(item, line, err)
	}
	return nil
}

// report takes one release that was copied, and approves it where that is wanted.
func (m *mirroring) report(ctx context.Context, done client.Copied) {
	line, err := MirroredSingle{Manifest: done.Manifest, Result: "there", Signatures: done.Referrers}, done.Err
	if done.Created {
		line.Result = "copied"
	}
	if err == nil {
		v, verr := m.to.client.Version(ctx, done.Namespace, done.Name, done.Version)
		if verr == nil && v.State == wire.Quarantined {
			line.Result = "held"
			if m.approve {
				line.Result = "copied"
				_, verr = m.to.client.Act(ctx, done.Namespace, done.Name, done.Version, wire.Action{Action: "approve", Reason: "mirrored from " + m.out.From})
			}
		}
		err = verr
	}
	m.add(done.Copying, line, err)
}
