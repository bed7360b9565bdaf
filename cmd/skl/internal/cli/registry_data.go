package cli

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/diag"
)

type gcResult struct {
	DryRun bool `json:"dry_run"`
	registry.GCReport
}

type fsckResult struct {
	OK bool `json:"ok"`
	registry.FsckReport
}

type backupResult struct {
	Dir   string `json:"dir"`
	Blobs int    `json:"blobs"`
	New   int    `json:"new"` // that were not there yet
	Bytes int64  `json:"bytes"`
	Log   string `json:"log"` // origin of the transparency log
}

func gcCommand() command {
	return command{name: "gc", usage: "remove content that nothing needs; a running server does so by itself", output: gcResult{}, run: runGC,
		flags: []cli.Flag{&cli.StringFlag{Name: "grace", Value: "24h", Usage: "keep files younger than `TIME`"}, dryRunFlag(), dataFlag()}}
}

func fsckCommand() command {
	return command{name: "fsck", usage: "compare the records of the registry with its files; also beside a running server", output: fsckResult{}, run: runFsck, flags: []cli.Flag{dataFlag()}}
}

func scrubCommand() command {
	return command{name: "scrub", usage: "read every blob and find damaged ones; also beside a running server", output: fsckResult{}, run: runScrub, flags: []cli.Flag{dataFlag()}}
}

func backupCommand() command {
	return command{name: "backup", args: "DIR", usage: "copy everything to DIR; a second backup copies new files only; also beside a running server", output: backupResult{},
		run: runBackup, flags: []cli.Flag{dryRunFlag(), dataFlag()}}
}

func restoreCommand() command {
	return command{name: "restore", args: "DIR", usage: "restore a registry from a backup", output: backupResult{}, run: runRestore,
		flags: []cli.Flag{&cli.StringFlag{Name: "data", Usage: "new `DIR` for the data"}, dryRunFlag()}}
}

// dataDir is the directory of --data, or the one that serve takes by itself.
func (w *world) dataDir(c *cli.Context) string {
	if dir := c.String("data"); dir != "" {
		return scope.Absolute(w.Cwd, dir)
	}
	return w.defaultData()
}

// beside opens data without the lock of its server, for what only reads, and for backups.
func (w *world) beside(ctx context.Context, dir string) (*server.Server, error) {
	if err := w.hasData(dir); err != nil {
		return nil, err
	}
	return server.Attach(ctx, dir)
}

func runGC(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry gc --data DIR"); err != nil {
		return err
	}
	grace, err := time.ParseDuration(c.String("grace"))
	if err != nil || grace < 0 {
		if grace, err = lifetime(c.String("grace")); err != nil || grace == 0 {
			return diag.New(diag.Misuse, "usage", "--grace: %q is no length of time", c.String("grace")).Hint("write 1h or 7d")
		}
	}
	s, err := w.openData(ctx, w.dataDir(c))
	if err != nil {
		return err
	}
	defer s.Close()
	report, err := s.Registry.GC(ctx, registry.GCOptions{Grace: max(grace, 1), DryRun: c.Bool("dry-run")})
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(gcResult{c.Bool("dry-run"), report})
	}
	verb := "removed"
	if c.Bool("dry-run") {
		verb = "would remove"
	}
	w.ui.Print("%s %s (%s), %s, %s, %s", verb, diag.Count(report.Blobs, "blob"), ui.Size(report.Bytes), diag.Count(report.Drafts, "draft"),
		diag.Count(report.Links, "link"), diag.Count(report.Uploads, "upload"))
	return nil
}

func runFsck(ctx context.Context, w *world, c *cli.Context) error {
	return w.examine(ctx, c, "fsck", func(g *registry.Registry) (registry.FsckReport, error) { return g.Fsck(ctx) })
}

func runScrub(ctx context.Context, w *world, c *cli.Context) error {
	return w.examine(ctx, c, "scrub", func(g *registry.Registry) (registry.FsckReport, error) {
		return g.Scrub(ctx, func(done int) { w.ui.Progress(diag.Event{Stage: "scrub", Name: "blob", Done: int64(done)}) })
	})
}

// examine prints what look finds. A problem is exit 3.
func (w *world) examine(ctx context.Context, c *cli.Context, name string, look func(*registry.Registry) (registry.FsckReport, error)) error {
	if _, err := words(c, 0, "registry "+name+" --data DIR"); err != nil {
		return err
	}
	s, err := w.beside(ctx, w.dataDir(c))
	if err != nil {
		return err
	}
	defer s.Close()
	report, err := look(s.Registry)
	if err != nil {
		return err
	}
	if err := w.printFsck(name, report); err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		return unmet("registry_damaged")
	}
	return nil
}

func (w *world) printFsck(name string, report registry.FsckReport) error {
	if w.ui.JSON {
		return w.ui.Result(fsckResult{len(report.Problems) == 0, report})
	}
	rows := [][]string{{"PROBLEM", "OF", "WHAT"}}
	for _, p := range report.Problems {
		rows = append(rows, []string{p.Code, p.What, p.Text})
	}
	w.ui.Rows(rows)
	looked := []string{diag.Count(report.Blobs, "blob")}
	if name == "fsck" {
		looked = []string{diag.Count(report.Releases, "release"), diag.Count(report.Blobs, "blob"), diag.Count(int(report.Entries), "record") + " of the log"}
	}
	if len(report.Problems) == 0 {
		w.ui.Print("%s: no problems", strings.Join(looked, ", "))
		return nil
	}
	w.ui.Note("%s: %s", strings.Join(looked, ", "), diag.Count(len(report.Problems), "problem"))
	w.ui.Hint("push lost or damaged content again, or restore it from a backup")
	return nil
}

func runBackup(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry backup DIR --data DIR")
	if err != nil {
		return err
	}
	data, to := w.dataDir(c), scope.Absolute(w.Cwd, args[0])
	if scope.Holds(data, to) || scope.Holds(to, data) {
		return diag.New(diag.Misuse, "usage", "a backup in the data, or around it, is none").Hint("skl registry backup DIR names a directory elsewhere")
	}
	s, err := w.beside(ctx, data)
	if err != nil {
		return err
	}
	defer s.Close()
	out := backupResult{Dir: to, Log: s.Registry.Key.Origin()}
	if c.Bool("dry-run") {
		return w.printBackup(out, "%s would be copied to %s", w.Short(data), w.Short(to))
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	unlock, err := durable.Lock(ctx, to, func() { w.ui.Note("waiting for another backup to %s", w.Short(to)) })
	if err != nil {
		return err
	}
	defer unlock()
	copied, err := s.Backup(ctx, to, func(done int) { w.ui.Progress(diag.Event{Stage: "backup", Name: "blob", Done: int64(done)}) })
	if err != nil {
		return err
	}
	out.Blobs, out.New, out.Bytes = copied.Blobs, copied.New, copied.Bytes
	if err := w.printBackup(out, "%s of which %d are new, %s in %s", diag.Count(out.Blobs, "blob"), out.New, ui.Size(out.Bytes), w.Short(to)); err != nil {
		return err
	}
	w.ui.Note("it holds the keys of the registry: keep it as safe as the registry itself")
	return nil
}

func (w *world) printBackup(out backupResult, format string, args ...any) error {
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	w.ui.Print(format, args...)
	return nil
}

func runRestore(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry restore DIR --data NEW")
	if err != nil {
		return err
	}
	from := scope.Absolute(w.Cwd, args[0])
	if c.String("data") == "" {
		return diag.New(diag.Misuse, "usage", "--data says where the registry's data will be").Hint("skl registry restore %s --data NEW", args[0])
	}
	data := scope.Absolute(w.Cwd, c.String("data"))
	if err := w.hasData(from); err != nil {
		return err
	}
	out := backupResult{Dir: data}
	if c.Bool("dry-run") {
		return w.printBackup(out, "%s would be restored to %s", w.Short(from), w.Short(data))
	}
	copied, err := server.Restore(ctx, data, from)
	if err != nil {
		return err
	}
	s, err := w.beside(ctx, data)
	if err != nil {
		return err
	}
	defer s.Close()
	report, err := s.Registry.Fsck(ctx)
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		if err := w.printFsck("fsck", report); err != nil {
			return err
		}
		return unmet("registry_damaged")
	}
	out.Blobs, out.New, out.Bytes, out.Log = copied.Blobs, copied.New, copied.Bytes, s.Registry.Key.Origin()
	if err := w.printBackup(out, "%s, %s in %s, and no problems", diag.Count(report.Releases, "release"), diag.Count(out.Blobs, "blob"), w.Short(data)); err != nil {
		return err
	}
	w.ui.Note("clients that saw later records of the log refuse what they get from here, with log_rollback")
	w.ui.Hint("skl registry serve --data %s", w.Short(data))
	return nil
}
