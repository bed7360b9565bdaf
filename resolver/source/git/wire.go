package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// maxAdverts bounds a listing of refs, in bytes.
const maxAdverts = 64 << 20

// wire is the first rung: git-upload-pack over smart HTTP, spoken directly. It
// follows git's protocol-v2, gitprotocol-pack and gitprotocol-http. It asks for a commit without
// history and without blobs, then for exactly the blobs that are needed. In
// protocol 2 the server sends only branches and tags, however many other refs it has.
type wire struct {
	http    Doer
	url     string // as the user gave it
	maxPack int64
	got     func(n int) // called with the number of pack bytes that came

	base  string // where the server really is, after redirects; empty before greet
	from  string // the origin that led there, if it was another
	v2    bool
	fetch string   // capabilities of fetch, separated by spaces
	known []advert // in protocol 0, refs come with the greeting
}

func (w *wire) refs(ctx context.Context) ([]advert, error) {
	if err := w.greet(ctx); err != nil || !w.v2 {
		return w.known, err
	}
	body := appendPkt(nil, "command=ls-refs")
	body = appendPkt(body, "object-format=sha1")
	body = append(body, "0001"...)
	for _, arg := range []string{"peel", "symrefs", "ref-prefix HEAD", "ref-prefix refs/heads/", "ref-prefix refs/tags/"} {
		body = appendPkt(body, "%s", arg)
	}
	resp, err := w.post(ctx, append(body, "0000"...))
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	p := newPktReader(io.LimitReader(resp, maxAdverts))
	var refs []advert
	for {
		line, kind, err := p.text()
		if err != nil {
			return nil, unexpectedEnd(err)
		}
		if kind != pktData {
			return refs, nil
		}
		a, ok := parseAdvert(line)
		if !ok {
			return nil, fmt.Errorf("%w: %q is not a ref", errPkt, diag.Printable(line))
		}
		if wanted(a.name) {
			refs = append(refs, a)
		}
	}
}

// parseAdvert reads "ID NAME [symref-target:NAME] [peeled:ID]".
func parseAdvert(line string) (advert, bool) {
	fields := strings.Split(line, " ")
	if len(fields) < 2 || !plumbing.IsHash(fields[0]) {
		// "unborn" stands in place of an id for a branch without commits.
		return advert{}, len(fields) > 1 && fields[0] == "unborn"
	}
	a := advert{name: fields[1], id: plumbing.NewHash(fields[0])}
	for _, f := range fields[2:] {
		key, value, _ := strings.Cut(f, ":")
		switch {
		case key == "symref-target":
			a.symref = value
		case key == "peeled" && plumbing.IsHash(value):
			a.tag, a.id = a.id, plumbing.NewHash(value)
		}
	}
	return a, true
}

// tag fetches a tag as a commit is fetched: with the commit that it names, and no files.
func (w *wire) tag(ctx context.Context, id plumbing.Hash, to *objectSet) error {
	return w.objects(ctx, id, to)
}

func (w *wire) objects(ctx context.Context, commit plumbing.Hash, to *objectSet) error {
	if err := w.greet(ctx); err != nil {
		return err
	}
	for _, need := range []string{"filter", "shallow", "side-band-64k"} {
		if !w.can(need) && (need != "side-band-64k" || !w.v2) {
			return &unsupported{"the server cannot leave out files: it lacks " + need}
		}
	}
	err := w.fetchPack(ctx, []plumbing.Hash{commit}, true, to)
	if said, ok := errors.AsType[serverError](err); ok && strings.Contains(string(said), commit.String()) {
		// In protocol 2 git's own server gives any object that it has.
		return &unreached{final: w.v2 && strings.Contains(string(said), "not our ref")}
	}
	return err
}

func (w *wire) blobs(ctx context.Context, _ plumbing.Hash, ids []plumbing.Hash, to *objectSet) error {
	if err := w.greet(ctx); err != nil {
		return err
	}
	if !w.v2 && !w.can("allow-reachable-sha1-in-want") {
		return &unsupported{"the server gives no single files"}
	}
	err := w.fetchPack(ctx, ids, false, to)
	if said, ok := errors.AsType[serverError](err); ok {
		return &unsupported{said.Error()}
	}
	return err
}

// can reports whether the server's fetch has a capability.
func (w *wire) can(capability string) bool {
	for _, c := range strings.Fields(w.fetch) {
		if c == capability {
			return true
		}
	}
	return false
}

// fetchPack asks for objects; bare means one commit without parents and blobs.
func (w *wire) fetchPack(ctx context.Context, wants []plumbing.Hash, bare bool, to *objectSet) error {
	request, skip := fetchV2, skipToPackV2
	if !w.v2 {
		request, skip = fetchV0, skipToPackV0
	}
	return w.fetchPackBy(ctx, request, skip, wants, bare, to)
}

// fetchPackBy is fetchPack with the words of one protocol.
func (w *wire) fetchPackBy(ctx context.Context, request func([]plumbing.Hash, bool) []byte, skip func(*pktReader, bool) error, wants []plumbing.Hash, bare bool, to *objectSet) error {
	resp, err := w.post(ctx, request(wants, bare))
	if err != nil {
		return err
	}
	defer resp.Close()
	p := newPktReader(resp)
	if err := skip(p, bare); err != nil {
		return unexpectedEnd(err)
	}
	band := &bandReader{p: p, seen: w.got}
	if err := readPack(band, w.maxPack, to); err != nil {
		// An error of the server or the connection is nearer to the cause than a pack cut off.
		if band.err != nil && band.err != io.EOF && band.err != io.ErrUnexpectedEOF {
			return band.err
		}
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(band, 1<<20))
	return unexpectedEnd(err)
}

func unexpectedEnd(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: the answer is cut off", errPack)
	}
	return err
}

func fetchV2(wants []plumbing.Hash, bare bool) []byte {
	body := appendPkt(make([]byte, 0, 256+50*len(wants)), "command=fetch")
	body = appendPkt(body, "object-format=sha1")
	body = append(body, "0001"...)
	body = appendPkt(body, "no-progress")
	body = appendPkt(body, "ofs-delta")
	if bare {
		body = appendPkt(body, "deepen 1")
		body = appendPkt(body, "filter blob:none")
	}
	for _, id := range wants {
		body = appendPkt(body, "want %s", id)
	}
	body = appendPkt(body, "done")
	return append(body, "0000"...)
}

// skipToPackV2 reads the sections of an answer up to "packfile".
func skipToPackV2(p *pktReader, _ bool) error {
	for {
		line, kind, err := p.text()
		switch {
		case err != nil:
			return err
		case kind == pktFlush || kind == pktEnd:
			return fmt.Errorf("%w: there is no pack in the answer", errPkt)
		case line == "packfile":
			return nil
		}
	}
}

// greet asks once where and what the server is.
func (w *wire) greet(ctx context.Context) error {
	if w.base != "" {
		return nil
	}
	base, err := withoutUser(w.url)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/info/refs?service=git-upload-pack", nil)
	if err != nil {
		return err
	}
	resp, err := w.do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if page := origin.WebPage(resp, "git_protocol", show(w.url), "git"); page != nil {
		return page
	}
	if resp.Header.Get("Content-Type") != "application/x-git-upload-pack-advertisement" {
		return &unsupported{"the server does not speak git's smart HTTP"}
	}
	final := resp.Request.URL
	if origin.Of(final) != origin.Of(req.URL) {
		w.from = origin.Of(req.URL)
	}
	at, ok := strings.CutSuffix(final.Path, "/info/refs")
	if !ok || final.Scheme != "https" && final.Scheme != req.URL.Scheme {
		return diag.New(diag.Failed, "git_protocol", "%s redirects to %s, which is not a repository", show(w.url), show(final.String()))
	}
	if err := w.readGreeting(newPktReader(io.LimitReader(resp.Body, maxAdverts))); err != nil {
		return unexpectedEnd(err)
	}
	moved := *final
	moved.Path, moved.RawPath, moved.RawQuery, moved.User = at, "", "", nil
	w.base = moved.String()
	return nil
}

func withoutUser(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", err
	}
	u.User = nil
	return strings.TrimSuffix(u.String(), "/"), nil
}

// readGreeting reads the capabilities of protocol 2, or the refs of 0 or 1.
func (w *wire) readGreeting(p *pktReader) error {
	line, kind, err := p.text()
	if err == nil && strings.HasPrefix(line, "# service=") {
		if _, _, err = p.next(); err == nil {
			line, kind, err = p.text()
		}
	}
	if err == nil && line == "version 1" {
		line, kind, err = p.text()
	}
	if err != nil {
		return err
	}
	w.v2 = line == "version 2"
	if !w.v2 {
		return w.readRefsV0(p, line, kind)
	}
	for {
		line, kind, err := p.text()
		switch {
		case err != nil:
			return err
		case kind != pktData:
			return nil
		}
		key, value, _ := strings.Cut(line, "=")
		switch {
		case key == "fetch":
			w.fetch = value
		case key == "object-format" && value != "sha1":
			return objectFormatError(w.url, value)
		}
	}
}

func objectFormatError(rawURL, format string) error {
	return diag.New(diag.Failed, "git_object_format",
		"%s names its objects by %s; only SHA-1 repositories can be read", show(rawURL), diag.Printable(format))
}

func (w *wire) post(ctx context.Context, body []byte) (io.ReadCloser, error) {
	if w.from != "" {
		ctx = origin.Via(ctx, w.from)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/git-upload-pack", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	req.Header.Set("Accept", "application/x-git-upload-pack-result")
	resp, err := w.do(req)
	if err != nil {
		return nil, err
	}
	if resp.Header.Get("Content-Type") != "application/x-git-upload-pack-result" {
		resp.Body.Close()
		if page := origin.WebPage(resp, "git_protocol", show(w.url), "git"); page != nil {
			return nil, page
		}
		return nil, diag.New(diag.Failed, "git_protocol", "%s does not answer as a git server does", show(w.url))
	}
	return resp.Body, nil
}

// do sends a request and turns every status but 200 into an error.
func (w *wire) do(req *http.Request) (*http.Response, error) {
	req.Header.Set("Git-Protocol", "version=2")
	resp, err := w.http.Do(req.WithContext(origin.For(req.Context(), show(w.url))))
	if err != nil {
		if _, ok := errors.AsType[*diag.Error](err); ok || req.Context().Err() != nil {
			return nil, err
		}
		return nil, unreachableError(w.url, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	resp.Body.Close()
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return nil, authError(w.url)
	case code == http.StatusNotFound || code == http.StatusGone:
		return nil, notFoundError(w.url)
	default:
		e := diag.New(diag.Failed, "git_server", "%s answers %s", show(w.url), diag.Printable(resp.Status))
		e.Retryable = code >= 500 || code == http.StatusTooManyRequests
		return nil, e
	}
}
