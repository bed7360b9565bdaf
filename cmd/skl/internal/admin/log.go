package admin

import (
	"context"
	"encoding/base64"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// A Log is a transparency log, as far as it was looked at.
type Log struct {
	OK      bool       `json:"ok"`
	Origin  string     `json:"origin"`
	Key     string     `json:"key"`     // verifier key
	Size    int64      `json:"size"`    // entries
	Root    string     `json:"root"`    // base64
	Time    time.Time  `json:"time"`    // of the checkpoint
	Checked string     `json:"checked"` // entries: every one; head: the checkpoint and that it continues the last one; nothing
	Entries []LogEntry `json:"entries,omitempty"`
}

// A LogEntry is one record of a log.
type LogEntry struct {
	Index    int64  `json:"index"`
	At       string `json:"at"`
	Action   string `json:"action"`
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Manifest string `json:"manifest,omitempty"`
	Tree     string `json:"tree,omitempty"`
	By       string `json:"by,omitempty"`
	// Publisher is who published the release, where it is not By; Approver who approved it, of a publish.
	Publisher string `json:"publisher,omitempty"`
	Approver  string `json:"approver,omitempty"`
	Signer    string `json:"signer,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Accepted  string `json:"accepted,omitempty"` // findings that an approval let through
}

// logKey is the verifier key of a registry's log: over the network the one that was seen first.
func (a *Admin) logKey(ctx context.Context, s *site) (key string, follow *client.Log, err error) {
	follow = client.NewLog(s.client, filepath.Join(a.Scope.Dirs.State, "log"))
	if s.at.Local {
		return s.logKey, follow, nil
	}
	if key, _, err = follow.Known(ctx); err != nil || key != "" {
		return key, follow, err
	}
	about, err := s.client.About(ctx)
	if err == nil && about.Log == "" {
		err = diag.New(diag.Failed, "no_log", "%s has no transparency log", s.at.Name)
	}
	return about.Log, follow, err
}

// VerifyLog recomputes the log of a registry from its entries. Over the network, and without the right to read them, it
// checks that the log continues what was seen before.
func (a *Admin) VerifyLog(ctx context.Context, at Site) (Log, error) {
	return on(ctx, a, at, func(s *site) (Log, error) {
		key, follow, err := a.logKey(ctx, s)
		if err != nil {
			return Log{}, err
		}
		var head tlog.Checkpoint
		if !s.at.Local {
			if head, err = follow.Update(ctx); err != nil {
				return Log{}, err
			}
		}
		out := Log{OK: true, Key: key, Checked: "entries"}
		whole, err := verifyEntries(ctx, follow, key)
		switch e, ok := errors.AsType[*diag.Error](err); {
		case err == nil:
			head = whole
		case ok && !s.at.Local && (e.Code == "unauthorized" || e.Code == "denied"):
			out.Checked = "head"
		default:
			return Log{}, err
		}
		out.fill(head)
		return out, nil
	})
}

func (l *Log) fill(c tlog.Checkpoint) {
	l.Origin, l.Size, l.Root, l.Time = c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]), c.Time
}

func verifyEntries(ctx context.Context, follow *client.Log, key string) (tlog.Checkpoint, error) {
	reader, checkpoint, err := tlog.Remote(ctx, follow.Fetch, key)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	return tlog.Verify(ctx, reader, checkpoint, key, func(_ int64, text []byte) error {
		_, err := tlog.ParseRecord(text)
		return err
	})
}

// A LogRequest asks for the newest entries of a log.
type LogRequest struct {
	Site  Site
	About string // NAMESPACE or NAMESPACE/NAME; "" is everything
	Limit int    // at most so many entries
}

// maxShown bounds how many entries ReadLog looks back for those about one name.
const maxShown = 100_000

// ReadLog returns entries of a log, newest first.
func (a *Admin) ReadLog(ctx context.Context, r LogRequest) (Log, error) {
	return on(ctx, a, r.Site, func(s *site) (Log, error) {
		key, follow, err := a.logKey(ctx, s)
		if err != nil {
			return Log{}, err
		}
		reader, checkpoint, err := tlog.Remote(ctx, follow.Fetch, key)
		if err != nil {
			return Log{}, err
		}
		head, err := tlog.OpenCheckpoint(checkpoint, key)
		if err != nil {
			return Log{}, err
		}
		out := Log{OK: true, Key: key, Checked: "nothing", Entries: []LogEntry{}}
		out.fill(head)
		for end := head.Size; end > 0 && end > head.Size-maxShown && len(out.Entries) < r.Limit; {
			first := (end - 1) &^ 255 // one bundle of entries at a time
			records, err := reader.Records(ctx, first, end-first)
			if err != nil {
				return Log{}, err
			}
			if err := out.add(records, first, r); err != nil {
				return Log{}, err
			}
			end = first
		}
		if len(out.Entries) == 0 && r.About != "" {
			return out, isThere(ctx, s, r.About)
		}
		return out, nil
	})
}

// isThere refuses a NAMESPACE, or NAMESPACE/NAME, that does not exist.
func isThere(ctx context.Context, s *site, about string) error {
	namespace, name, ok := strings.Cut(about, "/")
	if !ok {
		_, err := s.client.Namespace(ctx, namespace)
		return err
	}
	_, err := s.client.Versions(ctx, namespace, name)
	return ship.KnownNamespace(ctx, s.client, namespace, err)
}

// add appends the records that a request asks for, the last first. The first of them has the index first.
func (l *Log) add(records [][]byte, first int64, asked LogRequest) error {
	for i := len(records) - 1; i >= 0 && len(l.Entries) < asked.Limit; i-- {
		r, err := tlog.ParseRecord(records[i])
		if err != nil {
			return err
		}
		if asked.About == "" || r.Name == asked.About || strings.HasPrefix(r.Name, asked.About+"/") {
			l.Entries = append(l.Entries, LogEntry{first + int64(i), r.At, string(r.Action), r.Name, r.Version, r.Manifest, r.Tree, r.By, r.Publisher, r.Approver, r.Signer, r.Reason, r.Accepted})
		}
	}
	return nil
}
