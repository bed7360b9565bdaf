package oci

import (
	"io"
	"path"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Opener opens the content of a layer. It is closed by who asked for it.
type Opener func(layer v1.Descriptor) (Content, error)

// Unpack streams the skill in a's Layers to sink, which is a [bundle.Guard] where a bundle is stored or
// judged. Paths start in the directory of the skill. Nothing reaches sink before
// all layers were read once, so that what is outside the skill, whiteouts and a second
// skill are refused early.
func (a *Artifact) Unpack(open Opener, sink bundle.Sink) error {
	if a.index || len(a.Layers) == 0 {
		return diag.New(diag.Misuse, CodeNotSkill, "an index has no files of its own")
	}
	if a.raw {
		return a.unpackRaw(open, sink)
	}
	layers := make([]*layer, 0, len(a.Layers))
	defer func() {
		for _, l := range layers {
			l.content.Close()
		}
	}()
	found := survey{last: map[string]int{}}
	for i, d := range a.Layers {
		content, err := open(d)
		if err != nil {
			return err
		}
		l := &layer{content: content, format: layerFormat(d.MediaType)}
		layers = append(layers, l)
		if content.Size() != d.Size {
			return refuse(CodeDigest, "layer %s does not have the %d bytes its manifest says", d.Digest, d.Size)
		}
		var scan scanner
		l.top, err = l.unpack(&scan)
		if err != nil {
			return err
		}
		if err := found.add(i, l.top, scan.paths); err != nil {
			return err
		}
	}
	root, err := found.root(a.ordinary)
	if err != nil {
		return err
	}
	for i, l := range layers {
		if _, err := l.unpack(&rooted{layer: i, top: l.top, root: root, last: found.last, next: sink}); err != nil {
			return err
		}
	}
	return nil
}

// SkillFile returns the text of the skill's SKILL.md and of its SKILL.json, nil if there is none, at most the first limit bytes of
// each, and the Summary of its files.
// It judges the whole skill by the rules of a [bundle.Guard] with the limits given.
func (a *Artifact) SkillFile(open Opener, limit int64, limits bundle.Limits) (text, sidecar []byte, sum bundle.Summary, err error) {
	keep := keeper{limit: limit}
	g := bundle.NewGuard(&keep, limits)
	if err := a.Unpack(open, g); err != nil {
		return nil, nil, bundle.Summary{}, err
	}
	if sum, err = g.Close(); err != nil {
		return nil, nil, bundle.Summary{}, err
	}
	return keep.text, keep.sidecar, sum, nil
}

// A keeper is a Sink that keeps SKILL.md and SKILL.json and drops the rest.
type keeper struct {
	limit         int64
	text, sidecar []byte
}

func (k *keeper) File(p string, _ bool, _ int64, r io.Reader) (err error) {
	switch p {
	case skill.FileName:
		k.text, err = io.ReadAll(io.LimitReader(r, k.limit))
	case skill.SidecarName:
		k.sidecar, err = io.ReadAll(io.LimitReader(r, k.limit))
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return err
}

func (*keeper) Link(string, string) error { return nil }

type layer struct {
	content Content
	format  bundle.Format
	top     string
}

func (l *layer) unpack(sink bundle.Sink) (top string, err error) {
	return bundle.Unpack(l.content, l.content.Size(), l.format, sink)
}

// A scanner is a Sink that notes paths.
type scanner struct{ paths []string }

func (s *scanner) File(p string, _ bool, _ int64, _ io.Reader) error {
	s.paths = append(s.paths, p)
	return nil
}

func (s *scanner) Link(p, _ string) error {
	s.paths = append(s.paths, p)
	return nil
}

// A survey knows the paths of all layers as they are stored, each with the last layer that has it.
type survey struct{ last map[string]int }

func (s *survey) add(layer int, top string, paths []string) error {
	for _, p := range paths {
		p = path.Join(top, p)
		if base := path.Base(p); strings.HasPrefix(base, ".wh.") {
			return refuse(CodeWhiteout, "a layer deletes files of another with %s", quoted(p)).
				Hint("the publisher can squash the image into one layer")
		}
		s.last[p] = layer
	}
	if len(s.last) > bundle.MaxArchiveEntries {
		return refuse(bundle.CodeTooMany, "the layers have more than %d entries, the limit", bundle.MaxArchiveEntries)
	}
	return nil
}

// root is the directory of the SKILL.md nearest to the root, "" if that is the root itself.
func (s *survey) root(lenient bool) (string, error) {
	best, depth, equals := "", -1, 0
	for p := range s.last {
		if path.Base(p) != skill.FileName {
			continue
		}
		switch d := strings.Count(p, "/"); {
		case depth < 0 || d < depth:
			best, depth, equals = p, d, 1
		case d == depth:
			best, equals = min(best, p), equals+1
		}
	}
	switch {
	case depth < 0:
		return "", refuse(bundle.CodeNoSkillMD, "the artifact has no %s", skill.FileName)
	case equals > 1:
		return "", refuse(CodeTwoSkills, "the artifact has %d skills at the same depth, %s is one of them; one is expected", equals, quoted(best))
	}
	root := strings.TrimSuffix(strings.TrimSuffix(best, skill.FileName), "/")
	if root != "" && !lenient {
		outside := ""
		for p := range s.last {
			if !strings.HasPrefix(p, root+"/") && (outside == "" || p < outside) {
				outside = p
			}
		}
		if outside != "" {
			return "", refuse(CodeOutside, "the skill is in %s, and %s is outside of it", quoted(root), quoted(outside))
		}
	}
	return root, nil
}

// A rooted Sink gives next what of one layer is in the skill and not replaced by a later layer.
type rooted struct {
	layer     int
	top, root string
	last      map[string]int
	next      bundle.Sink
}

// path is where the skill has p, ok=false for what it has not.
func (r *rooted) path(p string) (string, bool) {
	p = path.Join(r.top, p)
	if r.last[p] != r.layer {
		return "", false
	}
	if r.root == "" {
		return p, true
	}
	return strings.CutPrefix(p, r.root+"/")
}

func (r *rooted) File(p string, executable bool, size int64, body io.Reader) error {
	if p, ok := r.path(p); ok {
		return r.next.File(p, executable, size, body)
	}
	return nil
}

func (r *rooted) Link(p, target string) error {
	if p, ok := r.path(p); ok {
		return r.next.Link(p, target)
	}
	return nil
}

// unpackRaw takes each layer as the file that its title names. Nothing says which of them
// can be executed, so none can.
func (a *Artifact) unpackRaw(open Opener, sink bundle.Sink) error {
	found := survey{last: map[string]int{}}
	for i, l := range a.Layers {
		title := l.Annotations[v1.AnnotationTitle]
		if err := bundle.CheckPath(title); err != nil {
			return err
		}
		if _, twice := found.last[title]; twice {
			return refuse(bundle.CodeDuplicate, "two layers are the file %s", quoted(title))
		}
		if err := found.add(i, "", []string{title}); err != nil {
			return err
		}
	}
	root, err := found.root(false)
	if err != nil {
		return err
	}
	for _, l := range a.Layers {
		title := l.Annotations[v1.AnnotationTitle]
		if root != "" {
			title = strings.TrimPrefix(title, root+"/")
		}
		if err := rawFile(open, l, title, sink); err != nil {
			return err
		}
	}
	return nil
}

func rawFile(open Opener, l v1.Descriptor, title string, sink bundle.Sink) error {
	content, err := open(l)
	if err != nil {
		return err
	}
	defer content.Close()
	if content.Size() != l.Size {
		return refuse(CodeDigest, "layer %s does not have the %d bytes its manifest says", l.Digest, l.Size)
	}
	return sink.File(title, false, l.Size, io.NewSectionReader(content, 0, l.Size))
}
