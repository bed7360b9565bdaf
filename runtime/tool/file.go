package tool

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

func prepareRead(d *Dispatcher, input json.RawMessage) (*use, error) {
	var in struct {
		Path          string
		Offset, Limit int
	}
	if err := decode("read", input, "path offset limit", &in); err != nil {
		return nil, err
	}
	if in.Path == "" || in.Offset < 0 || in.Limit < 0 {
		return nil, badInput("read", "it needs a path, and numbers that are not negative")
	}
	p, err := d.find(in.Path)
	if err != nil {
		return nil, err
	}
	u := fileUse(p.shown())
	u.release = p.close
	u.do = func(ctx context.Context) (string, error) { return p.lines(ctx, max(in.Offset, 1), in.Limit) }
	return u, nil
}

// isBinary looks for a NUL where text has none.
func isBinary(start []byte) bool {
	return bytes.IndexByte(start[:min(len(start), 8000)], 0) >= 0
}

// lines returns lines from the first on, count of them or as many as fit.
func (p *place) lines(ctx context.Context, first, count int) (string, error) {
	// The end of the text holds what to read next, and has to fit too.
	const room = maxResult - 200
	if first == 1 && count == 0 && p.info != nil && p.info.Size() <= room {
		data, err := p.readAll(room)
		if err != nil {
			return "", err
		}
		if isBinary(data) {
			return "", p.binary()
		}
		return string(data), nil
	}
	f, err := p.openFile()
	if err != nil {
		return "", err
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.LimitReader(f, maxFile), 64<<10)
	if start, _ := r.Peek(8000); isBinary(start) {
		return "", p.binary()
	}
	var out strings.Builder
	for line := 1; ; line++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if count > 0 && line >= first+count {
			break
		}
		text, err := readLine(r, room-out.Len(), line < first)
		if line >= first {
			if out.Len()+len(text) > room {
				part := out.Len() == 0
				if part {
					out.Write(text[:room])
					fmt.Fprintf(&out, "\n[cut: line %d has more than %d bytes; grep finds what is further on in it]", line, room)
					line++
				}
				if _, end := r.Peek(1); !part || end == nil { // else it is the last line
					fmt.Fprintf(&out, "\n[cut: %d bytes in all, go on with offset %d]", p.info.Size(), line)
				}
				break
			}
			out.Write(text)
		}
		if errors.Is(err, io.EOF) {
			if line < first && first > 1 {
				return "", failed("%q has %d lines, and %d was asked for", diag.Printable(p.shown()), line, first)
			}
			if p.info.Size() > maxFile {
				fmt.Fprintf(&out, "\n[cut: only the first %d of %d bytes are read]", maxFile, p.info.Size())
			}
			break
		}
		if err != nil {
			return "", failed("reading %q: %w", diag.Printable(p.shown()), cause(err))
		}
	}
	return out.String(), nil
}

func (p *place) binary() error {
	return failed("%q is a binary file of %d bytes", diag.Printable(p.shown()), p.info.Size())
}

// readLine reads a line with its end, and keeps no more of it than one byte over limit.
func readLine(r *bufio.Reader, limit int, skip bool) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if !skip && len(line) <= limit {
			line = append(line, part[:min(len(part), limit+1-len(line))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func prepareWriteInput(d *Dispatcher, input json.RawMessage) (*use, error) {
	var in struct {
		Path    string
		Content *string
	}
	if err := decode("write", input, "path content", &in); err != nil {
		return nil, err
	}
	if in.Path == "" || in.Content == nil {
		return nil, badInput("write", "it needs path and content")
	}
	return d.prepareWrite(in.Path, []byte(*in.Content))
}

func (d *Dispatcher) prepareWrite(path string, data []byte) (*use, error) {
	if len(data) > maxFile {
		return nil, badInput("write", "the content has %d bytes, and at most %d are written", len(data), maxFile)
	}
	if strings.HasSuffix(path, "/") {
		return nil, badInput("write", "%q names a directory", diag.Brief(path, 300))
	}
	p, err := d.find(path)
	if err != nil {
		return nil, err
	}
	if err := p.writable(); err != nil {
		p.close()
		return nil, err
	}
	u := fileUse(p.shown())
	u.release = p.close
	u.detail = "write " + p.shown()
	u.do = func(ctx context.Context) (string, error) {
		d.files.Lock()
		defer d.files.Unlock()
		was := p.info != nil
		if err := p.replace(data); err != nil {
			return "", err
		}
		u.did.Changed = p.changed(data, was)
		return fmt.Sprintf("wrote %d bytes to %s", len(data), p.shown()), nil
	}
	return u, nil
}

func prepareEdit(d *Dispatcher, input json.RawMessage) (*use, error) {
	var in struct {
		Path string
		Old  string  `json:"old_string"`
		New  *string `json:"new_string"`
		All  bool    `json:"replace_all"`
	}
	if err := decode("edit", input, "path old_string new_string replace_all", &in); err != nil {
		return nil, err
	}
	if in.Path == "" || in.Old == "" || in.New == nil || *in.New == in.Old {
		return nil, badInput("edit", "it needs path, old_string, and a new_string that differs from it")
	}
	p, err := d.find(in.Path)
	if err != nil {
		return nil, err
	}
	u := fileUse(p.shown())
	// Its answers tell what the file holds.
	if err := cmp.Or(p.readable(), p.writable(), d.patternDenied(d.table.must("read"), u)); err != nil {
		p.close()
		return nil, err
	}
	u.release = p.close
	u.detail = "edit " + p.shown()
	u.do = func(ctx context.Context) (string, error) {
		d.files.Lock()
		defer d.files.Unlock()
		text, data, err := p.edit(in.Old, *in.New, in.All)
		if err == nil {
			u.did.Changed = p.changed(data, true)
		}
		return text, err
	}
	return u, nil
}

// edit says what it did, and gives the text that is there now.
func (p *place) edit(old, new string, all bool) (said string, now []byte, err error) {
	// Another edit may have put a new file in place since the path was looked up.
	if p.base != "" {
		if info, err := p.dir.Lstat(p.base); err == nil && info.Mode().IsRegular() {
			p.info = info
		}
	}
	data, err := p.readAll(maxFile)
	if err != nil {
		return "", nil, err
	}
	text := string(data)
	n := strings.Count(text, old)
	switch {
	case n == 0:
		return "", nil, failed("old_string does not occur in %q", diag.Printable(p.shown()))
	case n > 1 && !all:
		return "", nil, failed("old_string occurs %d times in %q: give more of the text around it", n, diag.Printable(p.shown()))
	case len(data)+n*(len(new)-len(old)) > maxFile:
		return "", nil, failed("%q would have more than %d bytes", diag.Printable(p.shown()), maxFile)
	}
	now = []byte(strings.ReplaceAll(text, old, new))
	if err := p.replace(now); err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("replaced %d in %s", n, p.shown()), now, nil
}
