package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/graph"
)

// WriteProof writes a page about a recorded run to file. Only this user can read it: it holds prompts and answers.
func (rs *Runs) WriteProof(ctx context.Context, record Record, file string) error {
	if err := rs.checkProof(file); err != nil {
		return err
	}
	events, err := rs.RunEvents(record.ID)
	if err != nil {
		return err
	}
	p := trace.Proof{Run: record.ID, Skill: record.Skill, Args: record.Args, Model: record.Model, Status: record.State(), ExitCode: record.ExitCode,
		Started: record.Started, Ended: record.Ended, Digest: record.Digest, Journal: rs.journalDigest(record.journalled()), Version: rs.Version, Events: events}
	p.Replay = "skl run " + rs.called(ctx, record) + " --model replay:" + record.journalled()
	p.Picture, p.NoPicture = rs.picture(ctx, record, events)
	var page bytes.Buffer
	if err := trace.WriteProof(&page, p); err != nil {
		return err
	}
	if err := durable.WriteFile(scope.Absolute(rs.Scope.Cwd, file), page.Bytes(), 0o600); err != nil {
		return diag.New(diag.Failed, "proof", "writing the page of run %s: %w", record.ID, err).Hint("skl trace %s --html FILE", record.ID)
	}
	rs.Scope.Tell.Note("wrote %s; it holds the prompts and answers of the run", file)
	return nil
}

// checkProof refuses a file that WriteProof could not write, before anything runs.
func (rs *Runs) checkProof(file string) error {
	path := scope.Absolute(rs.Scope.Cwd, file)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return diag.New(diag.Misuse, "usage", "%s is a directory, and the page is one file", file)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return diag.New(diag.Misuse, "usage", "there is no directory %s for the page", filepath.Dir(file))
	}
	return nil
}

// picture is the tree of a run as it was walked, or why there is none.
func (rs *Runs) picture(ctx context.Context, record Record, events []run.Event) (svg, none string) {
	r, err := rs.ranAs(ctx, record)
	switch {
	case err != nil:
		return "", "The skill is not here any more as it ran, so that its tree cannot be drawn."
	case r.Plan.Digest != record.Digest:
		return "", "The skill has changed since this run, so that its tree is not drawn; the steps below are those of the run."
	case r.Plan.Whole != nil:
		return "", "The skill has no tree: a model carried out its text as one step."
	}
	return graph.SVG(r.Skill, graph.Options{Ops: true, Status: statusOf(events)}), ""
}

// journalDigest is the digest of the journal of a run, "" if it has none.
func (rs *Runs) journalDigest(id string) string {
	f, err := os.Open(filepath.Join(rs.RunDir(id), run.JournalName))
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
