package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
)

// A Problem is something that should not be. Lost tells damage from what is merely left over.
type Problem struct {
	Code string `json:"code"` // lost_blob, corrupt_blob, corrupt_manifest, log, unlogged, lost_release, database
	What string `json:"what"` // a release, digest or file
	Text string `json:"text"`
}

// An FsckReport says what was looked at and found.
type FsckReport struct {
	Releases int       `json:"releases"`
	Blobs    int       `json:"blobs"`
	Entries  int64     `json:"log_entries"`
	Problems []Problem `json:"problems"`
}

// maxProblems bounds a report; a store that is lost altogether has more.
const maxProblems = 1000

//go:noinline
func (r *FsckReport) add(code, what, format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{code, what, fmt.Sprintf(format, args...)})
	}
}

// Fsck compares what the registry says with what is there: the database's own structure, that every
// blob with a row is stored, that every manifest is what its digest says, that every visible release
// has its publish entry in the log and every such entry its release, and that the log's records give its root. It reads no blob: see [Registry.Scrub].
func (g *Registry) Fsck(ctx context.Context) (FsckReport, error) {
	report := FsckReport{Problems: []Problem{}}
	if err := g.Meta.Check(ctx); err != nil {
		report.add("database", "meta.db", "%s", err)
	}
	if err := g.verifyLog(ctx, func(tx *meta.Tx) func(int64, []byte) error {
		return func(index int64, record []byte) error { return checkEntry(ctx, tx, index, record, &report) }
	}); err != nil {
		report.add("log", g.Key.Origin(), "%s", err)
	}
	if s, ok := g.Blobs.(blob.Remote); ok {
		if err := s.Survey(ctx); err != nil {
			return report, Explain(err)
		}
	}
	if err := g.eachBlob(ctx, func(d blob.Digest, size int64) error {
		report.Blobs++
		have, err := g.Blobs.Stat(ctx, d)
		if err == nil && have != size { // it cannot be right; the check notes that for everybody
			err = g.Blobs.Check(ctx, d)
		}
		switch {
		case errors.Is(err, blob.ErrCorrupt):
			report.add("corrupt_blob", d.String(), "the content is damaged; push it again, or restore it")
		case errors.Is(err, blob.ErrNotFound):
			report.add("lost_blob", d.String(), "the blob has a row and no content")
		case err != nil:
			return Explain(err)
		}
		return nil
	}); err != nil {
		return report, err
	}
	return report, g.checkReleases(ctx, &report)
}

// checkEntry holds an entry of the log against its release: what was logged as published is there.
func checkEntry(ctx context.Context, tx *meta.Tx, index int64, text []byte, report *FsckReport) error {
	rec, err := tlog.ParseRecord(text)
	if err != nil || rec.Action != tlog.Publish {
		return err
	}
	namespace, name, _ := cutRepo(rec.Name)
	r, err := tx.Release(ctx, namespace, name, rec.Version)
	switch {
	case errors.Is(err, meta.ErrNotFound):
		report.add("lost_release", rec.Name+"@"+rec.Version, "entry %d of the log says that it was published, and it is not there", index)
	case err != nil:
		return err
	case r.LogIndex < 0 && !r.State.Served() && r.Manifest == rec.Manifest:
		report.add("lost_release", rec.Name+"@"+rec.Version, "entry %d of the log says that it was published, and it is %s", index, r.State)
	case r.LogIndex > index && r.Manifest == rec.Manifest: // lost, and published again: checkRelease looks at the later entry
	case r.LogIndex != index || r.Manifest != rec.Manifest:
		report.add("unlogged", rec.Name+"@"+rec.Version, "entry %d of the log is of another publication than its own, %d", index, r.LogIndex)
	}
	return nil
}

// eachBlob visits every blob that has a row.
func (g *Registry) eachBlob(ctx context.Context, visit func(d blob.Digest, size int64) error) error {
	for after := ""; ; {
		var page []meta.StoredBlob
		err := g.view(ctx, func(tx *meta.Tx) (err error) {
			page, err = tx.StoredBlobs(ctx, after, 1000)
			return err
		})
		if err != nil {
			return err
		}
		for _, b := range page {
			after = b.Digest
			d, err := blob.ParseDigest(b.Digest)
			if err != nil {
				return err
			}
			if err := visit(d, b.Size); err != nil {
				return err
			}
		}
		if len(page) < 1000 {
			return nil
		}
	}
}

// checkReleases walks all releases and holds each against its manifest, blobs and log entry.
func (g *Registry) checkReleases(ctx context.Context, report *FsckReport) error {
	err := g.view(ctx, func(tx *meta.Tx) (err error) {
		report.Entries, err = tx.LogSize(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return g.eachRelease(ctx, func(tx *meta.Tx, repo string, r meta.Release) { g.checkRelease(ctx, tx, repo, r, report) })
}

// eachRelease visits every release of every repository, in one transaction.
func (g *Registry) eachRelease(ctx context.Context, visit func(tx *meta.Tx, repo string, r meta.Release)) error {
	return g.view(ctx, func(tx *meta.Tx) error {
		for after := ""; ; {
			repos, err := tx.Repos(ctx, after, 1000)
			if err != nil || len(repos) == 0 {
				return err
			}
			for _, repo := range repos {
				after = repo
				namespace, name, ok := cutRepo(repo)
				if !ok {
					continue
				}
				releases, err := tx.Releases(ctx, namespace, name)
				if err != nil {
					return err
				}
				for _, r := range releases {
					visit(tx, repo, r)
				}
			}
		}
	})
}

func (g *Registry) checkRelease(ctx context.Context, tx *meta.Tx, repo string, r meta.Release, report *FsckReport) {
	report.Releases++
	what := repo + "@" + r.Version
	m, err := tx.Manifest(ctx, repo, r.Manifest)
	if err != nil {
		report.add("corrupt_manifest", what, "the manifest %s is not there", r.Manifest)
		return
	}
	if d, err := blob.ParseDigest(m.Digest); err != nil || !d.Names(m.Bytes) {
		report.add("corrupt_manifest", what, "the manifest is not what its digest says")
	}
	if m.State != r.State {
		report.add("corrupt_manifest", what, "the manifest is %s, the release %s", m.State, r.State)
	}
	for _, digest := range []string{r.Zip, r.Artifact, r.Report} {
		if d, err := blob.ParseDigest(digest); err == nil {
			if _, err := g.statIn(ctx, tx, d); errors.Is(err, blob.ErrCorrupt) {
				report.add("corrupt_blob", what, "%s is damaged; push it again, or restore it", digest)
			} else if err != nil {
				report.add("lost_blob", what, "%s is lost", digest)
			}
		}
	}
	if r.LogIndex < 0 {
		if r.State.Served() {
			report.add("unlogged", what, "the release is visible and has no entry in the log")
		}
		return
	}
	records, err := tx.LogRecords(ctx, r.LogIndex, r.LogIndex+1)
	var rec tlog.Record
	if err == nil && len(records) == 1 {
		rec, err = tlog.ParseRecord(records[0])
	}
	if err != nil || rec.Action != tlog.Publish || rec.Name != repo || rec.Version != r.Version || rec.Manifest != r.Manifest {
		report.add("unlogged", what, "entry %d of the log is not its publication", r.LogIndex)
	}
}

// Scrub reads every blob and reports those whose bytes are not what their digest says any more.
func (g *Registry) Scrub(ctx context.Context, progress func(done int)) (FsckReport, error) {
	report := FsckReport{Problems: []Problem{}}
	err := g.eachBlob(ctx, func(d blob.Digest, _ int64) error {
		report.Blobs++
		if progress != nil {
			progress(report.Blobs)
		}
		switch err := g.Blobs.Check(ctx, d); {
		case errors.Is(err, blob.ErrCorrupt):
			report.add("corrupt_blob", d.String(), "the content is damaged; push it again, or restore it")
		case errors.Is(err, blob.ErrNotFound):
			report.add("lost_blob", d.String(), "the blob has a row and no content")
		case err != nil:
			return Explain(err)
		}
		return nil
	})
	if err == nil {
		err = g.nameNeeds(ctx, report.Problems)
	}
	return report, err
}

// maxNeeds is how many releases a problem of a blob names.
const maxNeeds = 5

// nameNeeds adds to the text of each problem, whose What is the digest of a blob, the releases that need the blob.
func (g *Registry) nameNeeds(ctx context.Context, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	needs := map[string][]string{}
	for _, p := range problems {
		needs[p.What] = nil
	}
	if err := g.eachRelease(ctx, func(tx *meta.Tx, repo string, r meta.Release) {
		digests := []string{r.Zip, r.Artifact, r.Report}
		if d, err := blob.ParseDigest(r.Manifest); err == nil {
			m, err := tx.Manifest(ctx, repo, r.Manifest)
			if err == nil {
				m, err = parseManifest(repo, m.MediaType, d, m.Bytes)
			}
			if err == nil { // else fsck says it
				digests = append(digests, m.Blobs...)
			}
		}
		slices.Sort(digests)
		for _, digest := range slices.Compact(digests) {
			if have, ok := needs[digest]; ok {
				needs[digest] = append(have, repo+"@"+r.Version)
			}
		}
	}); err != nil {
		return err
	}
	for i := range problems {
		p := &problems[i]
		names := needs[p.What]
		switch n := len(names); {
		case n == 0:
			p.Text += "; no release needs it"
		case n > maxNeeds:
			p.Text += fmt.Sprintf("; needed by %s and %d more releases", strings.Join(names[:maxNeeds], ", "), n-maxNeeds)
		default:
			p.Text += "; needed by " + strings.Join(names, ", ")
		}
	}
	return nil
}
