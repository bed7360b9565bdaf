package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

func registryDoctorCommand() command {
	return command{name: "doctor", usage: "look at a registry as a client, or at its data", output: doctorResult{}, run: runRegistryDoctor, flags: siteFlags()}
}

func runRegistryDoctor(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry doctor"); err != nil {
		return err
	}
	d := &doctor{w: w}
	if dir := c.String("data"); dir != "" {
		if err := d.data(ctx, scope.Absolute(w.Cwd, dir)); err != nil {
			return err
		}
	} else {
		s, err := w.site(ctx, c)
		if err != nil {
			return err
		}
		defer s.close()
		d.registry(ctx, s)
	}
	return d.print()
}

// registry looks at a registry as its clients see it.
func (d *doctor) registry(ctx context.Context, s *site) {
	about, err := s.About(ctx)
	if err != nil {
		d.failure("registry", err)
		return
	}
	d.say("registry", "ok", "", "%s answers, skl %s", s.name, diag.Printable(about.Version))
	if about.URL != "" && strings.TrimSuffix(about.URL, "/") != s.URL() {
		d.say("registry", "note", "", "it calls itself %s", diag.Printable(about.URL))
	}
	if strings.HasPrefix(s.URL(), "http://") && !origin.Loopback(s.Host()) {
		d.say("registry", "problem", "", "%s is spoken to over plain http: everybody on the way reads along, and no token is sent but one that config.toml names for it", s.Host())
	}
	if who, err := s.WhoAmI(ctx); err != nil {
		d.failure("login", err)
	} else if who.Open {
		d.say("login", "note", "", "anybody reads and writes there (--open)")
	} else if who.Anonymous {
		d.say("login", "note", "skl login "+s.URL(), "no token: public namespaces only")
	} else {
		_, from, _ := d.w.Credentials().Lookup(ctx, s.URL())
		d.say("login", "ok", "", "you are %s, by the credential from %s", diag.Printable(who.Account), from)
	}
	if list, err := s.Namespaces(ctx); err != nil {
		d.failure("names", err)
	} else {
		d.say("names", "ok", "", "%s that you may read", diag.Count(len(list), "namespace"))
	}
	if about.Log == "" {
		d.say("log", "note", "", "no transparency log")
		return
	}
	head, err := client.NewLog(s.Client, filepath.Join(d.w.Dirs.State, "log")).Update(ctx)
	if err != nil {
		d.failure("log", err)
		return
	}
	d.say("log", "ok", "", "%s of %s, and it continues what was seen before", diag.Count(int(head.Size), "record"), head.Origin)
	if ahead := time.Until(head.Time); ahead > 5*time.Minute {
		d.say("clock", "problem", "", "the clock of the registry, or yours, is %s off", ahead.Round(time.Minute))
	}
}

// failure is an error as something that was looked at.
func (d *doctor) failure(area string, err error) {
	mend := ""
	if e, ok := errors.AsType[*diag.Error](err); ok && len(e.Hints) > 0 {
		mend = e.Hints[0]
	}
	d.say(area, "problem", mend, "%s", diag.Printable(err.Error()))
}

// data looks at the directory of a registry, also while it is served.
func (d *doctor) data(ctx context.Context, dir string) error {
	s, err := d.w.beside(ctx, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	g := s.Registry
	d.served(ctx, dir)
	for _, name := range []string{".", "keys", filepath.Join("keys", "log.key"), "meta.db"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err != nil:
			d.failure("files", err)
		case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
			d.say("files", "problem", fmt.Sprintf("chmod go= %s", d.w.Short(path)), "%s can be read by others", d.w.Short(path))
		}
	}
	if _, err := os.Stat(adminTokenFile(dir)); err == nil {
		d.say("token", "note", "rm "+d.w.Short(adminTokenFile(dir)), "the first admin token is still in %s", d.w.Short(adminTokenFile(dir)))
	} else if !errors.Is(err, fs.ErrNotExist) {
		d.failure("token", err)
	}
	if err := g.Meta.Check(ctx); err != nil {
		d.failure("database", err)
	} else {
		d.say("database", "ok", "", "whole")
	}
	if err := g.VerifyLog(ctx); err != nil {
		d.failure("log", err)
	} else {
		d.say("log", "ok", "", "the records of %s give its signed root", g.Key.Origin())
	}
	if !slices.ContainsFunc(d.items, func(i doctorItem) bool { return i.Level == "problem" }) {
		d.say("content", "note", "skl registry fsck --data "+d.w.Short(dir)+"    skl registry scrub --data "+d.w.Short(dir), "not looked at here")
	}
	return nil
}

// served says whether a server has the directory open.
func (d *doctor) served(ctx context.Context, dir string) {
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	unlock, err := durable.Lock(short, dir, nil)
	switch {
	case errors.Is(err, durable.ErrLocked):
		d.say("data", "ok", "", "%s, which a server has open", d.w.Short(dir))
	case err != nil:
		d.failure("data", err)
	default:
		unlock()
		d.say("data", "ok", "", "%s, which no server has open", d.w.Short(dir))
	}
}
