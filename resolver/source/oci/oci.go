// Package oci reads skills from OCI registries, in every layout that spec/oci reads.
//
//   - Versions are tags: a tag that is a semantic version ("1.4.2", "v1.4.2", "1.4.2_b1" for
//     1.4.2+b1) is a version, "latest" is the default where there is no version.
//   - A release is locked by the digest of its manifest, or of the index that its tag points to:
//     lock.Skill has URL oci://host/ns/name, Manifest, and Artifact, the digest of the layer if there
//     is exactly one. A skill of a collection is locked at the place that the collection names.
//   - Every manifest and blob is checked against its digest. Blobs are kept in
//     CacheDir/oci/blobs/<algorithm>/<hex>; a download that broke off goes on where it ended
//     (CacheDir/oci/parts). The cache may be deleted at any time, and several processes may share it.
//   - A manifest is asked for each time, cached or not, unless skl is offline: the registry may have blocked it since.
//     "410 Gone" is an error of class Refused and code blocked, with the registry's reason; what a
//     Warning header says, that a release is yanked, goes to Warn.
//   - Of an index, the entry for linux and this machine's architecture is taken, else the first; a locked
//     Artifact decides before that.
//
// Requests go through registry/client/ocihttp, whose rules on credentials and plain http hold. Errors are
// *diag.Error with the codes oci_auth, oci_not_found, oci_status, blocked, network, offline, E_DIGEST and those of spec/oci.
package oci

import (
	"context"
	"encoding/json"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/registry/client/ocihttp"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

const (
	maxTags  = 20_000    // tags of one repository that are looked at
	maxText  = 256 << 10 // bytes of a SKILL.md that are read; frontmatter has at most 64 KiB
	parallel = 6         // requests at once for one call
)

// A Source is the [source.Source] of refs of kind OCI. Set its fields before the first call;
// Client is required. Its methods may be called concurrently. Nothing needs to be closed.
type Source struct {
	Client   *origin.Client
	CacheDir string                     // "" means no cache: blobs go to temporary files
	Progress diag.Progress              // of blobs
	Warn     func(place, text string)   // told what a registry warns of, once for each place and text; may be nil
	Platform oci.Platform               // the zero Platform is linux on this machine's architecture
	Retry    func(attempt int) (ms int) // pause before a retry; nil: 300 ms, doubled each time
	download func(d *origin.Download)   // set by tests
	mu       sync.Mutex                 // guards what follows
	registry *ocihttp.Client            // made by the first call
	repos    map[string]*repository     // by URL
	warned   map[[2]string]bool         // place, text
}

var (
	_ source.Source = (*Source)(nil)
	_ source.Tagger = (*Source)(nil)
)

// repository returns the one repository at a place.
func (s *Source) repository(host, name string) (*repository, error) {
	url := "oci://" + host + "/" + name
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.repos[url]; ok {
		return r, nil
	}
	if s.registry == nil {
		s.registry = ocihttp.New(s.Client)
		s.repos = make(map[string]*repository)
		s.warned = make(map[[2]string]bool)
	}
	remote, err := s.registry.Repository(host, name)
	if err != nil {
		return nil, err
	}
	r := &repository{source: s, remote: remote, url: url, host: host, base: s.registry.Base(host) + "/v2/" + name}
	s.repos[url] = r
	return r, nil
}

// at is the repository of a lock entry or ref, which a lock file may have from anybody.
func (s *Source) at(url string) (*repository, error) {
	r, err := ref.Parse(url)
	if err != nil || r.Kind != ref.OCI || r.Version != "" || r.Digest != "" || r.Skill != "" {
		return nil, diag.New(diag.Failed, "invalid_ref", "%q is not the address of a repository, oci://host/ns/name", diag.Printable(url))
	}
	return s.repository(r.Host, r.Repository())
}

func (s *Source) platform() oci.Platform {
	if s.Platform != (oci.Platform{}) {
		return s.Platform
	}
	return oci.Platform{OS: "linux", Architecture: runtime.GOARCH}
}

// Versions lists the tags, in the registry's order. A registry that does not list its tags
// to this user has the one tag that r names.
func (s *Source) Versions(ctx context.Context, r ref.Ref) ([]source.Release, error) {
	repo, err := s.repository(r.Host, r.Repository())
	if err != nil {
		return nil, err
	}
	tags, err := repo.tags(ctx)
	if e, ok := err.(*diag.Error); ok && e.Code == codeAuth && ref.IsTag(r.Version) {
		if _, merr := repo.manifest(ctx, r.Version); merr == nil {
			tags, err = []string{r.Version}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	var releases []source.Release
	for _, tag := range tags {
		if !ref.IsTag(tag) || oci.IsReferrersTag(tag) {
			continue
		}
		version, _ := oci.Version(tag)
		releases = append(releases, source.Release{Kind: source.Tag, Name: tag, Version: version, Default: tag == "latest"})
	}
	return releases, nil
}

// Tagged implements [source.Tagger]: a range is of tags; otherwise the artifact says its version, unless the tag of the ref does.
func (s *Source) Tagged(ctx context.Context, r ref.Ref, l lock.Skill) (manifests []string, err error) {
	repo, err := s.at(l.URL)
	if err != nil {
		return nil, err
	}
	version, ofTag := oci.Version(r.Version)
	var tags []string
	switch {
	case l.RefKind == lock.Tag && ofTag:
		if version == l.Version {
			tags = []string{r.Version}
		}
	case l.RefKind == lock.Range:
		releases, err := s.Versions(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, release := range releases {
			if release.Version == l.Version {
				tags = append(tags, release.Name)
			}
		}
	default:
		return repo.says(ctx, l)
	}
	for _, tag := range tags {
		m, err := repo.manifest(ctx, tag)
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, string(m.digest))
	}
	return manifests, nil
}

// Made implements [source.Dater]: the time that the manifest's annotation says, which is zero where it says none.
func (s *Source) Made(ctx context.Context, url, digest string) (time.Time, error) {
	repo, err := s.at(url)
	if err != nil {
		return time.Time{}, err
	}
	m, err := repo.manifest(ctx, digest)
	if err != nil {
		return time.Time{}, err
	}
	var said struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := json.Unmarshal(m.bytes, &said); err != nil {
		return time.Time{}, repo.explain(err)
	}
	t, err := time.Parse(time.RFC3339, said.Annotations["org.opencontainers.image.created"])
	if err != nil {
		return time.Time{}, nil
	}
	return t, nil
}

// says returns the manifest of l if its artifact says that it is of l's version.
func (r *repository) says(ctx context.Context, l lock.Skill) ([]string, error) {
	m, err := r.manifest(ctx, string(l.Manifest))
	if err != nil {
		return nil, err
	}
	a, err := oci.Read(m.mediaType, m.bytes)
	if err != nil {
		return nil, r.explain(err)
	}
	f, err := r.found(ctx, m, a, "")
	if err != nil || f.Lock.Version != l.Version {
		return nil, err
	}
	return []string{string(l.Manifest)}, nil
}

// Skills reads the one skill of an artifact, or those of a collection: with names, only members that
// the collection calls so, if there are any.
func (s *Source) Skills(ctx context.Context, r ref.Ref, at source.Release, names []string) ([]source.Found, error) {
	repo, err := s.repository(r.Host, r.Repository())
	if err != nil {
		return nil, err
	}
	reference := at.Name
	if at.Kind == source.Manifest {
		reference = string(at.Manifest)
	}
	m, err := repo.manifest(ctx, reference)
	if err != nil {
		return nil, err
	}
	a, err := oci.Read(m.mediaType, m.bytes)
	if err != nil {
		return nil, repo.explain(err)
	}
	if len(a.Members) > 0 {
		return s.members(ctx, repo, a.Members, names)
	}
	f, err := repo.found(ctx, m, a, at.Version)
	if err != nil {
		return nil, err
	}
	return []source.Found{f}, nil
}

// members reads the skills of a collection. One that cannot be read is Invalid.
func (s *Source) members(ctx context.Context, home *repository, members []oci.Member, names []string) ([]source.Found, error) {
	if len(names) > 0 {
		named := slices.DeleteFunc(slices.Clone(members), func(m oci.Member) bool { return !slices.Contains(names, m.Name) })
		if len(named) > 0 {
			members = named
		}
	}
	found := make([]source.Found, len(members))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, m := range members {
		g.Go(func() error {
			f, err := s.member(gctx, home, m)
			if err != nil {
				if gctx.Err() != nil {
					return gctx.Err()
				}
				f = source.Found{Lock: lock.Skill{Name: m.Name, Source: "oci"}, Invalid: err}
			}
			found[i] = f
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return found, nil
}

// member reads one skill of a collection, by the digest that the collection gives.
func (s *Source) member(ctx context.Context, home *repository, m oci.Member) (source.Found, error) {
	repo, version := home, ""
	if m.Ref != "" {
		r, err := ref.Parse("oci://" + m.Ref)
		if err != nil {
			return source.Found{}, diag.New(diag.Refused, oci.CodeMalformed, "the collection names %q, which is not the reference of an artifact", diag.Printable(m.Ref))
		}
		if ref.Inward(r.Host) && !ref.Inward(home.host) {
			return source.Found{}, diag.New(diag.Refused, oci.CodeForeign, "the collection of %s points to %s, an address of this machine or link", home.host, r.Host)
		}
		if repo, err = s.repository(r.Host, r.Repository()); err != nil {
			return source.Found{}, err
		}
		version, _ = oci.Version(r.Version)
	}
	man, err := repo.manifest(ctx, string(m.Manifest.Digest))
	if err != nil {
		return source.Found{}, err
	}
	a, err := oci.Read(man.mediaType, man.bytes)
	if err != nil {
		return source.Found{}, repo.explain(err)
	}
	if len(a.Members) > 0 {
		return source.Found{}, diag.New(diag.Refused, oci.CodeNested, "%s: the collection leads to another collection", repo.url)
	}
	return repo.found(ctx, man, a, version)
}

// Fetch streams the release that l names to sink, after everything was checked against its digest.
func (s *Source) Fetch(ctx context.Context, l lock.Skill, sink bundle.Sink) error {
	repo, err := s.at(l.URL)
	if err != nil {
		return err
	}
	if err := oci.CheckDigest(digest.Digest(l.Manifest)); err != nil {
		return diag.New(diag.Failed, "lock_corrupt", "skill %s has no manifest digest in the lock", diag.Printable(l.Name)).
			Hint("skl lock --upgrade %s", diag.Printable(l.Name))
	}
	m, err := repo.manifest(ctx, string(l.Manifest))
	if err != nil {
		return err
	}
	a, err := oci.Read(m.mediaType, m.bytes)
	if err != nil {
		return repo.explain(err)
	}
	a, err = repo.entry(ctx, a, digest.Digest(l.Artifact))
	if err != nil {
		return err
	}
	open, err := repo.layers(ctx, a)
	if err != nil {
		return err
	}
	if err := a.Unpack(open, source.Canceling(ctx, sink)); err != nil {
		return repo.explain(err)
	}
	return nil
}

func (r *repository) found(ctx context.Context, m *manifest, a *oci.Artifact, version string) (source.Found, error) {
	a, err := r.entry(ctx, a, "")
	if err != nil {
		return source.Found{}, err
	}
	if a.Config.Digest != "" {
		config, err := r.config(ctx, a.Config)
		if err == nil {
			err = a.ReadConfig(config)
		}
		if err != nil {
			return source.Found{}, r.explain(err)
		}
	}
	open, err := r.layers(ctx, a)
	if err != nil {
		return source.Found{}, err
	}
	text, sidecar, sum, err := a.SkillFile(open, maxText, bundle.Limits{})
	if err == nil {
		err = a.Facts.Check(sum.Tree)
	}
	if err != nil {
		return source.Found{}, r.explain(err)
	}
	f := source.Found{Lock: lock.Skill{Source: "oci", URL: r.url, Version: version, Manifest: ref.Digest(m.digest), Artifact: ref.Digest(artifact(a))}}
	doc, err := skill.ReadWith(text, sidecar)
	if err != nil {
		f.Lock.Name, f.Invalid = path.Base(r.url), err
		return f, nil
	}
	f.Lock.Name, f.Description = doc.Name, doc.Description
	if f.Lock.Name == "" {
		f.Lock.Name = path.Base(r.url)
	}
	for _, v := range []string{a.Facts.Version, doc.Version} {
		if v, err := semver.StrictNewVersion(strings.TrimPrefix(v, "v")); f.Lock.Version == "" && err == nil {
			f.Lock.Version = v.String()
		}
	}
	return f, nil
}

// artifact is the digest of the one layer, "" if there are several: the manifest's digest covers them.
func artifact(a *oci.Artifact) digest.Digest {
	if len(a.Layers) != 1 {
		return ""
	}
	return a.Layers[0].Digest
}

// entry leads from an index to the manifest to use: the one whose layer is wanted, or the first
// for this platform if want is "".
func (r *repository) entry(ctx context.Context, a *oci.Artifact, want digest.Digest) (*oci.Artifact, error) {
	if len(a.Members) > 0 {
		return nil, r.explain(diag.New(diag.Refused, oci.CodeNotSkill, "it is a collection of skills, not a skill"))
	}
	candidates := []*oci.Artifact{a}
	if a.IsIndex() {
		a.Prefer(r.source.platform())
		candidates = nil
		for _, d := range a.Entries {
			child, err := r.child(ctx, a, d)
			if err != nil {
				return nil, err
			}
			candidates = append(candidates, child)
			if want == "" || artifact(child) == want || len(candidates) >= 16 {
				break
			}
		}
	}
	last := candidates[len(candidates)-1]
	if want != "" && artifact(last) != want {
		return nil, diag.New(diag.Refused, oci.CodeDigest, "%s no longer has the locked layer %s", r.url, diag.Printable(string(want)))
	}
	return last, nil
}

func (r *repository) child(ctx context.Context, index *oci.Artifact, d v1.Descriptor) (*oci.Artifact, error) {
	m, err := r.manifest(ctx, string(d.Digest))
	if err != nil {
		return nil, err
	}
	a, err := index.Entry(d, m.bytes)
	if err != nil {
		return nil, r.explain(err)
	}
	return a, nil
}

// layers downloads all layers of a and returns how they are opened.
func (r *repository) layers(ctx context.Context, a *oci.Artifact) (oci.Opener, error) {
	open := func(d v1.Descriptor) (oci.Content, error) { return r.blob(ctx, d) }
	if len(a.Layers) == 1 || r.source.CacheDir == "" {
		return open, nil
	}
	// Ahead and side by side: a layout with a layer per file has many small ones.
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, d := range a.Layers {
		g.Go(func() error {
			content, err := r.blob(gctx, d)
			if err != nil {
				return err
			}
			return content.Close()
		})
	}
	return open, g.Wait()
}
