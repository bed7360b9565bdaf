package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// Release finds one version. A blocked one is found too, for its reason.
func (g *Registry) Release(ctx context.Context, who Caller, namespace, name, version string) (r meta.Release, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		a, err := g.readable(ctx, tx, who, namespace+"/"+name, "unknown_version", fmt.Sprintf("release %s/%s@%s", namespace, name, version))
		if err != nil {
			return err
		}
		r, err = g.release(ctx, tx, who, a, namespace, name, version)
		return err
	})
	return r, err
}

// Releases lists the versions who may see, highest first. Yanked and blocked ones are among them, marked by State.
func (g *Registry) Releases(ctx context.Context, who Caller, namespace, name string) (list []meta.Release, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		what := "skill " + namespace + "/" + name
		a, err := g.readable(ctx, tx, who, namespace+"/"+name, "unknown_skill", what)
		if err != nil {
			return err
		}
		all, err := tx.Releases(ctx, namespace, name)
		if err != nil {
			return err
		}
		list = list[:0]
		for _, r := range all {
			if r.State.Served() || r.State == meta.Blocked || a.draft {
				list = append(list, r)
			}
		}
		if len(list) == 0 {
			return g.unknown(who, "unknown_skill", "%s", what)
		}
		return nil
	})
	return list, err
}

// Skill describes a name by its newest listed release.
func (g *Registry) Skill(ctx context.Context, who Caller, namespace, name string) (s meta.Skill, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		what := "skill " + namespace + "/" + name
		if _, err := g.readable(ctx, tx, who, namespace+"/"+name, "unknown_skill", what); err != nil {
			return err
		}
		s, err = tx.Skill(ctx, namespace, name)
		if errors.Is(err, meta.ErrNotFound) {
			err = g.unknown(who, "unknown_skill", "%s", what)
		}
		return err
	})
	return s, err
}

// Skills lists skills that who may read, by "namespace/name"; namespace "" is all.
func (g *Registry) Skills(ctx context.Context, who Caller, namespace, after string, limit int) (list []meta.Skill, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		if namespace != "" {
			if _, err := g.readable(ctx, tx, who, namespace, "unknown_namespace", "namespace "+namespace); err != nil {
				return err
			}
			list, err = tx.Skills(ctx, namespace, after, limit)
			return err
		}
		visible, err := g.visibleNamespaces(ctx, tx, who)
		if err != nil {
			return err
		}
		if visible == nil {
			list, err = tx.Skills(ctx, "", after, limit)
			return err
		}
		list = list[:0]
		for _, n := range visible { // sorted, as the list is
			if len(list) >= limit {
				break
			}
			page, err := tx.Skills(ctx, n, after, limit-len(list))
			if err != nil {
				return err
			}
			list = append(list, page...)
		}
		return nil
	})
	return list, err
}

// Search finds skills that who may read.
func (g *Registry) Search(ctx context.Context, who Caller, s meta.Search) (found meta.Matches, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		if s.Namespace != "" {
			if _, err := g.readable(ctx, tx, who, s.Namespace, "unknown_namespace", "namespace "+s.Namespace); err != nil {
				return err
			}
		}
		if s.Namespaces, err = g.visibleNamespaces(ctx, tx, who); err != nil {
			return err
		}
		found, err = tx.Search(ctx, s)
		return err
	})
	return found, err
}

// UniqueSkills lists the skills of public namespaces whose names are unique among them, by name.
func (g *Registry) UniqueSkills(ctx context.Context, after string, limit int) (list []meta.Skill, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		list, err = tx.UniqueSkills(ctx, after, limit)
		return err
	})
	return list, err
}

// OpenZip opens the archive of a release: its files, in the order of their paths, with SKILL.md at the root.
// The caller has found the release by a method that checks rights.
func (g *Registry) OpenZip(ctx context.Context, r meta.Release) (blob.Content, error) {
	if r.State == meta.Blocked {
		return nil, gone(r.Repo()+"@"+r.Version, r.Reason)
	}
	d, err := blob.ParseDigest(r.Zip)
	if err != nil {
		return nil, err
	}
	c, err := g.Blobs.Open(ctx, d)
	return c, Explain(err)
}

// LogProof proves that the publish entry of r is in the log; nil if it is not logged.
func (g *Registry) LogProof(ctx context.Context, r meta.Release) (p *tlog.Proof, err error) {
	if r.LogIndex < 0 {
		return nil, nil
	}
	_, err = g.signHead(ctx, func(tx *meta.Tx, sign func(...string) ([]byte, error)) ([]byte, error) {
		note, err := sign()
		if err != nil {
			return nil, err
		}
		proof, err := tlog.NewProof(ctx, logStorage{tx}, g.Key.Public(), note, r.LogIndex)
		p = &proof
		return note, err
	})
	return p, err
}

// LogTile serves the "tile/…" paths of the log. Bundles of entries name what is in private
// namespaces: the caller shows them only to those who may audit.
func (g *Registry) LogTile(ctx context.Context, path string) (tile []byte, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		tile, err = tlog.Tile(ctx, logStorage{tx}, path)
		if errors.Is(err, tlog.ErrNoTile) {
			err = diag.New(diag.Misuse, "not_found", "the log has no %s", diag.Printable(path))
		}
		return err
	})
	return tile, err
}

// VerifyLog recomputes the log from its records.
func (g *Registry) VerifyLog(ctx context.Context) error {
	return g.verifyLog(ctx, func(*meta.Tx) func(int64, []byte) error { return nil })
}

// verifyLog is VerifyLog that shows each record to what each returns.
func (g *Registry) verifyLog(ctx context.Context, each func(tx *meta.Tx) func(index int64, record []byte) error) error {
	return g.view(ctx, func(tx *meta.Tx) error {
		note, err := g.Key.Sign(ctx, logStorage{tx}, g.now())
		if err != nil {
			return err
		}
		if _, err := tlog.Verify(ctx, logStorage{tx}, note, g.Key.Public(), each(tx)); err != nil {
			return err
		}
		return g.uncut(ctx, tx, 0)
	})
}

// LogContinues refuses a log that does not go on from a head that was signed, with code log_rollback if it is shorter, and log_fork if it has
// other entries. It reads none. Size is that of the log.
func (g *Registry) LogContinues(ctx context.Context, signed tlog.Checkpoint) (size int64, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		if size, err = tx.LogSize(ctx); err != nil {
			return err
		}
		if size < signed.Size {
			return cutLog(size, signed.Size)
		}
		root, err := tlog.Root(ctx, logStorage{tx}, signed.Size)
		if err == nil && root != signed.Root && signed.Size > 0 {
			err = forkedLog(signed.Size)
		}
		return err
	})
	return size, err
}

func cutLog(size, signed int64) *diag.Error {
	return diag.New(diag.Refused, "log_rollback", "it was cut: it has %d entries, and %d were signed", size, signed)
}

func forkedLog(signed int64) *diag.Error {
	return diag.New(diag.Refused, "log_fork", "its first %d entries are not the ones that were signed", signed)
}

// LogUncut refuses a log that is shorter than signed, a size that was signed before, or than a release says: with code
// log_rollback. It reads no entry.
func (g *Registry) LogUncut(ctx context.Context, signed int64) error {
	return g.view(ctx, func(tx *meta.Tx) error { return g.uncut(ctx, tx, signed) })
}

func (g *Registry) uncut(ctx context.Context, tx *meta.Tx, signed int64) error {
	size, err := tx.LogSize(ctx)
	if err != nil {
		return err
	}
	last, err := tx.LastLogged(ctx)
	switch {
	case err != nil:
		return err
	case size < signed:
		return cutLog(size, signed)
	case size <= last:
		return diag.New(diag.Refused, "log_rollback", "it was cut: it has %d entries, and a release names entry %d", size, last)
	}
	return nil
}

// Namespaces lists those who may read, by name.
func (g *Registry) Namespaces(ctx context.Context, who Caller, after string, limit int) (list []meta.Namespace, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		list = list[:0]
		for len(list) < limit {
			page, err := tx.Namespaces(ctx, after, 1000)
			if err != nil || len(page) == 0 {
				return err
			}
			for _, n := range page {
				after = n.Name
				if len(list) < limit && (g.Open || who.Sees(n.Name, n.Public)) {
					list = append(list, n)
				}
			}
		}
		return nil
	})
	return list, err
}

// Namespace describes one.
func (g *Registry) Namespace(ctx context.Context, who Caller, name string) (n meta.Namespace, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		a, err := g.readable(ctx, tx, who, name, "unknown_namespace", "namespace "+name)
		n = a.ns
		if err != nil || !g.Open {
			return err
		}
		// An open registry has no namespaces of its own, only repositories below a name.
		repos, err := tx.Repos(ctx, name+".", 1) // "/" follows "."
		if err == nil && (len(repos) == 0 || !strings.HasPrefix(repos[0], name+"/")) {
			err = g.unknown(who, "unknown_namespace", "namespace %s", name)
		}
		return err
	})
	return n, err
}

// Events lists the audit trail, newest first.
func (g *Registry) Events(ctx context.Context, who Caller, q meta.AuditQuery) (list []meta.Event, err error) {
	scope := "*"
	if q.Namespace != "" {
		scope = q.Namespace
	}
	if err := g.need(who, auth.Audit, scope); err != nil {
		if e, ok := errors.AsType[*diag.Error](err); ok && scope == auth.Everywhere {
			for _, has := range who.Grants {
				if has.Namespace != scope && auth.Allows(has.Role, auth.Audit) {
					e.Hint("skl registry audit --namespace %s", has.Namespace)
				}
			}
		}
		return nil, err
	}
	if q.Action != "" && !slices.Contains(eventActions(), q.Action) {
		e := diag.New(diag.Misuse, "invalid_request", "there is no action %q in an audit trail", diag.Printable(q.Action))
		e.Candidates = eventActions()
		return nil, e.Hint("actions: %s", strings.Join(eventActions(), ", "))
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		if q.Namespace != "" {
			if err := g.known(ctx, tx, who, q.Namespace); err != nil {
				return err
			}
		}
		list, err = tx.Events(ctx, q)
		if err != nil || len(list) > 0 || q.Account == "" {
			return err
		}
		return g.knownAccount(ctx, tx, scope, q.Account)
	})
	return list, err
}

// eventActions are the actions that events can have.
func eventActions() []string {
	return strings.Fields("advisory-add advisory-withdraw approve attach blob-delete block delete deprecate grant image log-append-again namespace-create namespace-loosen namespace-update near-name-allow promote publish " +
		"publisher-add publisher-remove push quarantine reject sign-in tag-delete token-create token-exchange token-revoke unblock undeprecate ungrant unyank yank")
}

// knownAccount refuses an account that never did anything in a namespace, "*" for all of them, and has no role there.
func (g *Registry) knownAccount(ctx context.Context, tx *meta.Tx, namespace, account string) error {
	q := meta.AuditQuery{Account: account, Limit: 1}
	where := ""
	if namespace != auth.Everywhere {
		q.Namespace, where = namespace, " in namespace "+namespace
	}
	if did, err := tx.Events(ctx, q); err != nil || len(did) > 0 {
		return err
	}
	grants, err := tx.Grants(ctx, account)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(grants, func(gr meta.Grant) bool { return namespace == auth.Everywhere || gr.Namespace == namespace }) {
		return nil
	}
	return diag.New(diag.Misuse, "unknown_account", "there is no account %s%s", diag.Printable(account), where)
}

// Downloads counts the downloads of a skill, by day "2006-01-02" since the time given.
func (g *Registry) Downloads(ctx context.Context, who Caller, namespace, name string, days int) (counts map[string]int64, err error) {
	if days < 1 || days > 366 {
		return nil, diag.New(diag.Misuse, "invalid_request", "downloads are counted for 1 to 366 days")
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		if _, err := g.readable(ctx, tx, who, namespace+"/"+name, "unknown_skill", "skill "+namespace+"/"+name); err != nil {
			return err
		}
		counts, err = tx.Downloads(ctx, namespace, name, g.now().AddDate(0, 0, 1-days))
		return err
	})
	return counts, err
}

// CountDownload notes that a release was fetched. Counts are written by [Registry.FlushDownloads], not per request.
func (g *Registry) CountDownload(namespace, name, version string) {
	g.counted.Lock()
	defer g.counted.Unlock()
	if g.counts == nil {
		g.counts = map[string]int64{}
	}
	if len(g.counts) < 100_000 {
		g.counts[namespace+"/"+name+"@"+version]++
	}
}

// CountPull notes that the manifest of a release was fetched; other manifests do not count.
func (g *Registry) CountPull(p Pulled) {
	if !g.Open && p.Root == p.Digest && p.Subject == "" && p.State.Served() {
		if namespace, name, ok := cutRepo(p.Repo); ok {
			g.CountDownload(namespace, name, p.Digest)
		}
	}
}

// versions replaces the digests among some counted releases by their versions, and drops what is no release.
func versions(ctx context.Context, tx *meta.Tx, counts map[string]int64, of []string) (map[string]int64, error) {
	out := make(map[string]int64, len(of))
	for _, key := range of {
		n := counts[key]
		repo, version, _ := strings.Cut(key, "@")
		if strings.Contains(version, ":") {
			r, err := tx.ReleaseByManifest(ctx, repo, version)
			if errors.Is(err, meta.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			key = repo + "@" + r.Version
		}
		out[key] += n
	}
	return out, nil
}

// maxCounted is how many releases one transaction counts downloads of, so that publishes in between do not wait for all of them.
const maxCounted = 200

// FlushDownloads writes the counts. Those that it cannot write are kept for the next time.
func (g *Registry) FlushDownloads(ctx context.Context) (err error) {
	g.counted.Lock()
	counts := g.counts
	g.counts = nil
	g.counted.Unlock()
	for some := range slices.Chunk(slices.Sorted(maps.Keys(counts)), maxCounted) {
		if err = g.update(ctx, func(tx *meta.Tx) error {
			resolved, err := versions(ctx, tx, counts, some)
			if err != nil {
				return err
			}
			return tx.CountDownloads(ctx, resolved, g.now())
		}); err != nil {
			break
		}
		for _, key := range some {
			delete(counts, key)
		}
	}
	if len(counts) > 0 {
		g.counted.Lock()
		defer g.counted.Unlock()
		if g.counts == nil {
			g.counts = map[string]int64{}
		}
		for k, n := range counts {
			g.counts[k] += n
		}
	}
	return err
}
