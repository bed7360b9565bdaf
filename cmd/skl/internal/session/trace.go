package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/runtime/trace/otlp"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// spans sends the run to an OpenTelemetry collector, if the configuration or the environment names one.
func (rs *Runs) spans(id, model string) (trace.Sink, error) {
	endpoint := rs.Scope.Config.Run.Trace
	if endpoint == "" && rs.Scope.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && rs.Scope.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, nil
	}
	sink, err := otlp.New(otlp.Config{Endpoint: endpoint, Getenv: rs.Scope.Getenv, Version: rs.Version, Run: id, Model: model,
		Content: otlp.CapturesContent(rs.Scope.Getenv(otlp.ContentVariable))})
	switch {
	case err != nil && endpoint == "": // the environment is also that of other programs: what it says wrong ends no run
		rs.Scope.Tell.Warn("no spans are sent: %v", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	return warned{sink, rs.Scope.Tell}, nil
}

// warned is a sink whose loss is worth a warning, and fails nothing.
type warned struct {
	trace.Sink
	tell scope.Teller
}

func (s warned) Close() error {
	if err := s.Sink.Close(); err != nil {
		s.tell.Warn("%v", err)
	}
	return nil
}

// eventsSink keeps the events of a run for "skl trace".
func (rs *Runs) eventsSink(r Record) (trace.Sink, error) {
	if err := rs.Scope.MkdirPrivate(rs.RunDir(r.ID)); err != nil {
		return nil, err
	}
	return jsonlFile(filepath.Join(rs.RunDir(r.ID), eventsFile))
}

// jsonlFile writes events to a file, in place of what it holds.
func jsonlFile(path string) (trace.Sink, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil { // it was there before, and is about to hold prompts and answers
			return nil, errors.Join(err, f.Close())
		}
	}
	return fileSink{trace.JSONL(f), f}, nil
}

// A fileSink closes its file with the sink.
type fileSink struct {
	trace.Sink
	f *os.File
}

func (s fileSink) Close() error { return errors.Join(s.Sink.Close(), s.f.Close()) }

// RunEvents reads what eventsSink kept.
func (rs *Runs) RunEvents(id string) ([]run.Event, error) {
	f, err := os.Open(filepath.Join(rs.RunDir(id), eventsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.Failed, "trace_missing", "run %s has no trace", id).Hint("skl runs")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trace.ReadJSONL(f)
}

// watch follows a run that an agent drives: its events for "skl trace", and spans. Several runs share the terminal, if there is one, so that it shows none.
func (rs *Runs) watch(r Record) (trace.Sink, error) {
	events, err := rs.eventsSink(r)
	if err != nil {
		return nil, err
	}
	exporter, err := rs.spans(r.ID, r.Model)
	if err != nil {
		return nil, errors.Join(err, events.Close())
	}
	return trace.Tee(events, exporter), nil
}

// A Traced is a run with its events, or with those of one node.
type Traced struct {
	Record Record
	Events []run.Event
}

// Traced reads the events of the run that name means; with node, of one visit or of every visit of a node.
func (rs *Runs) Traced(name, node string) (Traced, error) {
	record, err := rs.Find(name)
	if err != nil {
		return Traced{}, err
	}
	events, err := rs.RunEvents(record.ID)
	if err == nil && node != "" {
		events, err = ofNode(events, node)
	}
	if err != nil {
		return Traced{}, err
	}
	return Traced{record, events}, nil
}

// ofNode picks the events of one visit, or of every visit of a node.
func ofNode(events []run.Event, node string) ([]run.Event, error) {
	var out []run.Event
	var known []string
	for _, e := range events {
		if e.Path != "" && (e.Path == node || e.Node == node) {
			out = append(out, e)
		}
		if e.Kind == run.NodeStarted {
			known = append(known, e.Path)
		}
	}
	if len(out) == 0 {
		return nil, diag.New(diag.Misuse, "unknown_node", "the run visited no node %q", node).Meant(spell.Nearest(node, known, 3)...).Hint("skl trace lists the nodes")
	}
	return out, nil
}
