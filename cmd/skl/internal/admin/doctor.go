package admin

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

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// A Finding is one thing that a doctor looked at.
type Finding struct {
	Area   string
	Level  string // ok, note, problem
	Detail string
	Mend   string // command, "" for none
}

// Doctor looks at a registry as its clients do, or at the data of one, also while it is served.
func (a *Admin) Doctor(ctx context.Context, at Site) ([]Finding, error) {
	d := &doctor{Admin: a}
	if at.Data != "" {
		err := d.data(ctx, scope.Absolute(a.Scope.Cwd, at.Data))
		return d.items, err
	}
	s, err := a.open(ctx, at)
	if err != nil {
		return nil, err
	}
	defer s.close()
	d.registry(ctx, s)
	return d.items, nil
}

// A doctor collects findings.
type doctor struct {
	*Admin
	items []Finding
}

//go:noinline
func (d *doctor) say(area, level, mend, format string, args ...any) {
	d.items = append(d.items, Finding{area, level, fmt.Sprintf(format, args...), mend})
}

// registry looks at a registry as its clients see it.
func (d *doctor) registry(ctx context.Context, s *site) {
	about, err := s.client.About(ctx)
	if err != nil {
		d.failure("registry", err)
		return
	}
	d.say("registry", "ok", "", "%s answers, skl %s", s.at.Name, diag.Printable(about.Version))
	if about.URL != "" && strings.TrimSuffix(about.URL, "/") != s.client.URL() {
		d.say("registry", "note", "", "it calls itself %s", diag.Printable(about.URL))
	}
	if strings.HasPrefix(s.client.URL(), "http://") && !origin.Loopback(s.client.Host()) {
		d.say("registry", "problem", "", "%s is spoken to over plain http: everybody on the way reads along, and no token is sent but one that config.toml names for it", s.client.Host())
	}
	if who, err := s.client.WhoAmI(ctx); err != nil {
		d.failure("login", err)
	} else if who.Open {
		d.say("login", "note", "", "anybody reads and writes there (--open)")
	} else if who.Anonymous {
		d.say("login", "note", "skl login "+s.client.URL(), "no token: public namespaces only")
	} else {
		_, from, _ := d.Scope.Credentials().Lookup(ctx, s.client.URL())
		d.say("login", "ok", "", "you are %s, by the credential from %s", diag.Printable(who.Account), from)
	}
	if list, err := s.client.Namespaces(ctx); err != nil {
		d.failure("names", err)
	} else {
		d.say("names", "ok", "", "%s that you may read", diag.Count(len(list), "namespace"))
	}
	if about.Log == "" {
		d.say("log", "note", "", "no transparency log")
		return
	}
	head, err := client.NewLog(s.client, filepath.Join(d.Scope.Dirs.State, "log")).Update(ctx)
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
	s, err := d.beside(ctx, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	g := s.Registry
	d.served(ctx, dir)
	for _, name := range s.Private() {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err != nil:
			d.failure("files", err)
		case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
			d.say("files", "problem", fmt.Sprintf("chmod go= %s", d.Scope.Short(path)), "%s can be read by others", d.Scope.Short(path))
		}
	}
	if _, err := os.Stat(adminTokenFile(dir)); err == nil {
		d.say("token", "note", "rm "+d.Scope.Short(adminTokenFile(dir)), "the first admin token is still in %s", d.Scope.Short(adminTokenFile(dir)))
	} else if !errors.Is(err, fs.ErrNotExist) {
		d.failure("token", err)
	}
	if err := g.Meta.Check(ctx); err != nil {
		d.failure("database", err)
	} else {
		d.say("database", "ok", "", "whole")
	}
	switch why, moving, err := s.Frozen(ctx); {
	case err != nil:
		d.failure("changes", err)
	case moving:
		d.say("changes", "problem", "skl registry migrate --cancel --data "+d.Scope.Short(dir), "%s; if nobody moves it now, that was interrupted", why)
	case why != "":
		d.say("changes", "note", "", "%s", why)
	}
	if err := g.VerifyLog(ctx); err != nil {
		d.failure("log", err)
	} else {
		d.say("log", "ok", "", "the records of %s give its signed root", g.Key.Origin())
	}
	if !slices.ContainsFunc(d.items, func(i Finding) bool { return i.Level == "problem" }) {
		d.say("content", "note", "skl registry fsck --data "+d.Scope.Short(dir)+"    skl registry scrub --data "+d.Scope.Short(dir), "not looked at here")
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
		d.say("data", "ok", "", "%s, which a server has open", d.Scope.Short(dir))
	case err != nil:
		d.failure("data", err)
	default:
		unlock()
		d.say("data", "ok", "", "%s, which no server has open", d.Scope.Short(dir))
	}
}
