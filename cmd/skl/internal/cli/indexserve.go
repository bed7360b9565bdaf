package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/serve"
	"github.com/skl-project/skl/spec/diag"
)

// serviceKey is the variable that the key of the index service is in.
const serviceKey = "SKL_INDEX_KEY"

type indexServeResult struct {
	Addr string `json:"addr"`
	URL  string `json:"url"`
}

func indexServeCommand() command {
	return command{name: "serve", usage: "serve the indexes of repositories over HTTP", output: indexServeResult{},
		example: "skl index serve\n" + serviceKey + "=SECRET skl index serve --addr 0.0.0.0:3000",
		flags: []cli.Flag{&cli.StringFlag{Name: "addr", Value: serve.DefaultAddr, Usage: "listen on `ADDR`; other than loopback needs a key in " + serviceKey},
			&cli.StringSliceFlag{Name: "allow-host", Usage: "on loopback, answer to `NAME` too, as behind a proxy (repeatable)"},
			&cli.StringFlag{Name: "state", Usage: "keep the list of repositories in `DIR` (default: skl's state directory)"}},
		run: runIndexServe}
}

func runIndexServe(ctx context.Context, w *world, c *cli.Context) error {
	addr, key := c.String("addr"), w.Getenv(serviceKey)
	if err := serve.CheckAddr(addr, key); err != nil {
		if e, ok := errors.AsType[*diag.Error](err); ok && e.Code == "address_needs_key" {
			e.Hints = []string{serviceKey + "=SECRET skl index serve --addr " + quoteShell(addr), "skl index serve"}
		}
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return diag.New(diag.Failed, "cannot_listen", "cannot listen on %s: %w", addr, err).Hint("add --addr 127.0.0.1:0 for a free port")
	}
	defer l.Close()
	state := w.Dirs.State
	if dir := c.String("state"); dir != "" {
		state = scope.Absolute(w.Cwd, dir)
	}
	s, err := serve.NewService(ctx, serve.ServiceOptions{Open: w.keepIndex, StateDir: state, Key: key, Hosts: c.StringSlice("allow-host"), Version: build.Current().Version})
	if err != nil {
		return err
	}
	defer s.Close()
	out := indexServeResult{l.Addr().String(), "http://" + l.Addr().String()}
	if w.ui.JSON {
		line, err := json.Marshal(out)
		if err != nil {
			return err
		}
		w.ui.Raw(append(line, '\n'))
	} else {
		w.ui.Print("serving indexes at %s", out.URL)
		w.ui.Hint("skl query --service %s WORDS", out.URL)
	}
	return s.Serve(ctx, l)
}

// keepIndex opens an index for a long-lived process.
func (w *world) keepIndex(ctx context.Context, root string, o serve.Opening) (serve.Index, error) {
	x, err := index.Open(ctx, root, index.Options{CacheDir: w.indexDir(), Watch: true, Background: true, Progress: o.Progress, Prior: o.Prior})
	if err != nil {
		return nil, err // and not an interface that holds a nil pointer
	}
	return x, nil
}

// remoteIndex asks a service, and the files here for what is not committed.
func (w *world) remoteIndex(ctx context.Context, address, dir string) (searched, error) {
	if err := w.checkServiceURL(address); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, diag.New(diag.Misuse, "not_found", "there is no directory %s", w.Short(dir))
	}
	c := &serve.Client{URL: address, Key: w.Getenv(serviceKey), CacheDir: filepath.Join(w.indexDir(), "overlay"),
		Local: func(ctx context.Context, root string, o serve.Opening) (serve.Index, error) {
			x, err := index.Open(ctx, root, index.Options{CacheDir: w.indexDir(), Progress: o.Progress})
			if err != nil {
				return nil, err
			}
			return x, nil
		}}
	x, err := c.Open(ctx, real, serve.Opening{Progress: w.indexing})
	if err != nil {
		return nil, told(err)
	}
	return x, nil
}

// checkServiceURL refuses what no service can be at, and offline what is not on this machine.
func (w *world) checkServiceURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return diag.New(diag.Misuse, "invalid_service_url", "%q is not the address of a service", text).Hint("--service http://%s", serve.DefaultAddr)
	}
	if w.Offline() && serve.CheckAddr(net.JoinHostPort(u.Hostname(), "0"), "") != nil {
		return diag.New(diag.Failed, "offline", "the service at %s is on another machine, and skl works offline", text).Hint("leave out --service")
	}
	return nil
}

// told makes an error of this program from the problem that a service tells. Other errors are returned as they are.
func told(err error) error {
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Code == "service_unreachable" {
		if why, ok := errors.AsType[*url.Error](err); ok { // it names the address again
			before, _, _ := strings.Cut(e.Message, ": "+why.Op)
			e.Message = before + ": " + why.Err.Error()
		}
	}
	p, ok := errors.AsType[*serve.Problem](err)
	if !ok {
		return err
	}
	e := &diag.Error{Class: diag.Failed, Code: p.Code, Message: "the service says: " + p.Message, Err: p}
	if p.Code == "invalid_request" || p.Code == "invalid_repo" {
		e.Class = diag.Misuse
	}
	if p.Detail != "" {
		e.Code = p.Detail
	}
	switch {
	case p.Code == "unauthorized":
		e.Hint("put its key into %s", serviceKey)
	case p.Hint != "":
		e.Hint("%s", p.Hint)
	}
	return e
}

type feedbackResult struct {
	Root    string                `json:"root"`
	Metrics serve.FeedbackMetrics `json:"metrics"`
	Priors  []prior               `json:"priors"`
}

// A prior says how much more or less often than the mean handles of a group are expanded.
type prior struct {
	Group string  `json:"group"` // a type of node, or a glob
	Value float64 `json:"value"` // -1 to 1
}

func indexFeedbackCommand() command {
	return command{name: "feedback", usage: "show which answers were expanded, and their effect on ranking", output: feedbackResult{},
		example: "skl index feedback --days 30",
		flags: []cli.Flag{&cli.StringFlag{Name: "path", Usage: "of `DIR` (default: the repository of the working directory)"},
			&cli.IntFlag{Name: "days", Value: 7, Usage: "over the last `N` days"}},
		run: runIndexFeedback}
}

func (w *world) feedbackDir() string { return filepath.Join(w.Dirs.State, "index-service") }

func runIndexFeedback(ctx context.Context, w *world, c *cli.Context) error {
	days := c.Int("days")
	if days < 1 || days > 30 {
		return diag.New(diag.Misuse, "usage", "--days is between 1 and 30")
	}
	root := w.searchedDir(c.String("path"))
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	out := feedbackResult{Root: root, Priors: []prior{}}
	if _, err := os.Stat(w.feedbackDir()); err == nil {
		f, err := serve.OpenFeedback(ctx, w.feedbackDir())
		if err != nil {
			return err
		}
		defer f.Close()
		if out.Metrics, err = f.Metrics(ctx, root, days); err != nil {
			return err
		}
		known, err := f.Priors(ctx, root, time.Now())
		if err != nil {
			return err
		}
		for _, m := range []map[string]float64{known.Types, known.Globs} {
			for g, v := range m {
				out.Priors = append(out.Priors, prior{g, v})
			}
		}
		slices.SortFunc(out.Priors, func(a, b prior) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Group, b.Group)) })
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	m := out.Metrics
	if m.SampleCount == 0 {
		w.ui.Print("no search of %s was recorded in the last %d days", w.Short(root), days)
		w.ui.Note("only searches of agents are recorded, by skl mcp and skl index serve")
		return nil
	}
	w.ui.Print("%d searches in %d days: %.0f %% of the handles were expanded, %.0f tokens each; %.0f %% of the searches had one of the first %d right",
		m.SampleCount, days, 100*m.HandleExpandAcceptRate, m.AvgTokensPerExpand, 100*m.GlobHitRateAtK, m.K)
	rows := [][]string{{"GROUP", "PRIOR"}}
	for _, p := range out.Priors {
		rows = append(rows, []string{p.Group, strconv.FormatFloat(p.Value, 'f', 2, 64)})
	}
	w.ui.Rows(rows)
	return nil
}
