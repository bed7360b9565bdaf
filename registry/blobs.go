package registry

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// StatBlob returns the size of a blob that who may read in repo. Content that is lost, or known to be damaged, is not there: a push heals it.
func (g *Registry) StatBlob(ctx context.Context, who Caller, repo string, d blob.Digest) (size int64, err error) {
	if err := auth.CheckRepository(repo); err != nil {
		return 0, err
	}
	var linked time.Time
	var writer bool
	err = g.view(ctx, func(tx *meta.Tx) error {
		a, err := g.readable(ctx, tx, who, repo, "unknown_blob", "blob "+d.String()+" in "+repo)
		if err != nil {
			return err
		}
		writer = a.draft
		size, linked, err = g.findBlob(ctx, tx, who, a, repo, d)
		return err
	})
	if err == nil && !g.stored(ctx, d, size) { // whoever has it can push it again
		return 0, g.unknown(who, "unknown_blob", "blob %s in %s", d, repo)
	}
	if err == nil && writer && g.now().Sub(linked) > min(refreshAfter, g.grace()/4) {
		// Whoever is told that it is here will not push it again: keep it from gc.
		err = g.update(ctx, func(tx *meta.Tx) error { return g.link(ctx, tx, repo, d.String(), size) })
		if errors.Is(err, errSwept) {
			err = g.unknown(who, "unknown_blob", "blob %s in %s", d, repo)
		}
	}
	return size, err
}

// stored reports whether the content of d is there, as far as is known: neither lost nor damaged. Size is what it was when it
// was pushed, -1 if that is not known: content of another size is damaged, which the check notes so that the next push heals
// it. Where the store cannot tell, it is there.
func (g *Registry) stored(ctx context.Context, d blob.Digest, size int64) bool {
	have, err := g.Blobs.Stat(ctx, d)
	if err == nil && size >= 0 && have != size {
		err = g.Blobs.Check(ctx, d)
	}
	return !errors.Is(err, blob.ErrNotFound) && !errors.Is(err, blob.ErrCorrupt)
}

// refreshAfter is the age of a link from which asking for it renews it, if a quarter of the
// grace is not less.
const refreshAfter = 10 * time.Minute

// findBlob finds a blob that can be read with access a. Whoever may push sees what is
// pushed to the repository; all others what a served manifest names.
func (g *Registry) findBlob(ctx context.Context, tx reader, who Caller, a access, repo string, d blob.Digest) (int64, time.Time, error) {
	if a.draft || a.ns.Policy.AcceptAny {
		size, linked, err := tx.Blob(ctx, repo, d.String())
		if errors.Is(err, meta.ErrNotFound) {
			err = g.unknown(who, "unknown_blob", "blob %s in %s", d, repo)
		}
		if err != nil || g.Open {
			return size, linked, err
		}
		if _, state, serr := tx.BlobServed(ctx, repo, d.String()); serr == nil && state == meta.Blocked {
			return 0, linked, gone(repo, "")
		}
		return size, linked, nil
	}
	size, state, err := tx.BlobServed(ctx, repo, d.String())
	switch {
	case err == nil && state.Served():
		return size, time.Time{}, nil
	case err == nil && state == meta.Blocked:
		return 0, time.Time{}, gone(repo, "")
	case err == nil || errors.Is(err, meta.ErrNotFound):
		err = g.unknown(who, "unknown_blob", "blob %s in %s", d, repo)
	}
	return 0, time.Time{}, err
}

func gone(what, reason string) error {
	e := diag.New(diag.Refused, "blocked", "%s is blocked by the registry", what)
	if reason != "" {
		e.Message += ": " + reason
	}
	return e
}

// Blobs larger than redirectSize are read elsewhere, if that is allowed, for redirectTime. Who may not read it any more meanwhile can
// read it until then.
const (
	redirectSize = 1 << 20
	redirectTime = 5 * time.Minute
)

// BlobURL is an address elsewhere from which a blob can be read for a short time, "" if it is to be read here.
func (g *Registry) BlobURL(ctx context.Context, who Caller, repo string, d blob.Digest) (string, error) {
	remote, is := g.Blobs.(blob.Remote)
	if !is || !g.Redirect {
		return "", nil
	}
	size, err := g.readableBlob(ctx, who, repo, d)
	if err != nil || size <= redirectSize {
		return "", err
	}
	url, err := remote.URL(ctx, d, redirectTime)
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrCorrupt) {
		return "", nil // who opens it is told
	}
	return url, Explain(err)
}

// readableBlob is the size of a blob that who may read.
func (g *Registry) readableBlob(ctx context.Context, who Caller, repo string, d blob.Digest) (size int64, err error) {
	if err := auth.CheckRepository(repo); err != nil {
		return 0, err
	}
	err = g.recall(ctx, func(tx reader) error {
		a, err := g.readable(ctx, tx, who, repo, "unknown_blob", "blob "+d.String()+" in "+repo)
		if err != nil {
			return err
		}
		size, _, err = g.findBlob(ctx, tx, who, a, repo, d)
		return err
	})
	return size, err
}

// OpenBlob opens it; the caller closes it.
func (g *Registry) OpenBlob(ctx context.Context, who Caller, repo string, d blob.Digest) (blob.Content, error) {
	if _, err := g.readableBlob(ctx, who, repo, d); err != nil {
		return nil, err
	}
	c, err := g.Blobs.Open(ctx, d)
	if errors.Is(err, blob.ErrNotFound) {
		// Lost, unless it was deleted and collected just now.
		if _, gone := g.readableBlob(ctx, who, repo, d); gone != nil {
			return nil, gone
		}
	}
	if errors.Is(err, blob.ErrCorrupt) || errors.Is(err, blob.ErrNotFound) { // as HEAD says: whoever has it can push it again
		g.logger().ErrorContext(ctx, "stored content cannot be served", "repository", repo, "error", err)
		return nil, damaged(err, "unknown_blob", "blob "+d.String()+" in "+repo)
	}
	if err != nil {
		return nil, Explain(err)
	}
	return c, nil
}

// damaged is an error about content that is damaged or lost, and that whoever has it can push again.
func damaged(err error, code, what string) error {
	is := "is damaged"
	if errors.Is(err, blob.ErrNotFound) {
		is = "is lost"
	}
	e := diag.New(diag.Failed, code, "the stored content of %s %s; it is not served", what, is).
		Hint("publishing the release again, or pushing the content again, heals it")
	e.Err = err
	return e
}

// mayPush checks the right to push, in a short transaction before a body is read.
func (g *Registry) mayPush(ctx context.Context, who Caller, repo string) error {
	if err := auth.CheckRepository(repo); err != nil {
		return err
	}
	if g.Open {
		return nil
	}
	return g.view(ctx, func(tx *meta.Tx) error {
		_, err := g.writable(ctx, tx, who, repo, auth.Push)
		return err
	})
}

// push is change by somebody who may push to repo when it happens.
func (g *Registry) push(ctx context.Context, who Caller, repo string, fn func(*meta.Tx, Caller) error) error {
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		if _, err := g.writable(ctx, tx, who, repo, auth.Push); err != nil {
			return err
		}
		return fn(tx, who)
	})
}

// PutBlob stores r, whose size may be -1 for unknown, and links it to repo.
func (g *Registry) PutBlob(ctx context.Context, who Caller, repo string, d blob.Digest, size int64, r io.Reader) error {
	if err := g.mayPush(ctx, who, repo); err != nil {
		return err
	}
	return g.storeBlob(ctx, who, repo, d, size, r)
}

// storeBlob stores r and links it to repo, if who may still push there when all of it has come: what was stored
// for nothing belongs to no repository, and goes with the next gc.
func (g *Registry) storeBlob(ctx context.Context, who Caller, repo string, d blob.Digest, size int64, r io.Reader) error {
	n := &counter{r: r}
	if err := g.Blobs.Put(ctx, d, size, n); err != nil {
		return Explain(err)
	}
	return g.push(ctx, who, repo, func(tx *meta.Tx, _ Caller) error { return g.link(ctx, tx, repo, d.String(), n.n) })
}

// errSwept is the reason why something could not be kept: gc removed it between being stored and the transaction that needs it. This process, or its
// way to the database, stood still for longer than the grace.
var errSwept = errors.New("it was removed before it was needed")

// still refuses, with errSwept, content that was stored before this transaction and is not there any more.
func (g *Registry) still(ctx context.Context, tx *meta.Tx, digest string, size int64) error {
	d, err := blob.ParseDigest(digest)
	if err != nil {
		return err
	}
	stored, err := g.storedIn(ctx, tx, d, size)
	if err != nil || stored {
		return err
	}
	return swept("blob " + digest)
}

// swept is errSwept of something.
func swept(what string) error {
	e := diag.New(diag.Failed, "unavailable", "%s was stored and is not there any more: it was damaged, or the registry stood still for longer than its garbage collection waits", what).
		Hint("try again")
	e.Err, e.Retryable = errSwept, true
	return e
}

// link makes a blob that was stored one of repo. Its error is errSwept if it is not there any more.
func (g *Registry) link(ctx context.Context, tx *meta.Tx, repo, digest string, size int64) error {
	if err := g.still(ctx, tx, digest, size); err != nil {
		return err
	}
	return tx.LinkBlob(ctx, repo, digest, size, g.now())
}

// anew does what stores content and then needs it, again where that was removed in between.
func anew[T any](do func() (T, error)) (result T, err error) {
	for range 3 {
		if result, err = do(); !errors.Is(err, errSwept) {
			break
		}
	}
	return result, err
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// MountBlob links a blob of the repository from, "" for any, if who may read it there.
// It reports false, not an error, if there is none.
func (g *Registry) MountBlob(ctx context.Context, who Caller, repo, from string, d blob.Digest) (mounted bool, err error) {
	if err := g.mayPush(ctx, who, repo); err != nil {
		return false, err
	}
	if from != "" && auth.CheckRepository(from) != nil {
		return false, nil
	}
	if !g.stored(ctx, d, -1) {
		return false, nil
	}
	err = g.push(ctx, who, repo, func(tx *meta.Tx, who Caller) error {
		mounted = false
		repos := []string{from}
		if from == "" {
			if repos, err = tx.BlobLinks(ctx, d.String(), 100); err != nil {
				return err
			}
		}
		for _, source := range repos {
			a, err := g.access(ctx, tx, who, source)
			if err != nil {
				return err
			}
			if !a.read {
				continue
			}
			size, _, err := g.findBlob(ctx, tx, who, a, source, d)
			if _, known := errors.AsType[*diag.Error](err); known {
				continue
			}
			if err != nil {
				return err
			}
			err = g.link(ctx, tx, repo, d.String(), size)
			if errors.Is(err, errSwept) {
				return nil
			}
			mounted = err == nil
			return err
		}
		return nil
	})
	return mounted && err == nil, err
}

// DeleteBlob takes a blob out of repo, in an open registry or a namespace that accepts any artifact.
func (g *Registry) DeleteBlob(ctx context.Context, who Caller, repo string, d blob.Digest) error {
	if err := auth.CheckRepository(repo); err != nil {
		return err
	}
	return g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		a, err := g.writable(ctx, tx, who, repo, auth.Delete)
		if err != nil {
			return err
		}
		if !a.ns.Policy.AcceptAny {
			return diag.New(diag.Refused, "denied", "releases published in %s stay; skl yank hides one", repo)
		}
		err = tx.UnlinkBlob(ctx, repo, d.String())
		if errors.Is(err, meta.ErrNotFound) {
			err = g.unknown(who, "unknown_blob", "blob %s in %s", d, repo)
		}
		if err != nil || g.quiet() {
			return err
		}
		return g.event(ctx, tx, who, "blob-delete", repo+"@"+d.String(), map[string]string{})
	})
}

// uploadAge is how long an upload session lives.
const uploadAge = 24 * time.Hour

// An upload id is 8 bytes of time, 12 random ones and 12 of an HMAC over them and the
// repository, so that a session costs nothing until bytes arrive in parts.
const (
	idTime = 8
	idBody = idTime + 12
	idLen  = idBody + 12
)

// StartUpload opens a session. It writes nothing: the id itself says repository and time, signed.
func (g *Registry) StartUpload(ctx context.Context, who Caller, repo string) (string, error) {
	if err := g.mayPush(ctx, who, repo); err != nil {
		return "", err
	}
	raw := make([]byte, idBody, idLen)
	binary.BigEndian.PutUint64(raw, uint64(g.now().UnixMicro()))
	rand.Read(raw[idTime:])
	mac, err := g.uploadMAC(ctx, repo, raw)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(raw, mac...)), nil
}

func (g *Registry) uploadMAC(ctx context.Context, repo string, raw []byte) ([]byte, error) {
	key, err := g.uploadKey(ctx)
	if err != nil {
		return nil, err
	}
	m := hmac.New(sha256.New, key)
	m.Write([]byte(repo + "\x00"))
	m.Write(raw)
	return m.Sum(nil)[:idLen-idBody], nil
}

// uploadKey is the registry's key for upload ids; the first use makes it.
func (g *Registry) uploadKey(ctx context.Context) ([]byte, error) {
	g.secret.Lock()
	defer g.secret.Unlock()
	if g.key != nil {
		return g.key, nil
	}
	key, err := meta.KeepSetting(ctx, g.Meta, "upload_key", func() ([]byte, error) {
		key := make([]byte, 32)
		_, err := rand.Read(key)
		return key, err
	})
	if err == nil {
		g.key = key
	}
	return key, Explain(err)
}

// checkUpload refuses an id that was not given out for repo, or too long ago.
func (g *Registry) checkUpload(ctx context.Context, repo, id string) error {
	unknown := unknownUpload(repo)
	raw, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil || len(raw) != idLen || base64.RawURLEncoding.EncodeToString(raw) != id {
		return unknown
	}
	mac, err := g.uploadMAC(ctx, repo, raw[:idBody])
	if err != nil {
		return err
	}
	started := time.UnixMicro(int64(binary.BigEndian.Uint64(raw)))
	if !hmac.Equal(mac, raw[idBody:]) || g.now().Sub(started) > uploadAge {
		return unknown
	}
	return nil
}

func unknownUpload(repo string) error {
	return diag.New(diag.Misuse, "unknown_upload", "there is no such upload in %s", repo)
}

// A session is an upload that has got bytes in parts, or was closed.
type session struct {
	Closed         bool // a tombstone: the id cannot be used again
	SHA256, SHA512 []byte
}

func (s *session) hashes() (h256, h512 hash.Hash, err error) {
	h256, h512 = sha256.New(), sha512.New()
	for h, state := range map[hash.Hash][]byte{h256: s.SHA256, h512: s.SHA512} {
		if len(state) > 0 {
			err = errors.Join(err, h.(encoding.BinaryUnmarshaler).UnmarshalBinary(state))
		}
	}
	return h256, h512, err
}

func (s *session) save(h256, h512 hash.Hash) (err, err2 error) {
	s.SHA256, err = h256.(encoding.BinaryMarshaler).MarshalBinary()
	s.SHA512, err2 = h512.(encoding.BinaryMarshaler).MarshalBinary()
	return err, err2
}

// openUpload checks rights and id and reads the session; a fresh one has offset 0.
func (g *Registry) openUpload(ctx context.Context, who Caller, repo, id string) (u meta.Upload, s session, err error) {
	if err := g.mayPush(ctx, who, repo); err != nil {
		return u, s, err
	}
	if err := g.checkUpload(ctx, repo, id); err != nil {
		return u, s, err
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		u, err = tx.Upload(ctx, id)
		if errors.Is(err, meta.ErrNotFound) {
			u, err = meta.Upload{ID: id, Repo: repo}, nil
			return nil
		}
		return err
	})
	if err == nil && len(u.State) > 0 {
		err = json.Unmarshal(u.State, &s)
	}
	if err == nil && (s.Closed || u.Repo != repo) {
		err = unknownUpload(repo)
	}
	return u, s, err
}

// hold makes this call the only one that works on the upload.
func (g *Registry) hold(id string) (release func(), err error) {
	if _, taken := g.busy.LoadOrStore(id, true); taken {
		return nil, diag.New(diag.Misuse, "wrong_range", "another request is writing to this upload")
	}
	return func() { g.busy.Delete(id) }, nil
}

// UploadOffset is how many bytes the session has.
func (g *Registry) UploadOffset(ctx context.Context, who Caller, repo, id string) (int64, error) {
	u, _, err := g.openUpload(ctx, who, repo, id)
	return u.Offset, err
}

// AppendUpload adds r at offset, -1 meaning the end, and returns the new length. Another
// offset than the session's length is refused with code wrong_range.
func (g *Registry) AppendUpload(ctx context.Context, who Caller, repo, id string, offset int64, r io.Reader) (int64, error) {
	release, err := g.hold(id)
	if err != nil {
		return 0, err
	}
	defer release()
	u, s, err := g.openUpload(ctx, who, repo, id)
	if err != nil {
		return 0, err
	}
	return g.appendTo(ctx, who, &u, &s, offset, r)
}

func (g *Registry) appendTo(ctx context.Context, who Caller, u *meta.Upload, s *session, offset int64, r io.Reader) (int64, error) {
	if offset >= 0 && offset != u.Offset {
		return u.Offset, diag.New(diag.Misuse, "wrong_range", "the upload has %d bytes and cannot go on at %d", u.Offset, offset)
	}
	h256, h512, err := s.hashes()
	if err != nil {
		return u.Offset, err
	}
	length, err := g.Blobs.Append(ctx, u.ID, u.Offset, io.TeeReader(r, io.MultiWriter(h256, h512)))
	if errors.Is(err, blob.ErrOffset) && !errors.Is(err, blob.ErrBusy) {
		return 0, g.lost(ctx, u)
	}
	if err != nil {
		return u.Offset, Explain(err)
	}
	if err := errors.Join(s.save(h256, h512)); err != nil {
		return u.Offset, err
	}
	u.Offset, u.Updated = length, g.now()
	if u.State, err = json.Marshal(s); err != nil {
		return 0, err
	}
	// The bytes are stored, also if the client does not wait for the answer any more. Where that cannot be
	// noted nobody could go on: then there is no such upload. Nor is there one of somebody who may not push any more.
	if err := g.push(context.WithoutCancel(ctx), who, u.Repo, func(tx *meta.Tx, _ Caller) error { return tx.PutUpload(ctx, *u) }); err != nil {
		g.drop(ctx, u.ID)
		return 0, err
	}
	return length, nil
}

// lost is the error for a session whose bytes are not where it left them: a crash came between the end
// of the upload and its note. The client starts anew.
func (g *Registry) lost(ctx context.Context, u *meta.Upload) error {
	g.drop(ctx, u.ID)
	return unknownUpload(u.Repo)
}

// FinishUpload adds what r still holds, at offset as above, and makes the session a blob.
func (g *Registry) FinishUpload(ctx context.Context, who Caller, repo, id string, offset, size int64, r io.Reader, d blob.Digest) error {
	release, err := g.hold(id)
	if err != nil {
		return err
	}
	defer release()
	u, s, err := g.openUpload(ctx, who, repo, id)
	if err != nil {
		return err
	}
	if u.Offset == 0 && offset <= 0 { // all in one body
		err := g.storeBlob(ctx, who, repo, d, size, r)
		if len(u.State) > 0 {
			g.drop(ctx, id) // after a part without bytes
		}
		return err
	}
	if size != 0 {
		if _, err := g.appendTo(ctx, who, &u, &s, offset, r); err != nil {
			return err
		}
	} else if offset > 0 && offset != u.Offset {
		return diag.New(diag.Misuse, "wrong_range", "the upload has %d bytes and cannot go on at %d", u.Offset, offset)
	}
	known := blob.Appended{Size: u.Offset}
	h256, h512, err := s.hashes()
	if err != nil {
		return err
	}
	known.Digest = blob.Finish(blob.SHA256, h256)
	if d.Algorithm() == blob.SHA512 {
		known.Digest = blob.Finish(blob.SHA512, h512)
	}
	_, err = g.Blobs.Commit(ctx, id, d, known)
	switch {
	case errors.Is(err, blob.ErrBusy):
	case errors.Is(err, blob.ErrOffset):
		return g.lost(ctx, &u)
	case errors.Is(err, blob.ErrDigest):
		g.drop(ctx, id)
	}
	if err != nil {
		return Explain(err)
	}
	return g.push(context.WithoutCancel(ctx), who, repo, func(tx *meta.Tx, _ Caller) error {
		if err := g.link(ctx, tx, repo, d.String(), u.Offset); err != nil {
			return err
		}
		return tx.DeleteUpload(ctx, id)
	})
}

// CancelUpload drops the session and what it holds. Its id cannot be used again.
func (g *Registry) CancelUpload(ctx context.Context, who Caller, repo, id string) error {
	release, err := g.hold(id)
	if err != nil {
		return err
	}
	defer release()
	u, _, err := g.openUpload(ctx, who, repo, id)
	if err != nil {
		return err
	}
	u.Offset, u.Updated = 0, g.now()
	if u.State, err = json.Marshal(session{Closed: true}); err != nil {
		return err
	}
	if err := g.push(ctx, who, repo, func(tx *meta.Tx, _ Caller) error { return tx.PutUpload(ctx, u) }); err != nil {
		return err
	}
	return Explain(g.Blobs.Abort(ctx, id))
}

// drop forgets an upload that nobody can go on with. If it fails, gc does it.
func (g *Registry) drop(ctx context.Context, id string) {
	ctx = context.WithoutCancel(ctx)
	if err := g.Blobs.Abort(ctx, id); err == nil {
		g.update(ctx, func(tx *meta.Tx) error { return tx.DeleteUpload(ctx, id) })
	}
}

// putSmall stores bytes the registry itself made.
func (g *Registry) putSmall(ctx context.Context, content []byte) (blob.Digest, error) {
	d := blob.Sum(blob.SHA256, content)
	return d, Explain(g.Blobs.Put(ctx, d, int64(len(content)), bytes.NewReader(content)))
}
