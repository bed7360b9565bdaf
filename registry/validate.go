package registry

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/skill"
)

// slot waits for the right to hold one unpacked bundle in memory: as many as there are
// processors, and one more, whatever number of clients publishes at once.
func (g *Registry) slot(ctx context.Context) (release func(), err error) {
	g.once.Do(func() { g.slots = make(chan struct{}, runtime.GOMAXPROCS(0)+1) })
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots }, nil
	case <-ctx.Done():
		return nil, Explain(ctx.Err())
	}
}

// validate unpacks the skill behind a manifest, holds it against the rules of a publish, and
// returns what the registry keeps about it with the zip archive for other clients, and what an audit finds in it.
func (g *Registry) validate(ctx context.Context, m meta.Manifest, name, version string) (Candidate, error) {
	release, err := g.slot(ctx)
	if err != nil {
		return Candidate{}, err
	}
	defer release()
	a, err := g.artifact(ctx, m)
	if err != nil {
		return Candidate{}, err
	}
	if a.Facts.Version != "" && a.Facts.Version != version {
		return Candidate{}, diag.New(diag.Misuse, "invalid_bundle", "the artifact says it is version %s, not %s", diag.Printable(a.Facts.Version), version)
	}
	tree, sum, err := g.unpack(ctx, a)
	if err != nil {
		return Candidate{}, err
	}
	if a.Facts.Tree != "" && a.Facts.Tree != sum.Tree {
		return Candidate{}, diag.New(diag.Refused, "invalid_bundle", "the artifact says its files are %s, they are %s", a.Facts.Tree, sum.Tree)
	}
	doc, err := checkBundle(tree, name)
	if err != nil {
		return Candidate{}, err
	}
	var zip bytes.Buffer
	if _, err := bundle.PackZip(&zip, tree); err != nil {
		return Candidate{}, refused(err)
	}
	r := describe(doc, tree, sum)
	r.Name, r.Version, r.Manifest, r.Artifact = name, version, m.Digest, a.Layers[0].Digest.String()
	r.SourceURL = source(m.Annotations)
	return Candidate{r, zip.Bytes(), audited(tree)}, nil
}

// source is where the publisher says the skill comes from.
func source(annotations map[string]string) string {
	u := annotations[v1.AnnotationSource]
	if len(u) > 500 || !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
		return ""
	}
	return u
}

// describe is what the registry keeps of a skill's text and files.
func describe(doc *skill.Document, tree bundle.Memory, sum bundle.Summary) meta.Release {
	text := tree[skill.FileName].Data
	r := meta.Release{Tree: string(sum.Tree), SkillMD: blob.Sum(blob.SHA256, text).String(), Bytes: sum.Bytes,
		Description: doc.Description, License: doc.License, Text: string(text[min(doc.Body, len(text)):])}
	for _, key := range []string{"keywords", "tags"} {
		if words, ok := doc.Meta(key); ok {
			r.Keywords = append(r.Keywords, splitWords(words)...)
		}
	}
	for _, e := range sum.Entries {
		r.Files = append(r.Files, meta.File{Path: e.Path, Size: e.Size, SHA256: hex.EncodeToString(e.SHA256[:]), Executable: e.Kind == bundle.Executable})
	}
	r.Frontmatter = frontmatterJSON(doc)
	return r
}

// maxKeywords bounds what is kept of metadata.keywords.
const maxKeywords = 20

func splitWords(s string) []string {
	words := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" ,;\t\n[]\"'", r) })
	return words[:min(len(words), maxKeywords)]
}

// artifact reads the manifest, and the config it names, of a skill.
func (g *Registry) artifact(ctx context.Context, m meta.Manifest) (*oci.Artifact, error) {
	a, err := oci.Read(m.MediaType, m.Bytes)
	if err != nil {
		return nil, refused(err)
	}
	switch {
	case len(a.Members) > 0:
		return nil, diag.New(diag.Misuse, "not_a_skill", "a collection is not a release of a skill")
	case a.IsIndex():
		if a, err = g.firstEntry(ctx, m.Repo, a); err != nil {
			return nil, err
		}
	}
	if a.Config.Digest == "" {
		return a, nil
	}
	d, err := blob.ParseDigest(a.Config.Digest.String())
	if err != nil {
		return nil, refused(err)
	}
	content, err := g.Blobs.Open(ctx, d)
	if err != nil {
		return nil, missing(m.Repo, d, err)
	}
	defer content.Close()
	config, err := io.ReadAll(io.LimitReader(content, oci.MaxConfig+1))
	if err != nil {
		return nil, Explain(err)
	}
	if err := a.ReadConfig(config); err != nil {
		return nil, refused(err)
	}
	return a, nil
}

func missing(repo string, d blob.Digest, err error) error {
	if errors.Is(err, blob.ErrNotFound) {
		return diag.New(diag.Misuse, "blob_missing", "the manifest names blob %s, which was not pushed to %s", d, repo)
	}
	return Explain(err)
}

// maxEntries bounds the platforms of one index.
const maxEntries = 16

// firstEntry reads the manifests of an index of platforms and returns the first. All of them have to name
// the same layers, so that what is looked at is what every platform gets.
func (g *Registry) firstEntry(ctx context.Context, repo string, index *oci.Artifact) (*oci.Artifact, error) {
	if n := len(index.Entries); n == 0 || n > maxEntries {
		return nil, diag.New(diag.Misuse, "not_a_skill", "the index has %d entries, not 1 to %d", n, maxEntries)
	}
	var first *oci.Artifact
	for _, entry := range index.Entries {
		var child meta.Manifest
		err := g.view(ctx, func(tx *meta.Tx) (err error) {
			child, err = tx.Manifest(ctx, repo, entry.Digest.String())
			if errors.Is(err, meta.ErrNotFound) {
				err = diag.New(diag.Misuse, "blob_missing", "the index names manifest %s, which was not pushed to %s", entry.Digest, repo)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		a, err := index.Entry(entry, child.Bytes)
		if err != nil {
			return nil, refused(err)
		}
		if first == nil {
			first = a
		}
		same := slices.EqualFunc(a.Layers, first.Layers, func(x, y v1.Descriptor) bool { return x.Digest == y.Digest })
		if !same {
			return nil, diag.New(diag.Misuse, "invalid_bundle", "the platforms of the index do not share their layers, so they are not one skill")
		}
	}
	return first, nil
}

// unpack reads the skill's files into memory, within the limits of a publish.
func (g *Registry) unpack(ctx context.Context, a *oci.Artifact) (bundle.Memory, bundle.Summary, error) {
	tree := bundle.Memory{}
	guard := bundle.NewGuard(memory(tree), bundle.PublishLimits)
	guard.Portable = true
	err := a.Unpack(func(layer v1.Descriptor) (oci.Content, error) {
		d, err := blob.ParseDigest(layer.Digest.String())
		if err != nil {
			return nil, err
		}
		content, err := g.Blobs.Open(ctx, d)
		if err != nil {
			return nil, missing("its repository", d, err)
		}
		return content, nil
	}, guard)
	if err != nil {
		return nil, bundle.Summary{}, refused(err)
	}
	sum, err := guard.Close()
	if err != nil {
		return nil, bundle.Summary{}, refused(err)
	}
	return tree, sum, nil
}

// memory is a Sink that keeps files in a map. A publish has no links.
type memory bundle.Memory

func (t memory) File(p string, executable bool, size int64, r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	t[path.Clean(p)] = bundle.MemoryFile{Data: content, Executable: executable}
	return nil
}

func (memory) Link(p, _ string) error {
	return diag.New(diag.Refused, bundle.CodeLink, "%s is a link; a published skill has none", p)
}

// checkBundle holds the files against the rules of lint for a publish.
func checkBundle(tree bundle.Memory, name string) (*skill.Document, error) {
	doc, err := skill.Read(tree[skill.FileName].Data)
	if err != nil {
		return nil, refused(err)
	}
	if doc.Name != name {
		return nil, diag.New(diag.Misuse, "invalid_bundle", "SKILL.md says the skill is called %q, the release %q", diag.Printable(doc.Name), name)
	}
	var bad []string
	for _, f := range skill.Lint(tree, name, skill.LintOptions{Publish: true}) {
		if f.Severity == diag.SeverityError {
			bad = append(bad, fmt.Sprintf("%s:%d: %s (%s)", f.File, f.Line, f.Message, f.Rule))
		}
	}
	if len(bad) > 0 {
		e := diag.New(diag.Misuse, "invalid_bundle", "the skill cannot be published: %s", bad[0])
		if len(bad) > 1 {
			e.Message += fmt.Sprintf(", and %d more", len(bad)-1)
		}
		e.Candidates = bad[:min(len(bad), 20)]
		return nil, e.Hint("skl lint")
	}
	return doc, nil
}

// treeOf is the tree digest of the files behind a manifest.
func (g *Registry) treeOf(ctx context.Context, m meta.Manifest) (string, error) {
	release, err := g.slot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	a, err := g.artifact(ctx, m)
	if err != nil {
		return "", err
	}
	_, sum, err := g.unpack(ctx, a)
	return string(sum.Tree), err
}
