package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/spec/order"
)

const (
	maxResults = 1000
	maxVisited = 200_000
	maxGrep    = 4 << 20 // bytes of a file
	maxDepth   = 64
	maxLine    = 500 // bytes of a line that grep shows
)

var errEnough = errors.New("enough")

// visit calls file for every regular file below dir, sorted by path, without following links. It leaves out
// .git and node_modules. sub is the path from dir.
func (p *place) visit(ctx context.Context, file func(dir *os.Root, name, sub string) error) error {
	if p.base != "" {
		if p.info == nil || !p.info.Mode().IsRegular() {
			return failed("there is no file or directory %q", diag.Printable(p.shown()))
		}
		return file(p.dir, p.base, p.base)
	}
	v := visitor{file: file}
	return v.dir(ctx, p.dir, "", 0)
}

type visitor struct {
	file  func(dir *os.Root, name, sub string) error
	count int
}

func (v *visitor) dir(ctx context.Context, dir *os.Root, prefix string, depth int) error {
	if depth > maxDepth {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := readDir(dir)
	if err != nil {
		return nil // unreadable: left out, like a file that is
	}
	for _, e := range entries {
		if v.count++; v.count > maxVisited {
			return errEnough
		}
		name := e.Name()
		switch {
		case e.IsDir() && name != ".git" && name != "node_modules":
			info, err := e.Info()
			if err != nil {
				continue
			}
			sub, err := openSame(dir, name, info)
			if err != nil {
				continue
			}
			err = v.dir(ctx, sub, prefix+name+"/", depth+1)
			sub.Close()
			if err != nil {
				return err
			}
		case e.Type().IsRegular():
			if err := v.file(dir, name, prefix+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// readDir returns the entries of dir, in the order of their paths: that of "a/b" among those of files.
func readDir(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxVisited)
	if err != nil && len(entries) == 0 {
		return nil, err
	}
	key := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	order.Sort(entries, func(a, b fs.DirEntry) int { return cmp.Compare(key(a), key(b)) })
	return entries, nil
}

// join is the path of sub, seen from the place, as results name it.
func (p *place) join(sub string) string {
	if p.base != "" || p.rel() == "." {
		if p.base != "" {
			return p.shown()
		}
		return p.tree.prefix + sub
	}
	return p.shown() + "/" + sub
}

// searchUse is the use of a tool whose results are judged one by one.
func searchUse(p *place, detail string) *use {
	u := fileUse(p.shown())
	u.parts, u.detail, u.release = nil, detail, p.close
	return u
}

func (d *Dispatcher) findOr(path string) (*place, error) {
	if path == "" {
		path = "."
	}
	p, err := d.find(path)
	if err == nil && p.info == nil {
		p.close()
		return nil, failed("there is no file or directory %q", diag.Brief(path, 300))
	}
	return p, err
}

const maxPattern = 1024 // bytes of a regular expression

func prepareGlob(d *Dispatcher, input json.RawMessage) (*use, error) {
	var in struct{ Pattern, Path string }
	if err := decode("glob", input, "pattern path", &in); err != nil {
		return nil, err
	}
	g, err := parseGlob(in.Pattern)
	if err != nil {
		return nil, err
	}
	p, err := d.findOr(in.Path)
	if err != nil {
		return nil, err
	}
	u := searchUse(p, in.Pattern)
	shown := d.shows(d.table.must("glob"))
	u.do = func(ctx context.Context) (string, error) {
		var out results
		err := p.visit(ctx, func(_ *os.Root, _, sub string) error {
			if full := p.join(sub); g.Match(sub) && shown(full) {
				return out.add(full)
			}
			return nil
		})
		return out.text(err)
	}
	return u, nil
}

// results are lines, as many as a result may have.
type results struct {
	b     strings.Builder
	count int
}

func (r *results) add(line string) error {
	if r.count++; r.count > maxResults || r.b.Len()+len(line) > maxResult-200 {
		return errEnough
	}
	r.b.WriteString(line)
	r.b.WriteByte('\n')
	return nil
}

func (r *results) text(err error) (string, error) {
	switch {
	case errors.Is(err, errEnough):
		return r.b.String() + "[cut: there is more; narrow the search]\n", nil
	case err != nil:
		return "", err
	case r.count == 0:
		return "nothing found\n", nil
	}
	return r.b.String(), nil
}

func prepareList(d *Dispatcher, input json.RawMessage) (*use, error) {
	var in struct{ Path string }
	if err := decode("list", input, "path", &in); err != nil {
		return nil, err
	}
	p, err := d.findOr(in.Path)
	if err != nil {
		return nil, err
	}
	u := searchUse(p, p.shown())
	shown := d.shows(d.table.must("list"))
	u.do = func(ctx context.Context) (string, error) {
		if p.base != "" {
			return "", failed("%q is not a directory", diag.Printable(p.shown()))
		}
		entries, err := readDir(p.dir)
		if err != nil && len(entries) == 0 && !errors.Is(err, os.ErrNotExist) && err.Error() != "EOF" {
			return "", failed("reading %q: %w", diag.Printable(p.shown()), cause(err))
		}
		var out results
		for _, e := range entries {
			if !shown(p.join(e.Name())) {
				continue
			}
			line := e.Name()
			switch {
			case e.IsDir():
				line += "/"
			case e.Type()&fs.ModeSymlink != 0:
				line += "@"
			}
			if err := out.add(line); err != nil {
				return out.text(err)
			}
		}
		return out.text(nil)
	}
	return u, nil
}

func prepareGrep(d *Dispatcher, input json.RawMessage) (*use, error) {
	var in struct {
		Pattern, Path, Glob string
		IgnoreCase          bool `json:"ignore_case"`
		FilesOnly           bool `json:"files_only"`
	}
	if err := decode("grep", input, "pattern path glob ignore_case files_only", &in); err != nil {
		return nil, err
	}
	if in.Pattern == "" || len(in.Pattern) > maxPattern {
		return nil, badInput("grep", "it needs a pattern of at most %d bytes", maxPattern)
	}
	flags := "(?m"
	if in.IgnoreCase {
		flags += "i"
	}
	re, err := regexp.Compile(flags + ":" + in.Pattern + ")")
	if err != nil {
		return nil, badInput("grep", "%q is not a regular expression: %w", diag.Printable(in.Pattern), err)
	}
	var only *glob.Glob
	if in.Glob != "" {
		g, err := parseGlob(in.Glob)
		if err != nil {
			return nil, err
		}
		only = &g
	}
	p, err := d.findOr(in.Path)
	if err != nil {
		return nil, err
	}
	u := searchUse(p, in.Pattern)
	s := grep{re: re, filesOnly: in.FilesOnly, anchored: strings.Contains(in.Pattern, `\A`) || strings.Contains(in.Pattern, `\z`)}
	shown := d.shows(d.table.must("grep"))
	secret := 0
	u.do = func(ctx context.Context) (string, error) {
		err := p.visit(ctx, func(dir *os.Root, name, sub string) error {
			if only != nil && !only.Match(sub) && !only.Match(path.Base(sub)) {
				return nil
			}
			full := p.join(sub)
			if !shown(full) || isDisabled(full) {
				return nil
			}
			if p.tree.secret(strings.TrimPrefix(full, p.tree.prefix)) {
				secret++
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			return s.file(dir, name, full)
		})
		text, err := s.out.text(err)
		if secret > 0 {
			text += fmt.Sprintf("[not searched: %s whose names say that they hold secrets]\n", diag.Count(secret, "file"))
		}
		return text, err
	}
	return u, nil
}

// A grep is one search. It is for one goroutine.
type grep struct {
	re        *regexp.Regexp
	filesOnly bool
	anchored  bool // the pattern has \A or \z, which are about a line
	buf       []byte
	out       results
}

// file searches one file. What cannot be read, is binary or too large is left out.
func (s *grep) file(dir *os.Root, name, full string) error {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGrep {
		return nil
	}
	// It was a file when the directory was read; a link that took its place leads to what was not judged.
	if now, err := dir.Lstat(name); err != nil || !os.SameFile(info, now) {
		return nil
	}
	text, err := s.read(f, int(info.Size()))
	if err != nil || isBinary(text) {
		return nil
	}
	// Most files hold no match: that is found out for the whole file at once.
	if !s.anchored && bytes.IndexByte(text, '\r') < 0 && !s.re.Match(text) {
		return nil
	}
	for number := 1; len(text) > 0; number++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		at := s.re.FindIndex(line)
		if at == nil {
			continue
		}
		if s.filesOnly {
			return s.out.add(full)
		}
		if err := s.out.add(fmt.Sprintf("%s:%d: %s", full, number, around(line, at[0]))); err != nil {
			return err
		}
	}
	return nil
}

// around is what grep shows of a line: of a long one the part with the match that begins at byte at, and where that is.
func around(line []byte, at int) string {
	if len(line) <= maxLine || at < maxLine/2 {
		return diag.Clip(string(line), maxLine)
	}
	from := at - maxLine/4
	for from < at && !utf8.RuneStart(line[from]) {
		from++
	}
	return fmt.Sprintf("[byte %d] …%s", at+1, diag.Clip(string(line[from:]), maxLine))
}

// read reads a file into the buffer of s, which the next file overwrites.
func (s *grep) read(f *os.File, size int) ([]byte, error) {
	if cap(s.buf) < size+1 {
		s.buf = make([]byte, max(size+1, 64<<10))
	}
	s.buf = s.buf[:cap(s.buf)]
	n := 0
	for n < len(s.buf) {
		m, err := f.Read(s.buf[n:])
		n += m
		if err != nil || m == 0 {
			break
		}
	}
	return s.buf[:n], nil
}
