package registrytest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// Meta runs the promises of [meta.Store]. Open opens the store that lives in a directory, which is empty at first
// and then what an earlier call left there, also one in a process that was killed. It closes
// the store at the end of the test, if nobody did.
func Meta(t *testing.T, open func(t testing.TB, dir string) meta.Store) {
	if dir := os.Getenv(childDir); dir != "" {
		writeUntilKilled(t.Context(), open(t, dir))
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, meta.Store)
	}{
		{"settings", testSettings},
		{"namespaces", testNamespaces},
		{"grants", testGrants},
		{"tokens", testTokens},
		{"accounts that differ by case", testTwins},
		{"links", testLinks},
		{"uploads", testUploads},
		{"manifests", testManifests},
		{"manifests change state and root", testManifestStates},
		{"tags", testTags},
		{"referrers", testReferrers},
		{"a blob is as visible as the best manifest that names it", testBlobServed},
		{"repositories", testRepos},
		{"what is referenced", testReferenced},
		{"releases", testReleases},
		{"the latest version is the highest stable one", testLatest},
		{"skills keep step with releases", testSkills},
		{"unique names", testUnique},
		{"downloads", testDownloads},
		{"search", testSearch},
		{"search shows nothing of other namespaces", testSearchNamespaces},
		{"search takes any text", testSearchText},
		{"search pages and sorts", testSearchPages},
		{"search counts every skill", testSearchCounts},
		{"search ranks many", testRankOfMany},
		{"an exact name comes first", testExactNameFirst},
		{"a search is relaxed", testRelaxed},
		{"pages of a relaxed search", testRelaxedPages},
		{"audit", testAudit},
		{"log", testLog},
		{"garbage links and blobs", testGarbage},
		{"garbage manifests", testGarbageManifests},
		{"an update happens whole or not at all", testAtomic},
		{"a panic is its caller's", testPanic},
		{"a view does not write and sees one state", testView},
		{"a caller that goes away", testCancel},
		{"one release is created once", testCreateOnce},
		{"updates are one after the other", testSerial},
		{"a frozen store is read only", testFrozen},
		{"a store that is too new is read only", testTooNew},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t, t.TempDir())) })
	}
	t.Run("search sees changes", func(t *testing.T) { testSearchSeesChanges(t, open) })
	t.Run("it is there again", func(t *testing.T) { testReopen(t, open) })
	t.Run("a closed store", func(t *testing.T) { testClosed(t, open(t, t.TempDir())) })
	t.Run("backup and check", func(t *testing.T) { testBackup(t, open(t, t.TempDir())) })
	t.Run("what was acknowledged survives a kill", func(t *testing.T) { testKill(t, open) })
}

// day is the time of most things in the tests.
var day = time.Date(2026, 5, 1, 12, 0, 0, 123_000, time.UTC)

// update runs fn, which has to succeed.
func update(t testing.TB, s meta.Store, fn func(tx *meta.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// do is update for calls without an answer.
func do(t testing.TB, s meta.Store, fn func(tx *meta.Tx) []error) {
	t.Helper()
	update(t, s, func(tx *meta.Tx) error { return errors.Join(fn(tx)...) })
}

// ask returns what fn finds in a view.
func ask[T any](t testing.TB, s meta.Store, fn func(tx *meta.Tx) (T, error)) T {
	t.Helper()
	var v T
	if err := s.View(t.Context(), func(tx *meta.Tx) (err error) {
		v, err = fn(tx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return v
}

// refused runs fn, which has to fail with want.
func refused(t testing.TB, s meta.Store, want error, fn func(tx *meta.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// same compares what was found with what is expected. Empty and nil are the same.
func same[T any](t testing.TB, got, want T) {
	t.Helper()
	if g, w := reflect.ValueOf(got), reflect.ValueOf(want); g.Kind() == reflect.Slice && g.Len() == 0 && w.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// digest is a made-up digest.
func digest(name string) string { return "sha256:" + name }

func testFrozen(t *testing.T, s meta.Store) {
	update(t, s, func(tx *meta.Tx) error {
		// It holds from the next transaction on.
		return errors.Join(tx.Freeze(t.Context(), meta.Freeze{State: meta.Moving, Since: day, Log: "key"}), tx.PutSetting(t.Context(), "k", []byte("v")))
	})
	refused(t, s, diag.Code(meta.CodeFrozen), func(tx *meta.Tx) error {
		t.Error("it begins an update")
		return nil
	})
	same(t, ask(t, s, func(tx *meta.Tx) (meta.Freeze, error) { return tx.Frozen(t.Context()) }), meta.Freeze{State: meta.Moving, Since: day, Log: "key"})
	same(t, ask(t, s, func(tx *meta.Tx) ([]byte, error) { return tx.Setting(t.Context(), "k") }), []byte("v"))
}

func testSettings(t *testing.T, s meta.Store) {
	get := func(tx *meta.Tx) ([]byte, error) { return tx.Setting(t.Context(), "k") }
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := get(tx); return err })
	for _, v := range []string{"one", "two\x00\xff", ""} {
		update(t, s, func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), "k", []byte(v)) })
		same(t, ask(t, s, get), []byte(v))
	}
	// Of many who make a value one is first. A value that is there is not made again.
	if _, err := meta.KeepSetting(t.Context(), s, "kept", nil); !errors.Is(err, meta.ErrNotFound) {
		t.Errorf("a setting that nobody makes: %v", err)
	}
	values := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range values {
		all.Go(func() {
			var err error
			if values[i], err = meta.KeepSetting(t.Context(), s, "kept", func() ([]byte, error) { return fmt.Append(nil, i), nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, v := range values {
		same(t, v, values[0])
	}
	v, err := meta.KeepSetting(t.Context(), s, "kept", func() ([]byte, error) { return nil, errors.New("made again") })
	if same(t, v, values[0]); err != nil {
		t.Error(err)
	}
}

func testNamespaces(t *testing.T, s meta.Store) {
	acme := meta.Namespace{Name: "acme", Public: true, Created: day, Policy: meta.Policy{
		ManualApproval: true, KeepDrafts: 3, Signers: []meta.Signer{{Issuer: "https://issuer.example", Identity: "a@*"}}}}
	zoo := meta.Namespace{Name: "zoo", Created: day}
	update(t, s, func(tx *meta.Tx) error {
		return errors.Join(tx.CreateNamespace(t.Context(), zoo), tx.CreateNamespace(t.Context(), acme))
	})
	same(t, ask(t, s, func(tx *meta.Tx) (meta.Namespace, error) { return tx.Namespace(t.Context(), "acme") }), acme)
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Namespace, error) { return tx.Namespaces(t.Context(), "", 10) }), []meta.Namespace{acme, zoo})
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Namespace, error) { return tx.Namespaces(t.Context(), "acme", 10) }), []meta.Namespace{zoo})
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Namespace, error) { return tx.Namespaces(t.Context(), "", 1) }), []meta.Namespace{acme})
	refused(t, s, meta.ErrExists, func(tx *meta.Tx) error { return tx.CreateNamespace(t.Context(), meta.Namespace{Name: "acme"}) })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { return tx.UpdateNamespace(t.Context(), meta.Namespace{Name: "none"}) })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Namespace(t.Context(), "none"); return err })
	acme.Public, acme.Policy = false, meta.Policy{AcceptAny: true}
	update(t, s, func(tx *meta.Tx) error {
		return tx.UpdateNamespace(t.Context(), meta.Namespace{Name: "acme", Policy: acme.Policy, Created: day.Add(time.Hour)})
	})
	same(t, ask(t, s, func(tx *meta.Tx) (meta.Namespace, error) { return tx.Namespace(t.Context(), "acme") }), acme)
}

func testGrants(t *testing.T, s meta.Store) {
	ann := meta.Grant{Account: "ann", Namespace: "acme", Role: "reader", Created: day}
	all := meta.Grant{Account: "ann", Namespace: "*", Role: "auditor", Created: day}
	bob := meta.Grant{Account: "bob", Namespace: "acme", Role: "admin", Created: day}
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.PutGrant(t.Context(), ann), tx.PutGrant(t.Context(), bob), tx.PutGrant(t.Context(), all)}
	})
	ann.Role = "publisher"
	update(t, s, func(tx *meta.Tx) error { return tx.PutGrant(t.Context(), ann) })
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Grant, error) { return tx.Grants(t.Context(), "ann") }), []meta.Grant{all, ann})
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Grant, error) { return tx.NamespaceGrants(t.Context(), "acme") }), []meta.Grant{ann, bob})
	update(t, s, func(tx *meta.Tx) error { return tx.DeleteGrant(t.Context(), "ann", "acme") })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { return tx.DeleteGrant(t.Context(), "ann", "acme") })
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Grant, error) { return tx.Grants(t.Context(), "ann") }), []meta.Grant{all})
}

func testTokens(t *testing.T, s meta.Store) {
	a := meta.Token{ID: "a", Hash: []byte{0, 1, 255}, Account: "ann", Namespace: "acme", Role: "publisher", Created: day, Expires: day.Add(time.Hour)}
	b := meta.Token{ID: "b", Hash: []byte("x"), Account: "bob", Namespace: "*", Role: "admin", Created: day}
	get := func(id string) meta.Token {
		t.Helper()
		return ask(t, s, func(tx *meta.Tx) (meta.Token, error) { return tx.Token(t.Context(), id) })
	}
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.CreateToken(t.Context(), b), tx.CreateToken(t.Context(), a)}
	})
	refused(t, s, meta.ErrExists, func(tx *meta.Tx) error { return tx.CreateToken(t.Context(), meta.Token{ID: "a"}) })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Token(t.Context(), "c"); return err })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { return tx.RevokeToken(t.Context(), "c", day) })
	same(t, get("a"), a)
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Token, error) { return tx.Tokens(t.Context(), "", "", 10) }), []meta.Token{a, b})
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Token, error) { return tx.Tokens(t.Context(), "", "a", 10) }), []meta.Token{b})
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Token, error) { return tx.Tokens(t.Context(), "acme", "", 10) }), []meta.Token{a})

	with := func(id string) (tok meta.Token, grants []meta.Grant) {
		ask(t, s, func(tx *meta.Tx) (_ int, err error) {
			tok, grants, err = tx.TokenGrants(t.Context(), id)
			return 0, err
		})
		return tok, grants
	}
	tok, grants := with("a")
	same(t, tok, a)
	same(t, grants, nil)
	want := []meta.Grant{{Account: "ann", Namespace: "acme", Role: "reader", Created: day}, {Account: "ann", Namespace: "zoo", Role: "admin", Created: day}}
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.PutGrant(t.Context(), want[1]), tx.PutGrant(t.Context(), want[0]), tx.PutGrant(t.Context(), meta.Grant{Account: "bob", Namespace: "acme", Role: "admin"})}
	})
	tok, grants = with("a")
	same(t, tok, a)
	same(t, grants, want)
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, _, err := tx.TokenGrants(t.Context(), "c"); return err })

	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.RevokeToken(t.Context(), "a", day.Add(time.Minute)), tx.RevokeToken(t.Context(), "a", day.Add(time.Hour)), tx.TouchToken(t.Context(), "a", day), tx.TouchToken(t.Context(), "a", day.Add(20*time.Minute)), tx.TouchToken(t.Context(), "c", day)}
	})
	a.Revoked, a.LastUsed = day.Add(time.Minute), day.Truncate(time.Hour)
	same(t, get("a"), a)
	update(t, s, func(tx *meta.Tx) error { return tx.TouchToken(t.Context(), "a", day.Add(61*time.Minute)) })
	same(t, get("a").LastUsed, day.Truncate(time.Hour).Add(time.Hour))
}

// A name is taken by a role, a token or an owner; who has it in two spellings keeps both.
func testTwins(t *testing.T, s meta.Store) {
	do(t, s, func(tx *meta.Tx) []error {
		return []error{
			tx.PutGrant(t.Context(), meta.Grant{Account: "ann", Namespace: "acme", Role: "reader", Created: day}),
			tx.CreateToken(t.Context(), meta.Token{ID: "a", Hash: []byte("x"), Account: "Bob", Namespace: "acme", Role: "reader", Created: day}),
			tx.CreateAccount(t.Context(), "carl", "ann", day),
			tx.CreateAccount(t.Context(), "dora", "ann", day), tx.CreateAccount(t.Context(), "Dora", "ann", day),
		}
	})
	for account, want := range map[string]string{"ANN": "ann", "bob": "Bob", "BOB": "Bob", "Carl": "carl", "DORA": "Dora"} {
		same(t, ask(t, s, func(tx *meta.Tx) (string, error) { return tx.Twin(t.Context(), account) }), want)
	}
	for _, account := range []string{"ann", "Bob", "carl", "dora", "Dora", "eve", ""} {
		refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Twin(t.Context(), account); return err })
	}
}

func testLinks(t *testing.T, s meta.Store) {
	x := digest("x")
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.LinkBlob(t.Context(), "acme/a", x, 7, day), tx.LinkBlob(t.Context(), "acme/b", x, 7, day), tx.LinkBlob(t.Context(), "acme/a", x, 7, day.Add(time.Hour))}
	})
	ask(t, s, func(tx *meta.Tx) (int, error) {
		size, linked, err := tx.Blob(t.Context(), "acme/a", x)
		same(t, size, 7)
		same(t, linked, day.Add(time.Hour))
		return 0, err
	})
	same(t, ask(t, s, func(tx *meta.Tx) ([]string, error) { return tx.BlobLinks(t.Context(), x, 10) }), []string{"acme/a", "acme/b"})
	same(t, ask(t, s, func(tx *meta.Tx) ([]string, error) { return tx.BlobLinks(t.Context(), x, 1) }), []string{"acme/a"})
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.StoredBlob, error) { return tx.StoredBlobs(t.Context(), "", 10) }), []meta.StoredBlob{{Digest: x, Size: 7}})
	update(t, s, func(tx *meta.Tx) error { return tx.UnlinkBlob(t.Context(), "acme/a", x) })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { return tx.UnlinkBlob(t.Context(), "acme/a", x) })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, _, err := tx.Blob(t.Context(), "acme/a", x); return err })
	same(t, ask(t, s, func(tx *meta.Tx) (bool, error) { return tx.KnownBlob(t.Context(), x) }), true)
	same(t, ask(t, s, func(tx *meta.Tx) (bool, error) { return tx.KnownBlob(t.Context(), digest("y")) }), false)
}

func testUploads(t *testing.T, s meta.Store) {
	u := meta.Upload{ID: "u", Repo: "acme/a", Offset: 5, State: []byte{1, 0}, Updated: day}
	v := meta.Upload{ID: "v", Repo: "acme/a", Updated: day.Add(-time.Hour)}
	do(t, s, func(tx *meta.Tx) []error { return []error{tx.PutUpload(t.Context(), u), tx.PutUpload(t.Context(), v)} })
	u.Offset, u.State, u.Updated = 9, []byte{2}, day.Add(time.Second)
	update(t, s, func(tx *meta.Tx) error { return tx.PutUpload(t.Context(), u) })
	same(t, ask(t, s, func(tx *meta.Tx) (meta.Upload, error) { return tx.Upload(t.Context(), "u") }), u)
	drop := func(before time.Time, limit int) (n int64) {
		update(t, s, func(tx *meta.Tx) (err error) { n, err = tx.DropStaleUploads(t.Context(), before, limit); return err })
		return n
	}
	gone := func(id string) {
		t.Helper()
		refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Upload(t.Context(), id); return err })
	}
	same(t, drop(day.Add(-2*time.Hour), 10), int64(0))
	same(t, drop(day.Add(time.Hour), 1), int64(1)) // the oldest
	gone("v")
	same(t, drop(day, 10), int64(0))
	update(t, s, func(tx *meta.Tx) error { return tx.PutUpload(t.Context(), v) })
	same(t, drop(day, 10), int64(1))
	gone("v")
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.DeleteUpload(t.Context(), "u"), tx.DeleteUpload(t.Context(), "u")}
	})
	gone("u")
}

// manifest is one of acme/a that stands for itself.
func manifest(name string, state meta.State) meta.Manifest {
	m := meta.Manifest{Repo: "acme/a", Digest: digest(name), MediaType: "application/vnd.oci.image.manifest.v1+json", ArtifactType: "application/test",
		Root: digest(name), State: state, Bytes: []byte("{" + name + "}\x00"), Created: day}
	m.Size = int64(len(m.Bytes))
	return m
}

// stored is what is read back of m.
func stored(m meta.Manifest) meta.Manifest {
	m.Blobs, m.Manifests = nil, nil
	return m
}

func putAll(t testing.TB, s meta.Store, ms ...meta.Manifest) {
	t.Helper()
	update(t, s, func(tx *meta.Tx) error {
		for _, m := range ms {
			if err := tx.PutManifest(t.Context(), m); err != nil {
				return err
			}
		}
		return nil
	})
}

func getManifest(t testing.TB, s meta.Store, name string) meta.Manifest {
	t.Helper()
	return ask(t, s, func(tx *meta.Tx) (meta.Manifest, error) { return tx.Manifest(t.Context(), "acme/a", digest(name)) })
}

func testManifests(t *testing.T, s meta.Store) {
	m := manifest("m", meta.Draft)
	m.Annotations = map[string]string{"a": "b"}
	m.Blobs = []string{digest("x"), digest("y"), digest("x")}
	putAll(t, s, m)
	same(t, getManifest(t, s, "m"), stored(m))
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Manifest(t.Context(), "acme/b", m.Digest); return err })

	again := m
	again.State, again.Root, again.Created, again.Bytes = meta.Approved, digest("other"), day.Add(time.Hour), []byte("other")
	putAll(t, s, again)
	m.State, m.Root = again.State, again.Root
	same(t, getManifest(t, s, "m"), stored(m))

	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.PutTag(t.Context(), "acme/a", "v", m.Digest, day), tx.DeleteManifest(t.Context(), "acme/a", m.Digest)}
	})
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { return tx.DeleteManifest(t.Context(), "acme/a", m.Digest) })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.ManifestByTag(t.Context(), "acme/a", "v"); return err })
	same(t, ask(t, s, func(tx *meta.Tx) ([]string, error) { return tx.Tags(t.Context(), "acme/a", "", 10, true) }), nil)
}

func testManifestStates(t *testing.T, s meta.Store) {
	m, other := manifest("m", meta.Draft), manifest("o", meta.Draft)
	signature := manifest("sig", meta.Draft)
	signature.Subject, signature.Root = m.Digest, m.Digest
	putAll(t, s, m, signature, other)
	states := func() (all []meta.State) {
		for _, name := range []string{"m", "sig", "o"} {
			all = append(all, getManifest(t, s, name).State)
		}
		return all
	}
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.SetManifestState(t.Context(), "acme/a", m.Digest, meta.Approved), tx.SetManifestState(t.Context(), "acme/a", digest("none"), meta.Blocked)}
	})
	same(t, states(), []meta.State{meta.Approved, meta.Approved, meta.Draft})
	update(t, s, func(tx *meta.Tx) error {
		return tx.SetManifestRoot(t.Context(), "acme/a", m.Digest, other.Digest, meta.Yanked)
	})
	same(t, states(), []meta.State{meta.Yanked, meta.Yanked, meta.Draft})
	update(t, s, func(tx *meta.Tx) error { return tx.SetManifestState(t.Context(), "acme/a", other.Digest, meta.Blocked) })
	same(t, states(), []meta.State{meta.Blocked, meta.Blocked, meta.Blocked})
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error {
		return tx.SetManifestRoot(t.Context(), "acme/a", digest("none"), m.Digest, meta.Draft)
	})
}

func testTags(t *testing.T, s meta.Store) {
	m, n, hidden := manifest("m", meta.Approved), manifest("n", meta.Deprecated), manifest("h", meta.Yanked)
	putAll(t, s, m, n, hidden)
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.PutTag(t.Context(), "acme/a", "b", m.Digest, day), tx.PutTag(t.Context(), "acme/a", "B", n.Digest, day), tx.PutTag(t.Context(), "acme/a", "a", m.Digest, day), tx.PutTag(t.Context(), "acme/a", "h", hidden.Digest, day)}
	})
	tags := func(after string, limit int, all bool) []string {
		return ask(t, s, func(tx *meta.Tx) ([]string, error) { return tx.Tags(t.Context(), "acme/a", after, limit, all) })
	}
	same(t, tags("", 0, true), []string{"B", "a", "b", "h"})
	same(t, tags("", 10, false), []string{"B", "a", "b"})
	same(t, tags("B", 1, false), []string{"a"})
	same(t, tags("b", 1, false), nil)
	same(t, ask(t, s, func(tx *meta.Tx) ([]string, error) { return tx.TagsOf(t.Context(), "acme/a", m.Digest) }), []string{"a", "b"})

	same(t, ask(t, s, func(tx *meta.Tx) (meta.Manifest, error) { return tx.ManifestByTag(t.Context(), "acme/a", "a") }), m)
	update(t, s, func(tx *meta.Tx) error { return tx.PutTag(t.Context(), "acme/a", "a", n.Digest, day) })
	same(t, ask(t, s, func(tx *meta.Tx) (meta.Manifest, error) { return tx.ManifestByTag(t.Context(), "acme/a", "a") }), n)
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { return tx.PutTag(t.Context(), "acme/a", "a", digest("none"), day) })
	update(t, s, func(tx *meta.Tx) error { return tx.DeleteTag(t.Context(), "acme/a", "a") })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { return tx.DeleteTag(t.Context(), "acme/a", "a") })
}

func testReferrers(t *testing.T, s meta.Store) {
	var want []meta.Manifest
	for i, kind := range []string{"signature", "sbom", "signature"} {
		m := manifest(fmt.Sprint("r", i), meta.Approved)
		m.Subject, m.ArtifactType, m.Annotations = digest("absent"), kind, map[string]string{"n": kind}
		want = append(want, m)
	}
	putAll(t, s, append(slices.Clone(want), manifest("without", meta.Approved))...)
	list := func(subject, kind string, limit int) []meta.Manifest {
		return ask(t, s, func(tx *meta.Tx) ([]meta.Manifest, error) {
			return tx.Referrers(t.Context(), "acme/a", subject, kind, limit)
		})
	}
	same(t, list(digest("absent"), "", 10), want)
	same(t, list(digest("absent"), "signature", 10), []meta.Manifest{want[0], want[2]})
	same(t, list(digest("absent"), "", 2), want[:2])
	same(t, list("", "", 10), nil)
}

func testBlobServed(t *testing.T, s meta.Store) {
	x := digest("x")
	served := func() (state meta.State) {
		t.Helper()
		ask(t, s, func(tx *meta.Tx) (_ int, err error) {
			var size int64
			size, state, err = tx.BlobServed(t.Context(), "acme/a", x)
			same(t, size, 7)
			return 0, err
		})
		return state
	}
	none := func() {
		t.Helper()
		refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, _, err := tx.BlobServed(t.Context(), "acme/a", x); return err })
	}
	update(t, s, func(tx *meta.Tx) error { return tx.LinkBlob(t.Context(), "acme/a", x, 7, day) })
	none()
	elsewhere := manifest("m", meta.Approved)
	elsewhere.Repo, elsewhere.Blobs = "acme/b", []string{x}
	index := manifest("index", meta.Approved)
	index.Manifests = []string{x}
	putAll(t, s, elsewhere, index)
	none()
	for i, state := range []meta.State{meta.Blocked, meta.Quarantined, meta.Draft, meta.Yanked, meta.Deprecated, meta.Approved} {
		m := manifest(fmt.Sprint("m", i), state)
		m.Blobs = []string{x}
		putAll(t, s, m)
		same(t, served(), state)
	}
	update(t, s, func(tx *meta.Tx) error { return tx.DeleteManifest(t.Context(), "acme/a", digest("m5")) })
	same(t, served(), meta.Deprecated)
	update(t, s, func(tx *meta.Tx) error { return tx.UnlinkBlob(t.Context(), "acme/a", x) })
	none()
}

func testRepos(t *testing.T, s meta.Store) {
	m := manifest("m", meta.Draft)
	m.Repo = "acme/only-manifest"
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.PutManifest(t.Context(), m), tx.PutManifest(t.Context(), manifest("n", meta.Draft)), tx.LinkBlob(t.Context(), "acme/a", digest("x"), 1, day), tx.LinkBlob(t.Context(), "zoo/deep/er", digest("x"), 1, day)}
	})
	repos := func(after string, limit int) []string {
		return ask(t, s, func(tx *meta.Tx) ([]string, error) { return tx.Repos(t.Context(), after, limit) })
	}
	all := []string{"acme/a", "acme/only-manifest", "zoo/deep/er"}
	same(t, repos("", 10), all)
	same(t, repos("", 2), all[:2])
	same(t, repos("acme/a", 10), all[1:])
	same(t, repos("zoo/deep/er", 10), nil)
	for repo, want := range map[string]bool{"acme/a": true, "acme/only-manifest": true, "zoo/deep": false, "acme": false} {
		same(t, ask(t, s, func(tx *meta.Tx) (bool, error) { return tx.RepoExists(t.Context(), repo) }), want)
	}
}

func testReferenced(t *testing.T, s meta.Store) {
	index := manifest("index", meta.Approved)
	index.Manifests = []string{digest("entry")}
	signature := manifest("sig", meta.Approved)
	signature.Subject = digest("loose")
	putAll(t, s, manifest("tagged", meta.Approved), manifest("entry", meta.Approved), manifest("released", meta.Approved), manifest("loose", meta.Approved), index, signature)
	r := release("acme/a@1.0.0", meta.Approved)
	r.Manifest = digest("released")
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.PutTag(t.Context(), "acme/a", "v", digest("tagged"), day), tx.CreateRelease(t.Context(), r)}
	})
	for name, want := range map[string]bool{"tagged": true, "entry": true, "released": true, "loose": false, "index": false} {
		if got := ask(t, s, func(tx *meta.Tx) (bool, error) { return tx.ManifestReferenced(t.Context(), "acme/a", digest(name)) }); got != want {
			t.Errorf("%s is referenced: %v", name, got)
		}
	}
}

func testAudit(t *testing.T, s meta.Store) {
	for i, e := range []meta.Event{
		{Account: "ann", Action: "publish", Target: "acme/a@1.0.0", Detail: `{"x":1}`, Token: "t", Remote: "192.0.2.1"},
		{Account: "bob", Action: "publish", Target: "acme/b@1.0.0"},
		{Account: "bob", Action: "grant", Target: "acme"},
		{Account: "bob", Action: "publish", Target: "acme-two/b@1.0.0"},
	} {
		e.At = day.Add(time.Duration(i))
		update(t, s, func(tx *meta.Tx) error { return tx.AddEvent(t.Context(), e) })
	}
	events := func(q meta.AuditQuery) []meta.Event {
		return ask(t, s, func(tx *meta.Tx) ([]meta.Event, error) { return tx.Events(t.Context(), q) })
	}
	all := events(meta.AuditQuery{})
	if len(all) != 4 || !slices.IsSortedFunc(all, func(a, b meta.Event) int { return cmp.Compare(b.ID, a.ID) }) {
		t.Fatalf("events %+v", all)
	}
	first := all[3]
	first.ID = 0
	same(t, first, meta.Event{At: day, Account: "ann", Action: "publish", Target: "acme/a@1.0.0", Detail: `{"x":1}`, Token: "t", Remote: "192.0.2.1"})
	same(t, events(meta.AuditQuery{Namespace: "acme"}), all[1:])
	same(t, events(meta.AuditQuery{Namespace: "acme", Account: "bob", Action: "publish"}), all[2:3])
	same(t, events(meta.AuditQuery{Action: "grant"}), all[1:2])
	same(t, events(meta.AuditQuery{Limit: 2}), all[:2])
	same(t, events(meta.AuditQuery{Limit: 2, Before: all[1].ID}), all[2:])
}

func testLog(t *testing.T, s meta.Store) {
	size := func() int64 { return ask(t, s, func(tx *meta.Tx) (int64, error) { return tx.LogSize(t.Context()) }) }
	same(t, size(), 0)
	h := func(n byte) [32]byte { return [32]byte{n, 31: n} }
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.AppendLog(t.Context(), 0, []byte("zero"), 0, [][32]byte{h(0)}), tx.AppendLog(t.Context(), 1, []byte("one"), 1, [][32]byte{h(1), h(2)})}
	})
	same(t, size(), 2)
	refused(t, s, meta.ErrExists, func(tx *meta.Tx) error { return tx.AppendLog(t.Context(), 1, []byte("other"), 1, nil) })
	refused(t, s, meta.ErrExists, func(tx *meta.Tx) error { return tx.AppendLog(t.Context(), 3, []byte("gap"), 4, nil) })
	same(t, size(), 2)
	same(t, ask(t, s, func(tx *meta.Tx) ([][32]byte, error) { return tx.LogHashes(t.Context(), []int64{2, 0}) }), [][32]byte{h(2), h(0)})
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.LogHashes(t.Context(), []int64{0, 3}); return err })
	same(t, ask(t, s, func(tx *meta.Tx) ([][]byte, error) { return tx.LogRecords(t.Context(), 0, 2) }), [][]byte{[]byte("zero"), []byte("one")})
	same(t, ask(t, s, func(tx *meta.Tx) ([][]byte, error) { return tx.LogRecords(t.Context(), 1, 9) }), [][]byte{[]byte("one")})
}

func testGarbage(t *testing.T, s meta.Store) {
	// old and needed, old and loose, new and loose; shared is loose here and needed there.
	m := manifest("m", meta.Approved)
	m.Blobs = []string{digest("needed")}
	there := manifest("m", meta.Approved)
	there.Repo, there.Blobs = "acme/b", []string{digest("shared")}
	r := release("acme/a@1.0.0", meta.Approved)
	do(t, s, func(tx *meta.Tx) []error {
		errs := []error{tx.LinkBlob(t.Context(), "acme/b", digest("shared"), 1, day), tx.PutManifest(t.Context(), there), tx.LinkBlob(t.Context(), "acme/a", digest("new"), 1, day.Add(time.Hour)), tx.KeepBlob(t.Context(), r.Zip, 9), tx.KeepBlob(t.Context(), digest("lonely"), 9)}
		for _, d := range []string{"needed", "loose", "shared"} {
			errs = append(errs, tx.LinkBlob(t.Context(), "acme/a", digest(d), 1, day))
		}
		return append(errs, tx.PutManifest(t.Context(), m), tx.CreateRelease(t.Context(), r))
	})
	unlink := func(limit int) (n int) {
		update(t, s, func(tx *meta.Tx) (err error) {
			n, err = tx.UnlinkGarbage(t.Context(), day.Add(time.Minute), limit)
			return err
		})
		return n
	}
	blobs := func() []string {
		undo := errors.New("undo")
		var found []string
		err := s.Update(t.Context(), func(tx *meta.Tx) (err error) {
			if found, err = tx.ForgetGarbage(t.Context(), 10); err == nil {
				err = undo
			}
			return err
		})
		if !errors.Is(err, undo) {
			t.Fatal(err)
		}
		slices.Sort(found)
		return found
	}
	same(t, blobs(), []string{digest("lonely")})
	same(t, unlink(1), 1)
	same(t, unlink(10), 1)
	same(t, unlink(10), 0)
	same(t, blobs(), []string{digest("lonely"), digest("loose")})
	same(t, ask(t, s, func(tx *meta.Tx) (bool, error) { return tx.KnownBlob(t.Context(), digest("loose")) }), true)
	update(t, s, func(tx *meta.Tx) error {
		gone, err := tx.ForgetGarbage(t.Context(), 10)
		same(t, len(gone), 2)
		return errors.Join(err, tx.KeepBlob(t.Context(), digest("lonely"), 9))
	})
	same(t, ask(t, s, func(tx *meta.Tx) (bool, error) { return tx.KnownBlob(t.Context(), digest("loose")) }), false)
	// A blob that is linked again is not garbage any more.
	update(t, s, func(tx *meta.Tx) error {
		return tx.LinkBlob(t.Context(), "acme/c", digest("lonely"), 9, day.Add(time.Hour))
	})
	same(t, blobs(), nil)

	// A manifest, and a release, that go leave theirs behind; what two manifests name stays.
	twin := manifest("twin", meta.Approved)
	twin.Blobs = m.Blobs
	putAll(t, s, twin)
	update(t, s, func(tx *meta.Tx) error { return tx.DeleteManifest(t.Context(), "acme/a", twin.Digest) })
	same(t, unlink(10), 0)
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.DeleteManifest(t.Context(), "acme/a", m.Digest), tx.DeleteRelease(t.Context(), "acme", "a", "1.0.0")}
	})
	same(t, unlink(10), 1)
	same(t, blobs(), []string{digest("needed"), r.Zip})
	// A blob that is named again before it was linked again is kept, too.
	putAll(t, s, m)
	same(t, blobs(), []string{r.Zip})
	update(t, s, func(tx *meta.Tx) error { return tx.LinkBlob(t.Context(), "acme/a", digest("needed"), 1, day) })
	same(t, unlink(10), 0)
}

func testGarbageManifests(t *testing.T, s meta.Store) {
	digests := func(ms []meta.Manifest) string {
		var all []string
		for _, m := range ms {
			if m.Bytes != nil {
				t.Errorf("%s came with its bytes", m.Digest)
			}
			all = append(all, m.Repo+" "+strings.TrimPrefix(m.Digest, "sha256:"))
		}
		return strings.Join(all, ", ")
	}
	fresh := manifest("fresh", meta.Draft)
	fresh.Created = day.Add(time.Hour)
	signature := manifest("sig", meta.Draft)
	signature.Subject, signature.Root = digest("released"), digest("released")
	orphan := manifest("orphan", meta.Approved)
	orphan.Subject = digest("none")
	index := manifest("index", meta.Approved)
	index.Manifests = []string{digest("entry")}
	putAll(t, s, manifest("stale", meta.Draft), fresh, manifest("released", meta.Draft), signature, orphan, index, manifest("entry", meta.Approved), manifest("tagged", meta.Approved))
	foreign := manifest("m", meta.Approved)
	foreign.Repo = "acme-two/a"
	r := release("acme/a@1.0.0", meta.Draft)
	r.Manifest = digest("released")
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.PutManifest(t.Context(), foreign), tx.CreateRelease(t.Context(), r), tx.PutTag(t.Context(), "acme/a", "v", digest("tagged"), day), tx.CreateNamespace(t.Context(), meta.Namespace{Name: "acme"}), tx.CreateNamespace(t.Context(), meta.Namespace{Name: "acme-two"})}
	})
	before := day.Add(time.Minute)
	stale := func() string {
		return digests(ask(t, s, func(tx *meta.Tx) ([]meta.Manifest, error) { return tx.StaleDrafts(t.Context(), "acme", before, 10) }))
	}
	untagged := func() string {
		return digests(ask(t, s, func(tx *meta.Tx) ([]meta.Manifest, error) { return tx.UntaggedManifests(t.Context(), before, 10) }))
	}
	same(t, stale(), "acme/a released, acme/a stale") // a release that is a draft itself; its signature goes with it
	// Pushed again, it is not stale any more.
	again := manifest("stale", meta.Draft)
	again.Created = day.Add(time.Hour)
	putAll(t, s, again)
	same(t, stale(), "acme/a released")
	// Signed again, it is not stale any more either.
	more := manifest("more", meta.Draft)
	more.Subject, more.Root, more.Created = digest("released"), digest("released"), day.Add(time.Hour)
	putAll(t, s, more)
	same(t, stale(), "")
	update(t, s, func(tx *meta.Tx) error {
		n, err := tx.DeleteTree(t.Context(), "acme/a", digest("released"))
		if n != 3 {
			t.Errorf("%d manifests went, not a draft and its two signatures", n)
		}
		return err
	})
	same(t, untagged(), "")
	update(t, s, func(tx *meta.Tx) error {
		return tx.UpdateNamespace(t.Context(), meta.Namespace{Name: "acme", Policy: meta.Policy{AcceptAny: true}})
	})
	same(t, untagged(), "acme/a index, acme/a orphan")
}

// testTooNew has a later version of the program change the database: this one updates nothing any more.
func testTooNew(t *testing.T, s meta.Store) {
	was := ask(t, s, func(tx *meta.Tx) (meta.Schema, error) { return tx.Schema(t.Context()) })
	same(t, [4]int{was.Version, was.Known, was.Next, len(was.Waits)}, [4]int{meta.Version(), meta.Version(), meta.Version(), 0})
	update(t, s, func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), "compatible_from", []byte("9999")) })
	for range 2 {
		refused(t, s, diag.Code(meta.CodeNewer), func(tx *meta.Tx) error {
			t.Error("it begins an update")
			return nil
		})
	}
	if err := s.View(t.Context(), func(tx *meta.Tx) error { _, err := tx.Schema(t.Context()); return err }); !errors.Is(err, diag.Code(meta.CodeNewer)) {
		t.Errorf("the schema: %v", err)
	}
}
