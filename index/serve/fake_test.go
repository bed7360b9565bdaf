package serve

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// A fake is an index of lines: what begins with "func " is a function until the next empty line. It is for what the
// real index cannot be made to do, such as to wait or to break.
type fake struct {
	root       string
	progress   diag.Progress
	mu         sync.Mutex
	state      string // of the files
	generation uint64
	updating   func(context.Context) error // called by Update; may be nil
	packs      []query.Pack                // what Evidence answers, one after the other; nil makes them from Query
	asked      []query.Query               // of Evidence
	queries    int
	closed     bool
}

func (f *fake) Root() string { return f.root }

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

func (f *fake) handles() (all []query.Handle) {
	var state strings.Builder
	_ = filepath.WalkDir(f.root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && e.Name() == ".git" {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return nil
		}
		rel, _ := filepath.Rel(f.root, p)
		rel = filepath.ToSlash(rel)
		state.WriteString(rel + "\x00" + string(data))
		at := 0
		for part := range bytes.SplitSeq(data, []byte("\n\n")) {
			text := strings.TrimRight(string(part), "\n")
			h := query.Handle{FilePath: rel, NodeType: "chunk", Span: query.Span{Start: at, End: at + len(text)}, TokenCount: len(text) / 4, Preview: text, Content: text}
			kind := chunk.Chunk
			if name, ok := strings.CutPrefix(text, "func "); ok {
				kind, h.NodeType = chunk.Function, "function"
				h.Name, _, _ = strings.Cut(name, "(")
			}
			first := 1 + bytes.Count(data[:at], []byte("\n"))
			h.LineRange = [2]int{first, first + strings.Count(text, "\n")}
			h.ID = query.ID(rel, kind, at, at+len(text))
			all = append(all, h)
			at += len(part) + 2
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != state.String() {
		f.state = state.String()
		f.generation++
	}
	return all
}

func (f *fake) Generation(context.Context) (uint64, error) {
	f.handles()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.generation, nil
}

func (f *fake) Query(ctx context.Context, q query.Query) (query.Result, error) {
	if err := ctx.Err(); err != nil {
		return query.Result{}, err
	}
	var r query.Result
	for _, h := range f.handles() {
		if slices.ContainsFunc(strings.Fields(q.Text), func(w string) bool { return strings.Contains(h.Content, w) }) {
			h.Content = ""
			r.Handles = append(r.Handles, h)
			r.TotalTokens += h.TokenCount
		}
	}
	r.TotalMatches = len(r.Handles)
	r.Handles = r.Handles[:min(len(r.Handles), q.Limit)]
	r.Truncated = r.TotalMatches > len(r.Handles)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries++
	r.Generation = f.generation
	return r, nil
}

func (f *fake) Evidence(ctx context.Context, q query.Query, o rank.PackOptions) (query.Pack, error) {
	f.mu.Lock()
	f.asked = append(f.asked, q)
	if len(f.packs) > 0 {
		p := f.packs[0]
		f.packs = f.packs[1:]
		f.mu.Unlock()
		return p, nil
	}
	f.mu.Unlock()
	r, err := f.Query(ctx, q)
	p := query.Pack{QueryText: q.Text, TotalMatches: r.TotalMatches, Generation: r.Generation}
	for _, h := range r.Handles {
		p.Handles = append(p.Handles, query.Evidence{ID: h.ID, FilePath: h.FilePath, NodeType: h.NodeType, Name: h.Name, Span: h.Span, LineRange: h.LineRange, TokenCount: h.TokenCount})
	}
	settle(&p, nil)
	p.Guidance = rank.Guidance{ConfidenceBand: "medium", RecommendedAction: "expand_then_answer", StopQuerying: true}
	return p, err
}

func (f *fake) Expand(_ context.Context, ids []string, _ int) (e query.Expansion, err error) {
	all := f.handles()
	for _, id := range ids {
		at := slices.IndexFunc(all, func(h query.Handle) bool { return h.ID == id })
		if at < 0 {
			e.FailedIDs = append(e.FailedIDs, query.Failure{HandleID: id, Code: codeHandle, Message: "no such handle"})
			continue
		}
		h := all[at]
		e.Contents = append(e.Contents, query.Content{HandleID: id, FilePath: h.FilePath, LineRange: h.LineRange, TokenCount: h.TokenCount, Content: h.Content})
	}
	return e, nil
}

func (f *fake) Update(ctx context.Context, _ glob.Glob, _ bool) (index.Report, error) {
	f.progress.Send(diag.Event{Stage: "index", Name: "a.go", Done: 1, Total: 2})
	f.progress.Send(diag.Event{Stage: "index", Name: "b.go", Done: 2, Total: 2})
	if f.updating != nil {
		if err := f.updating(ctx); err != nil {
			return index.Report{}, err
		}
	}
	f.handles()
	f.mu.Lock()
	defer f.mu.Unlock()
	return index.Report{Generation: f.generation}, nil
}

func (f *fake) Invalidate(context.Context, glob.Glob) (int, error) { return 3, nil }

func (f *fake) Status(context.Context) (query.Status, error) {
	return query.Status{RepoRoot: f.root, FilesIndexed: 1}, nil
}

// fakes opens fakes and keeps them for the test. Their generations begin where none of another test does.
type fakes struct {
	mu   sync.Mutex
	made []*fake
	each func(*fake)
}

func (s *fakes) open(_ context.Context, root string, o Opening) (Index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &fake{root: root, progress: o.Progress, generation: uint64(1000 * (len(s.made) + 1))}
	if s.each != nil {
		s.each(f)
	}
	s.made = append(s.made, f)
	return f, nil
}

// put writes a file below dir.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// realDir is a temporary directory without links in its name.
func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// sample is a small repository, made without git.
func sample(t testing.TB) string {
	t.Helper()
	dir := realDir(t)
	put(t, dir, ".git/HEAD", "ref: refs/heads/main\n")
	put(t, dir, ".git/refs/heads/main", "0123456789abcdef0123456789abcdef01234567\n")
	put(t, dir, "src/auth/controller.ts", controllerTS)
	put(t, dir, "src/routes/login.ts", loginTS)
	put(t, dir, "docs/README.md", "# Demo\n\n## Installation\n\nRun the installer, then log in.\n\n## Usage\n\nCall authenticate.\n")
	put(t, dir, "pool.go", "package pool\n\n// Acquire takes a connection from the pool.\nfunc Acquire() int {\n\treturn 1\n}\n")
	return dir
}

const controllerTS = `import { Token } from "../token";

export class AuthController {
  async authenticate(req: Request, res: Response) {
    const token = req.headers.authorization;
    return this.validate(token);
  }

  validate(token: string): boolean {
    return token.length > 0;
  }
}

export async function authenticate(req: Request, res: Response) {
  return new AuthController().authenticate(req, res);
}
`

const loginTS = `import { authenticate } from "../auth/controller";

export function login(req: Request, res: Response) {
  const result = authenticate(req, res);
  return result;
}
`
