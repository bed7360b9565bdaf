package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// publishResult is what "skl publish --json" prints.
type publishResult struct {
	Name    string    `json:"name"` // namespace/name
	Version string    `json:"version"`
	Digest  string    `json:"digest"` // of the manifest
	Tree    string    `json:"tree"`
	State   string    `json:"state"`
	Reason  string    `json:"reason,omitempty"` // why it is not visible yet
	Signer  string    `json:"signer"`           // "" for an unsigned release
	Log     *logEntry `json:"log"`              // null where the registry has no log
	URLs    []string  `json:"urls"`
	Created bool      `json:"created"` // false: this release was there already
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
}

type logEntry struct {
	Origin string `json:"origin"`
	Index  int64  `json:"index"`
}

func publishCommand() command {
	return command{name: "publish", args: "DIR [NS/NAME@VERSION]", group: "Author", usage: "validate, sign and publish a skill as one step", output: publishResult{}, complete: "dir",
		example: `skl publish skills/pdf acme/pdf@1.4.2
			skl publish skills/pdf --sign release.key         # name and version from its skl.toml
			skl publish . acme/pdf@1.4.2 --to oci://ghcr.io --image`,
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "`REGISTRY`: a name of config.toml, a URL, or oci://host[/prefix] (default: the default registry)"},
			&cli.BoolFlag{Name: "image", Usage: "also publish the form that containers mount, as VERSION-image"},
			dryRunFlag(),
		}, signFlags("sign with `KEY`, a file, or \"keyless\", or \"none\"")...),
		run: runPublish}
}

// A draft is a skill that is about to be published.
type draft struct {
	dir             string
	namespace, name string
	version         string
	input           oci.Input
	built           *oci.Built
}

func runPublish(ctx context.Context, w *world, c *cli.Context) error {
	d, err := w.draft(c.Args().Slice())
	if err != nil {
		return err
	}
	to, err := w.destination(ctx, c.String("to"))
	if err != nil {
		return err
	}
	sign, err := w.signer(ctx, c, c.String("sign"))
	if err != nil {
		return err
	}
	if d.built, err = oci.Build(d.input); err != nil {
		return fmt.Errorf("%s: %w", w.Short(d.dir), err)
	}
	out := publishResult{Name: d.namespace + "/" + d.name, Version: d.version, Digest: d.built.Root.Digest.String(),
		Tree: string(d.built.Summary.Tree), State: "draft", Files: d.built.Summary.Files, Bytes: d.built.Summary.Bytes, URLs: []string{}}
	if c.Bool("dry-run") {
		return w.printPublish(out, to, true)
	}
	if err := to.publish(ctx, d, sign, &out); err != nil {
		return err
	}
	if c.Bool("image") {
		if err := to.publishImage(ctx, d, sign, &out); err != nil {
			return err
		}
	}
	return w.printPublish(out, to, false)
}

func (w *world) printPublish(out publishResult, to *destination, dry bool) error {
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	what := fmt.Sprintf("%s@%s   %s, %s", out.Name, out.Version, diag.Count(out.Files, "file"), ui.Size(out.Bytes))
	if dry {
		w.ui.Print("%s", what)
		w.ui.Print("manifest %s", out.Digest)
		w.ui.Note("would be published to %s; nothing was sent (--dry-run)", to.shown)
		return nil
	}
	if !out.Created {
		w.ui.Print("%s is published already, the same", what)
		return nil
	}
	mark := ui.Painted(w.ui.Done())
	if out.Reason != "" {
		mark = "sent"
	}
	w.ui.Print("%s %s   %s", mark, what, out.State)
	w.ui.Print("manifest %s", out.Digest)
	if out.Signer != "" {
		w.ui.Print("signed by %s", out.Signer)
	}
	if out.Log != nil {
		w.ui.Print("entry %d of the log of %s", out.Log.Index, to.shown)
	}
	if out.Reason != "" {
		w.ui.Note("it is not visible yet: %s", out.Reason)
	}
	for _, u := range out.URLs {
		w.ui.Detail("%s", u)
	}
	switch {
	case out.Reason == "":
		w.ui.Hint("skl install %s", to.installRef(out))
	case out.State == wire.Draft:
		w.ui.Hint("skl sign %s@%s --sign KEY", out.Name, out.Version)
	default:
		w.ui.Hint("who maintains %s: skl registry approve %s@%s", out.Name, out.Name, out.Version)
	}
	return nil
}

// draft reads what is to be published, and holds it against the rules of lint.
func (w *world) draft(args []string) (*draft, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, diag.New(diag.Misuse, "usage", "name a folder with a SKILL.md, and perhaps NS/NAME@VERSION").Hint("skl publish skills/pdf acme/pdf@1.0.0")
	}
	d := &draft{dir: scope.Absolute(w.Cwd, args[0])}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder", args[0])
	}
	// The root stays open while files are read from it; the process ends with the command.
	d.input.Files = durable.RootFS(root)
	text, err := fs.ReadFile(d.input.Files, skill.FileName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, diag.New(diag.Misuse, "no_skill", "there is no SKILL.md in %s", args[0]).Hint("skl new NAME")
	}
	own, err := w.ownManifest(d)
	if err != nil {
		return nil, err
	}
	doc, err := skill.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	asked := ""
	if len(args) == 2 {
		asked = args[1]
	}
	if err := d.identify(asked, own.Package, doc); err != nil {
		return nil, err
	}
	if err := w.publishable(d); err != nil {
		return nil, err
	}
	for _, s := range own.Skills {
		need := s.Ref
		if v := cmp.Or(s.Version, s.Tag, s.Commit, s.Branch); v != "" {
			need += "@" + v
		}
		d.input.Requires = append(d.input.Requires, need)
	}
	d.input.Version = d.version
	w.provenance(d)
	return d, nil
}

// ownManifest is the skl.toml in the skill's own folder, empty if there is none.
func (w *world) ownManifest(d *draft) (*manifest.Manifest, error) {
	text, err := fs.ReadFile(d.input.Files, "skl.toml")
	if err != nil {
		return manifest.New(), nil
	}
	return manifest.Parse(text, w.Short(filepath.Join(d.dir, "skl.toml")))
}

// identify decides name and version: the argument, else [package], else metadata.version.
func (d *draft) identify(asked string, own manifest.Package, doc *skill.Document) error {
	name := own.Name
	if asked != "" {
		r, err := ref.Parse(asked)
		if err != nil {
			return err
		}
		if r.Kind != ref.Name || r.Path != "" || r.Skill != "" {
			return diag.New(diag.Misuse, "invalid_ref", "%s is not NS/NAME@VERSION", asked).Hint("skl publish DIR acme/%s@1.0.0", doc.Name)
		}
		name, d.version = r.Owner+"/"+r.Repo, r.Version
	}
	d.version = cmp.Or(d.version, own.Version, doc.Version)
	if name == "" {
		return diag.New(diag.Misuse, "no_name", "under which namespace is %s to be published?", doc.Name).
			Hint("skl publish DIR NS/%s@VERSION", doc.Name).Hint("or in its skl.toml: [package] name = \"NS/%s\"", doc.Name)
	}
	d.namespace, d.name, _ = strings.Cut(name, "/")
	switch {
	case d.name != doc.Name:
		return diag.New(diag.Misuse, "invalid_name", "the skill in SKILL.md is called %q, so it cannot be published as %s", diag.Printable(doc.Name), name).
			Hint("skl publish DIR %s/%s@VERSION", d.namespace, doc.Name)
	case d.version == "":
		return diag.New(diag.Misuse, "no_version", "which version of %s is this?", name).
			Hint("skl publish DIR %s@1.0.0", name).Hint("or in its skl.toml: [package] version = \"1.0.0\"")
	}
	_, err := oci.Tag(d.version)
	return err
}

// publishable refuses what lint calls an error for a publish, and a tree that cannot run, with all findings (exit 3).
func (w *world) publishable(d *draft) error {
	var bad []diag.Finding
	if s, err := tree.Load(d.input.Files, d.name); err == nil {
		bad = slices.DeleteFunc(check.Check(s), func(f diag.Finding) bool { return !check.Blocking(f) })
	}
	for _, f := range skill.Lint(d.input.Files, d.name, skill.LintOptions{Publish: true}) {
		if f.Severity == diag.SeverityError {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	e := diag.New(diag.Unmet, "findings", "%s cannot be published: %s", d.name, bad[0].Message)
	e.Where = diag.Position{File: w.Short(filepath.Join(d.dir, filepath.FromSlash(bad[0].File))), Line: bad[0].Line, Column: bad[0].Column}
	for _, f := range bad {
		e.Candidates = append(e.Candidates, fmt.Sprintf("%s  %s  %s", diag.Position{File: f.File, Line: f.Line, Column: f.Column}, f.Rule, f.Message))
	}
	return e.Hint("skl lint %s", w.Short(d.dir))
}

// provenance adds when and from where, as far as the environment or the repository around the folder says it. Both
// depend on the commit alone, so that a second publish makes the same digest.
func (w *world) provenance(d *draft) {
	if text := w.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		if sec, err := strconv.ParseInt(text, 10, 64); err == nil {
			d.input.Created = time.Unix(sec, 0)
		}
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return
	}
	ask := func(args ...string) string {
		cmd := exec.Command(git, append([]string{"-c", "core.fsmonitor=false", "-C", d.dir}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	stamp, commit, ok := strings.Cut(ask("log", "-1", "--format=%ct %H", "--", "."), " ")
	if !ok || ask("status", "--porcelain", "--", ".") != "" {
		return // not in a repository, or not what a commit says
	}
	if sec, err := strconv.ParseInt(stamp, 10, 64); err == nil && d.input.Created.IsZero() {
		d.input.Created = time.Unix(sec, 0)
	}
	d.input.Annotations = map[string]string{v1.AnnotationRevision: commit}
	if url := ask("remote", "get-url", "origin"); strings.HasPrefix(url, "https://") && !strings.Contains(url, "@") {
		d.input.Annotations[v1.AnnotationSource] = strings.TrimSuffix(url, ".git")
	}
}

// A destination is where a skill is published: a registry of skl's own kind, or any OCI registry.
type destination struct {
	w      *world
	shown  string         // for people
	rest   *client.Client // nil for other OCI registries
	oci    *client.OCI
	host   string
	prefix string // before the namespace, on other OCI registries
}

// destination finds out what --to means.
func (w *world) destination(ctx context.Context, to string) (*destination, error) {
	d := &destination{w: w, oci: client.NewOCI(w.HTTP)}
	d.oci.Progress = w.ui.Progress
	if host, ok := strings.CutPrefix(to, "oci://"); ok {
		d.host, d.prefix, _ = strings.Cut(strings.TrimSuffix(host, "/"), "/")
		d.shown = to
		return d, nil
	}
	if to == "" {
		name, _, ok := w.Config.DefaultRegistry()
		if !ok {
			return nil, diag.New(diag.Misuse, "no_registry", "there is no default registry to publish to").
				Hint("skl login URL --default").Hint("or name one: --to NAME, --to URL, --to oci://HOST")
		}
		to = name
	}
	base, err := w.siteURL(to)
	if err != nil {
		return nil, err
	}
	if d.rest, err = client.New(w.HTTP, base); err != nil {
		return nil, err
	}
	d.shown, d.host = base, d.rest.Host()
	return d, nil
}

func (d *destination) target(namespace, name string) client.Target {
	repo := namespace + "/" + name
	if d.prefix != "" {
		repo = d.prefix + "/" + repo
	}
	return client.Target{Host: d.host, Repo: repo}
}

// installRef is what a person types to install what was published.
func (d *destination) installRef(out publishResult) string {
	if d.rest != nil {
		return out.Name + "@" + out.Version
	}
	namespace, name, _ := strings.Cut(out.Name, "/")
	tag, _ := oci.Tag(out.Version)
	return "oci://" + d.target(namespace, name).String() + ":" + tag
}

// publish stages the skill by digest, attaches its signature, and only then makes it visible.
func (d *destination) publish(ctx context.Context, s *draft, sign signFunc, out *publishResult) error {
	t := d.target(s.namespace, s.name)
	subject := attest.Subject{Name: t.Repo, Version: s.version, Digest: s.built.Root.Digest.String()}
	signature, signer, err := attachSignature(ctx, sign, subject, s.built.Root.Descriptor, s.input.Created)
	if err != nil {
		return err
	}
	if _, err := d.oci.Push(ctx, t, client.ImageOf(s.built), signature...); err != nil {
		return err
	}
	out.Signer = signer
	if d.rest == nil {
		return d.tag(ctx, s.built.Root, t, s.version, out)
	}
	v, created, err := d.rest.Publish(ctx, s.namespace, s.name, s.version, wire.PublishRequest{Manifest: out.Digest})
	if err != nil {
		return err
	}
	out.State, out.Reason, out.Created = v.State, v.Reason, created
	if v.Log != nil {
		out.Log = &logEntry{v.Log.Origin, v.Log.Index}
	}
	out.URLs = given(v.URLs.OCI, v.URLs.Download, v.URLs.Files)
	return nil
}

// tag publishes on a registry that knows nothing of versions: what is there already under the
// tag is left alone unless it is the same.
func (d *destination) tag(ctx context.Context, root oci.Blob, t client.Target, version string, out *publishResult) error {
	tag, err := oci.Tag(version)
	if err != nil {
		return err
	}
	out.State = wire.Approved
	out.URLs = append(out.URLs, "oci://"+t.String()+":"+tag)
	switch have, err := d.oci.Resolve(ctx, t, tag); {
	case err == nil && have.Digest == root.Digest:
		return nil
	case err == nil:
		return diag.New(diag.Refused, "version_exists", "%s:%s is published already with another content", t, tag).Hint("publish it under a new version")
	case !notFound(err):
		return err
	}
	out.Created = true
	return d.oci.Tag(ctx, t, root, tag)
}

// publishImage publishes the mountable form under VERSION-image, signed by the same.
func (d *destination) publishImage(ctx context.Context, s *draft, sign signFunc, out *publishResult) error {
	image, err := oci.BuildImage(s.input)
	if err != nil {
		return err
	}
	t := d.target(s.namespace, s.name)
	subject := attest.Subject{Name: t.Repo, Version: s.version, Digest: image.Root.Digest.String()}
	signature, _, err := attachSignature(ctx, sign, subject, image.Root.Descriptor, s.input.Created)
	if err != nil {
		return err
	}
	if _, err := d.oci.Push(ctx, t, client.ImageOf(image), signature...); err != nil {
		return err
	}
	tag, err := oci.ImageTag(s.version)
	if err != nil {
		return err
	}
	out.URLs = append(out.URLs, "oci://"+t.String()+":"+tag)
	return d.oci.Tag(ctx, t, image.Root, tag)
}
