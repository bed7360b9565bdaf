package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	ocidigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// HoldNone is the Hold of a registry where no finding makes a release wait.
const HoldNone content.Severity = "none"

// maxReport bounds a report that is read, in bytes.
const maxReport = 16 << 20

// audited is what an audit finds in the files of a release.
func audited(tree bundle.Memory) wire.Report {
	var files []audit.File
	for _, p := range slices.Sorted(maps.Keys(tree)) {
		files = append(files, audit.File{Path: p, Data: tree[p].Data, Executable: tree[p].Executable})
	}
	found := content.Scan(files)
	out := wire.Report{V: 1, Findings: append([]content.Finding{}, found.Findings...), Allows: append([]content.Allow{}, found.Allows...),
		Coverage: found.Coverage, Permissions: []wire.Permission{}}
	out.Coverage.Unread = append([]content.Unread{}, out.Coverage.Unread...)
	for _, p := range found.Asks {
		out.Permissions = append(out.Permissions, wire.Permission{Permission: p.Permission.String(), Places: append([]audit.Place{}, p.Places...)})
	}
	return out
}

// judgeReport says what findings make of a release. What its publisher remarks of them does not matter: it is shown to who decides.
func (g *Registry) judgeReport(r wire.Report) (v Verdict) {
	refused := atLeast(r.Findings, content.Refuse)
	held := g.waitFor(r)
	switch {
	case len(refused) > 0:
		return Verdict{Refuse: true, Reason: sentences(refused, 1)}
	case len(held) > 0:
		return Verdict{Quarantine: true, Reason: "the audit found " + sentences(held, 1)}
	}
	return v
}

// waitFor are the findings that make a release wait.
func (g *Registry) waitFor(r wire.Report) []content.Finding {
	switch g.Hold {
	case HoldNone:
		return nil
	case "":
		return atLeast(r.Findings, content.High)
	}
	return atLeast(r.Findings, g.Hold)
}

func atLeast(all []content.Finding, least content.Severity) (list []content.Finding) {
	for _, f := range all {
		if f.Severity.AtLeast(least) {
			list = append(list, f)
		}
	}
	return list
}

// sentences are the first n findings in one line, and how many there are more.
func sentences(all []content.Finding, n int) string {
	var parts []string
	for _, f := range all[:min(n, len(all))] {
		parts = append(parts, f.Sentence())
	}
	text := strings.Join(parts, "; ")
	if more := len(all) - n; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// and is the harsher of two verdicts, with the reasons of both.
func (v Verdict) and(o Verdict) Verdict {
	if v.Reason != "" && o.Reason != "" {
		o.Reason = v.Reason + "; " + o.Reason
	} else if o.Reason == "" {
		o.Reason = v.Reason
	}
	return Verdict{v.Refuse || o.Refuse, v.Quarantine || o.Quarantine, o.Reason}
}

// admits asks the rules of the registry, unless r waits for a signature: then they are asked when it has one.
func (g *Registry) admits(r meta.Release, report wire.Report) error {
	if g.Admit == nil || r.State == meta.Draft {
		return nil
	}
	return g.Admit(r, report)
}

// An attachment is a manifest that refers to another, with the sizes of its blobs, which are stored.
type attachment struct {
	meta.Manifest
	sizes map[string]int64
}

// putReport stores the report on c as blobs, and notes its digest in the release. What refers to m is made by accept.
func (g *Registry) putReport(ctx context.Context, m meta.Manifest, c *Candidate) (attachment, error) {
	report, err := json.Marshal(c.Report)
	if err != nil {
		return attachment{}, err
	}
	var findings []diag.Finding
	for _, f := range c.Report.Findings {
		findings = append(findings, f.Lint())
	}
	sarif, err := json.Marshal(diag.SARIF(findings, "report-v1"))
	if err != nil {
		return attachment{}, err
	}
	out := attachment{sizes: map[string]int64{}}
	layer := func(media string, text []byte) (d v1.Descriptor) {
		if err == nil {
			var sum blob.Digest
			sum, err = g.putSmall(ctx, text)
			d = v1.Descriptor{MediaType: media, Digest: ocidigest.Digest(sum.String()), Size: int64(len(text))}
			out.sizes[sum.String()] = d.Size
		}
		return d
	}
	subject := v1.Descriptor{MediaType: m.MediaType, Digest: ocidigest.Digest(m.Digest), Size: int64(len(m.Bytes))}
	doc := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, ArtifactType: oci.ArtifactReport,
		Config: layer(v1.MediaTypeEmptyJSON, []byte("{}")), Subject: &subject,
		Layers: []v1.Descriptor{layer(oci.ArtifactReport, report), layer(oci.LayerSARIF, sarif)}}
	for i, name := range []string{"report.json", "report.sarif"} {
		doc.Layers[i].Annotations = map[string]string{v1.AnnotationTitle: name}
	}
	if err != nil {
		return attachment{}, err
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return attachment{}, err
	}
	c.Release.Report = doc.Layers[0].Digest.String()
	out.Manifest, err = parseManifest(m.Repo, doc.MediaType, blob.Sum(blob.SHA256, text), text)
	return out, err
}

// attach adds the report on r, which shares its state.
func (g *Registry) attach(ctx context.Context, tx *meta.Tx, a attachment, r meta.Release) error {
	for _, d := range slices.Sorted(maps.Keys(a.sizes)) {
		if err := g.link(ctx, tx, a.Repo, d, a.sizes[d]); err != nil {
			return err
		}
	}
	a.Root, a.State, a.Created = r.Manifest, r.State, r.Published
	return tx.PutManifest(ctx, a.Manifest)
}

// reported says whether the report on r is stored, as far as is known.
func (g *Registry) reported(ctx context.Context, r meta.Release) (whole bool) {
	err := g.view(ctx, func(tx *meta.Tx) error {
		list, err := tx.Referrers(ctx, r.Repo(), r.Manifest, oci.ArtifactReport, 1)
		for whole = true; err == nil && len(list) > 0 && whole; list = list[1:] {
			whole, err = g.whole(ctx, tx, list[0], 0)
		}
		return err
	})
	return whole && err == nil
}

// Report is what the audit found in a release.
func (g *Registry) Report(ctx context.Context, r meta.Release) (wire.Report, error) {
	if r.Report == "" {
		return wire.Report{}, diag.New(diag.Misuse, "not_found", "%s@%s was published before this registry audited releases", r.Repo(), r.Version)
	}
	var report wire.Report
	err := g.reading(ctx, func() (err error) {
		report, err = g.report(r)
		return err
	})
	return report, err
}

// report is Report for a transaction.
func (g *Registry) report(r meta.Release) (out wire.Report, err error) {
	if r.Report == "" {
		return wire.Report{V: 1}, nil
	}
	text, err := g.small(r.Report, maxReport)
	if _, is := errors.AsType[unread](err); is {
		return out, err
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return wire.Report{}, diag.New(diag.Failed, "corrupt", "the report of the audit of %s@%s cannot be read: %w", r.Repo(), r.Version, err)
	}
	return out, nil
}

// maxAccepted bounds what the log says of accepted findings, in bytes.
const maxAccepted = 4000

// accepted are the findings that whoever approves r lets through, for the log: rules and places, "" for none.
func (g *Registry) accepted(r meta.Release) (string, error) {
	report, err := g.report(r)
	if err != nil {
		return "", err
	}
	var list []string
	for _, f := range g.waitFor(report) {
		list = append(list, f.Rule+" "+diag.Position{File: f.File, Line: f.Line}.String())
	}
	return diag.Clip(diag.Printable(strings.Join(list, ", ")), maxAccepted), nil
}
