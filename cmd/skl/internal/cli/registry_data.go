package cli

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func gcCommand() command {
	return command{name: "gc", usage: "remove content that nothing needs; a running server does so by itself", output: admin.Collected{}, run: runGC, example: "skl registry gc --dry-run --data /var/lib/skl-registry",
		flags: []cli.Flag{&cli.StringFlag{Name: "grace", Value: "24h", Usage: "keep files younger than `TIME`"}, dryRunFlag(), dataFlag()}}
}

func fsckCommand() command {
	return command{name: "fsck", usage: "compare the records of the registry with its files; also beside a running server", output: admin.Examined{}, example: "skl registry fsck --data /var/lib/skl-registry", run: examine("fsck", (*admin.Admin).Fsck), flags: []cli.Flag{dataFlag()}}
}

func scrubCommand() command {
	return command{name: "scrub", usage: "read every blob and find damaged ones; also beside a running server", output: admin.Examined{}, example: "skl registry scrub --data /var/lib/skl-registry", run: examine("scrub", (*admin.Admin).Scrub), flags: []cli.Flag{dataFlag()}}
}

func backupCommand() command {
	return command{name: "backup", args: "DIR", usage: "copy everything to DIR; a second backup copies new files only; also beside a running server", output: admin.Copy{},
		run: runBackup, flags: []cli.Flag{dryRunFlag(), dataFlag()}}
}

func restoreCommand() command {
	return command{name: "restore", args: "DIR", usage: "restore a registry from a backup", output: admin.Copy{}, run: runRestore, example: "skl registry restore /srv/backup --data ./restored",
		flags: []cli.Flag{&cli.StringFlag{Name: "data", Usage: "new `DIR` for the data"}, dryRunFlag()}}
}

func migrateCommand() command {
	return command{name: "migrate", usage: "move a registry to another place: from one node to PostgreSQL and S3, or back; also beside a running server", output: admin.Migrated{}, run: runMigrate,
		example: "skl registry migrate --data /var/lib/skl-registry --to ./moved\n" +
			"skl registry migrate --data /srv/skills --to /srv/one --db 'postgres://skl:PASSWORD@db.example/skl?sslmode=verify-full' --blobs 's3://skills?region=eu-west-1'",
		flags: []cli.Flag{dataFlag(),
			&cli.StringFlag{Name: "to", Usage: "new `DIR` for the data"},
			&cli.StringFlag{Name: "config", Usage: "the new registry.toml is `FILE`; with --schema, that of the registry"},
			&cli.StringFlag{Name: "db", Usage: "move the metadata to the PostgreSQL database of `URL` (default: meta.db in the new directory); with --schema, they are there"},
			&cli.StringFlag{Name: "blobs", Usage: "move the blobs to the bucket of `URL` (default: blobs in the new directory); with --schema, they are there"},
			&cli.BoolFlag{Name: "schema", Usage: "move nothing: bring the database to the schema of this skl, as far as all processes that serve it go on with that"},
			&cli.BoolFlag{Name: "cancel", Usage: "have the registry of --data take changes again, after a move that was interrupted"},
			dryRunFlag()}}
}

func runGC(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry gc --data DIR"); err != nil {
		return err
	}
	grace, err := admin.ParseGrace(c.String("grace"))
	if err != nil {
		return err
	}
	out, err := w.admin().GC(ctx, admin.GCRequest{Data: c.String("data"), Grace: grace, DryRun: c.Bool("dry-run")})
	return w.show(out, err, func(say *report.Text) {
		verb := "removed"
		if out.DryRun {
			verb = "would remove"
		}
		say.Print("%s %s (%s), %s, %s, %s", verb, diag.Count(out.Blobs, "blob"), diag.Size(out.Bytes), diag.Count(out.Drafts, "draft"),
			diag.Count(out.Links, "link"), diag.Count(out.Uploads, "upload"))
	})
}

// examine prints what a look at the data finds. A problem is exit 3.
func examine(name string, look func(*admin.Admin, context.Context, string) (admin.Examined, error)) func(context.Context, *world, *cli.Context) error {
	return func(ctx context.Context, w *world, c *cli.Context) error {
		if _, err := words(c, 0, "registry "+name+" --data DIR"); err != nil {
			return err
		}
		out, err := look(w.admin(), ctx, c.String("data"))
		return w.printExamined(name, out, err)
	}
}

// problems lists what is wrong with the data of a registry.
func problems(say *report.Text, list []admin.Problem) {
	var rows [][]string
	for _, p := range list {
		rows = append(rows, []string{p.Code, p.What, p.Text})
	}
	table(say, []string{"PROBLEM", "OF", "WHAT"}, rows, "")
}

func (w *world) printExamined(name string, out admin.Examined, err error) error {
	if err != nil {
		return err
	}
	return w.verdict(out, out.OK, "registry_damaged", func(say *report.Text) {
		problems(say, out.Problems)
		looked := diag.Count(out.Blobs, "blob")
		if name == "fsck" {
			looked = strings.Join([]string{diag.Count(out.Releases, "release"), looked, diag.Count(int(out.Entries), "record") + " of the log"}, ", ")
		}
		if out.OK {
			say.Print("%s: no problems", looked)
			return
		}
		say.Note("%s: %s", looked, diag.Count(len(out.Problems), "problem"))
		say.Hint("push lost or damaged content again, or restore it from a backup")
	})
}

func runBackup(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry backup DIR --data DIR")
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	out, err := w.admin().Backup(ctx, admin.BackupRequest{Data: c.String("data"), Dir: args[0], DryRun: dry})
	if err != nil {
		return err
	}
	return w.verdict(out, out.OK, "registry_damaged", func(say *report.Text) {
		if dry {
			say.Print("%s would be copied to %s", w.scope.Short(out.From), w.scope.Short(out.Dir))
			return
		}
		say.Print("%s of which %d are new, %s in %s", diag.Count(out.Blobs, "blob"), out.New, diag.Size(out.Bytes), w.scope.Short(out.Dir))
		problems(say, out.Problems)
		say.Note("it holds the keys of the registry: keep it as safe as the registry itself")
		if n := len(out.Problems); n > 0 {
			say.Note("the backup is not whole: %s", diag.Count(n, "problem"))
			say.Hint("publish damaged releases again; a log that was cut comes back only from an earlier backup: skl registry restore DIR --data NEW")
		}
	})
}

func runRestore(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry restore DIR --data NEW")
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	out, err := w.admin().Restore(ctx, admin.RestoreRequest{Dir: args[0], Data: c.String("data"), DryRun: dry})
	if err == nil && !dry && !out.Found.OK {
		return w.printExamined("fsck", out.Found, nil)
	}
	return w.show(out, err, func(say *report.Text) {
		if dry {
			say.Print("%s would be restored to %s", w.scope.Short(out.From), w.scope.Short(out.Dir))
			return
		}
		say.Print("%s, %s in %s, and no problems", diag.Count(out.Found.Releases, "release"), diag.Count(out.Blobs, "blob"), w.scope.Short(out.Dir))
		say.Note("clients that saw later records of the log refuse what they get from here, with log_rollback")
		say.Hint("skl registry serve --data %s", w.scope.Short(out.Dir))
	})
}

// alone refuses flags that mean nothing beside another.
func alone(c *cli.Context, flag, way string, others ...string) error {
	for _, name := range others {
		if c.IsSet(name) {
			return diag.New(diag.Misuse, "usage", "--%s and --%s exclude each other", flag, name).Hint(way)
		}
	}
	return nil
}

func printRaise(say *report.Text, r admin.Raise, dry bool) {
	switch {
	case r.Now <= r.Before && r.Before > r.Known:
		say.Print("the database has schema %d, which a later skl gave it, and this one works with it", r.Before)
	case r.Now == r.Before && r.Now == r.Known:
		say.Print("the database has schema %d already, the newest that this skl knows", r.Now)
	case r.Now == r.Before:
		say.Print("the database has schema %d, which this skl works with", r.Now)
	case dry && r.Before == 0:
		say.Print("the database is empty, and would get schema %d", r.Now)
	case dry:
		say.Print("the database has schema %d, and would get %d", r.Before, r.Now)
	case r.Before == 0:
		say.Print("the database was empty, and has schema %d now", r.Now)
	default:
		say.Print("the database has schema %d now, after %d", r.Now, r.Before)
	}
	if len(r.Waits) > 0 {
		say.Note("schema %d waits until all that serve the registry are of this version: %s", r.Now+1, diag.Printable(strings.Join(r.Waits, ", ")))
		say.Hint("skl registry migrate --schema once more when they are")
	}
}

func runMigrate(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry migrate --data OLD --to NEW"); err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	if c.Bool("cancel") {
		if err := alone(c, "cancel", "skl registry migrate --cancel --data DIR", "to", "config", "db", "blobs", "schema", "dry-run"); err != nil {
			return err
		}
		out, err := w.admin().Stay(ctx, c.String("data"))
		return w.show(out, err, func(say *report.Text) { say.Print("%s takes changes", w.scope.Short(out.Dir)) })
	}
	r := admin.MigrateRequest{Data: c.String("data"), To: c.String("to"), Config: c.String("config"), Database: c.String("db"), Blobs: c.String("blobs"), DryRun: dry}
	if c.Bool("schema") {
		if err := alone(c, "schema", "skl registry migrate --schema --data DIR", "to"); err != nil {
			return err
		}
		out, err := w.admin().MigrateSchema(ctx, r)
		return w.show(out, err, func(say *report.Text) { printRaise(say, *out.Schema, dry) })
	}
	out, err := w.admin().Migrate(ctx, r)
	if err != nil && ctx.Err() != nil && out.Begun {
		from, to := w.scope.Short(out.From), w.scope.Short(out.Dir)
		return remainder{err, from + " is not moved, and the next try goes on with what is in " + to, "skl registry doctor --data " + from}
	}
	if err != nil {
		return err
	}
	return w.verdict(out, out.OK, "registry_damaged", func(say *report.Text) {
		where := w.scope.Short(out.Dir)
		if out.Database {
			where = "PostgreSQL, with " + where
		}
		if out.Bucket {
			where = "S3 and " + where
		}
		if dry {
			say.Print("%s would be moved to %s", w.scope.Short(out.From), where)
			return
		}
		say.Print("%s, %s (%s) and %s of the log are in %s now", diag.Count(out.Releases, "release"), diag.Count(out.Blobs, "blob"), diag.Size(out.Bytes), diag.Count(int(out.Entries), "record"), where)
		problems(say, out.Problems)
		frozen := "less than a second"
		if d := time.Duration(out.Frozen) * time.Millisecond; d >= time.Second {
			frozen = d.Round(time.Second).String()
		}
		say.Note("%s takes no changes any more; for %s nobody could change anything", w.scope.Short(out.From), frozen)
		if len(out.Problems) > 0 {
			say.Hint("push lost or damaged content again")
		}
		if out.Config != "" {
			say.Hint("skl registry serve --config %s", out.Config)
		} else {
			say.Hint("skl registry serve --data %s", w.scope.Short(out.Dir))
		}
	})
}
