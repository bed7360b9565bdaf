package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

type logResult struct {
	OK      bool      `json:"ok"`
	Origin  string    `json:"origin"`
	Key     string    `json:"key"`     // verifier key
	Size    int64     `json:"size"`    // entries
	Root    string    `json:"root"`    // base64
	Time    time.Time `json:"time"`    // of the checkpoint
	Checked string    `json:"checked"` // entries: every one; head: the checkpoint and that it continues the last one
	Entries []logLine `json:"entries,omitempty"`
}

type logLine struct {
	Index    int64  `json:"index"`
	At       string `json:"at"`
	Action   string `json:"action"`
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Manifest string `json:"manifest,omitempty"`
	Tree     string `json:"tree,omitempty"`
	By       string `json:"by,omitempty"`
	Signer   string `json:"signer,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

func registryLogCommand() command {
	return command{name: "log", usage: "check and read the transparency log", output: logResult{},
		sub: []command{
			{name: "verify", usage: "recompute the log from its entries", run: verifyLog, flags: siteFlags()},
			{name: "show", args: "[NAMESPACE[/NAME]]", usage: "the entries, newest first", run: showLog,
				flags: append([]cli.Flag{&cli.IntFlag{Name: "limit", Value: 20, Usage: "at most `N` entries"}}, siteFlags()...)},
		}}
}

// logKey is the verifier key of a registry's log: over the network the one that was seen first.
func (w *world) logKey(ctx context.Context, s *site) (key string, follow *client.Log, err error) {
	follow = client.NewLog(s.Client, filepath.Join(w.Dirs.State, "log"))
	if s.data != nil {
		return s.data.Registry.Key.Public(), follow, nil
	}
	if key, _, err = follow.Known(ctx); err != nil || key != "" {
		return key, follow, err
	}
	about, err := s.About(ctx)
	if err == nil && about.Log == "" {
		err = diag.New(diag.Failed, "no_log", "%s has no transparency log", s.name)
	}
	return about.Log, follow, err
}

func verifyLog(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry log verify"); err != nil {
		return err
	}
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	key, follow, err := w.logKey(ctx, s)
	if err != nil {
		return err
	}
	var head tlog.Checkpoint
	if s.data == nil {
		if head, err = follow.Update(ctx); err != nil {
			return err
		}
	}
	out := logResult{OK: true, Key: key, Checked: "entries"}
	whole, err := verifyEntries(ctx, follow, key)
	switch e, ok := errors.AsType[*diag.Error](err); {
	case err == nil:
		head = whole
	case ok && s.data == nil && (e.Code == "unauthorized" || e.Code == "denied"):
		out.Checked = "head"
	default:
		return err
	}
	out.fill(head)
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	if out.Checked == "head" {
		w.ui.Print("the log of %s continues what was seen before: %s, signed %s", out.Origin, diag.Count(int(out.Size), "record"), out.Time.Format(time.RFC3339))
		w.ui.Note("its entries are for those who may read the audit trail, so they were not recomputed")
		return nil
	}
	w.ui.Print("the log of %s is whole: %s, signed %s", out.Origin, diag.Count(int(out.Size), "record"), out.Time.Format(time.RFC3339))
	return nil
}

func (r *logResult) fill(c tlog.Checkpoint) {
	r.Origin, r.Size, r.Root, r.Time = c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]), c.Time
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

// maxShown bounds how far back "log show" looks for entries about one name.
const maxShown = 100_000

func showLog(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 1 || c.Int("limit") < 1 {
		return diag.New(diag.Misuse, "usage", "write: skl registry log show [NAMESPACE[/NAME]] --limit N")
	}
	about := c.Args().First()
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	key, follow, err := w.logKey(ctx, s)
	if err != nil {
		return err
	}
	reader, checkpoint, err := tlog.Remote(ctx, follow.Fetch, key)
	if err != nil {
		return err
	}
	head, err := tlog.OpenCheckpoint(checkpoint, key)
	if err != nil {
		return err
	}
	out := logResult{OK: true, Key: key, Checked: "nothing", Entries: []logLine{}}
	out.fill(head)
	for end := head.Size; end > 0 && end > head.Size-maxShown && len(out.Entries) < c.Int("limit"); {
		first := (end - 1) &^ 255 // one bundle of entries at a time
		records, err := reader.Records(ctx, first, end-first)
		if err != nil {
			return err
		}
		for i := len(records) - 1; i >= 0 && len(out.Entries) < c.Int("limit"); i-- {
			r, err := tlog.ParseRecord(records[i])
			if err != nil {
				return err
			}
			if about == "" || r.Name == about || strings.HasPrefix(r.Name, about+"/") {
				out.Entries = append(out.Entries, logLine{first + int64(i), r.At, string(r.Action), r.Name, r.Version, r.Manifest, r.Tree, r.By, r.Signer, r.Reason})
			}
		}
		end = first
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	rows := [][]string{{"ENTRY", "AT", "ACTION", "RELEASE", "BY", "SIGNER", "REASON"}}
	for _, e := range out.Entries {
		name := e.Name
		if e.Version != "" {
			name += "@" + e.Version
		}
		rows = append(rows, []string{strconv.FormatInt(e.Index, 10), e.At, e.Action, name, e.By, orDash(e.Signer), e.Reason})
	}
	w.ui.Rows(rows)
	if len(out.Entries) == 0 {
		w.ui.Note("there are no entries")
	}
	return nil
}
