package resolver

import (
	"cmp"
	"context"
	"regexp"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// CodeSource is the code of a lock entry that is not what its ref means.
const CodeSource = "E_LOCK_SOURCE"

// Agree computes again which source owns the ref of w, and compares s, its entry of a lock, with that:
// source, URL, path, kind, version and pins. A lock is a promise and never a permission, so whatever differs is
// an error of class Refused and code E_LOCK_SOURCE, with the way out as its hint.
//
// It asks nobody where the ref, the configuration or the binding in the manifest say who owns it.
// It asks a marketplace and a collection what they hold, and the default registry for a namespace that
// is not bound. If the answer cannot be had, [Resolver.Undecided] decides. A git or OCI repository is asked for the
// pin of a version that [Resolver.Tags] does not know; if it does not answer, [Resolver.Untagged] decides.
func (rs *Resolver) Agree(ctx context.Context, w Named, s lock.Skill) error {
	if err := s.Whole(); err != nil {
		return err
	}
	return rs.agree(ctx, w, s)
}

// agree is Agree for entries whose bundle was perhaps not fetched yet.
func (rs *Resolver) agree(ctx context.Context, w Named, s lock.Skill) error {
	place, err := rs.Locate(ctx, w.Ref)
	if err != nil {
		return rs.undecided(w, s, err)
	}
	if place.Ref.Kind == ref.OCI && place.Ref.Skill != "" && s.Source == "oci" && s.URL != place.url() {
		if err := rs.member(ctx, w, s); err != nil {
			return rs.undecided(w, s, err)
		}
		place.Ref.Host, place.Ref.Owner, place.Ref.Repo = "", "", s.URL
	}
	member := place.Ref.Kind == ref.OCI && place.Ref.Skill != "" // of a collection, which may have gone on
	for _, check := range []func(Place, Named, lock.Skill) *difference{differsPlace, differsPins, differsVersion} {
		if d := check(place, w, s); d != nil {
			return diag.Located(d.err(w, s), w.Where)
		}
	}
	rs.Follows(w, s)
	if member {
		return nil
	}
	return diag.Located(rs.agreeTag(ctx, place, w, s), w.Where)
}

// undecided asks who uses the resolver what becomes of an entry whose owner could not be found out. One that this project was seen to
// get by its ref is what it was then: that a marketplace is gone takes no skill away.
func (rs *Resolver) undecided(w Named, s lock.Skill, err error) error {
	if diag.ClassOf(err) == diag.Refused {
		return diag.Located(err, w.Where)
	}
	if rs.Undecided != nil {
		err = rs.Undecided(w, rs.Tags != nil && rs.Tags.Here(followed(w, s)) != "", err)
	}
	return diag.Located(err, w.Where)
}

// Follows notes that the release of s is what the ref of w means, where somebody had to be asked who owns it: [Resolver.Agree] believes that
// later, where nobody answers.
func (rs *Resolver) Follows(w Named, s lock.Skill) {
	if rs.Tags != nil && (w.Ref.Kind == ref.Market || w.Ref.Kind == ref.Name || w.Ref.Kind == ref.OCI && w.Ref.Skill != "") {
		rs.Tags.Use(followed(w, s), "asked")
	}
}

// followed is the key of a release that a ref means.
func followed(w Named, s lock.Skill) Tagged {
	return Tagged{URL: w.Ref.String(), Name: s.Source + " " + s.URL + " " + s.Path, Version: cmp.Or(identity(s), string(s.Commit), string(s.Manifest), s.Version)}
}

// member checks that the collection of w leads to the repository that s names.
func (rs *Resolver) member(ctx context.Context, w Named, s lock.Skill) error {
	now, err := rs.Choose(ctx, w)
	if err != nil {
		return err
	}
	if now.URL != s.URL {
		return (&difference{"url", s.URL, now.URL}).err(w, s)
	}
	return nil
}

// A difference is one field of a lock entry that is not what was computed.
type difference struct{ field, locked, computed string }

func (d *difference) err(w Named, s lock.Skill) error {
	e := diag.New(diag.Refused, CodeSource, "skl.lock has %s %s for %s, and %s means %s", d.field, quoted(d.locked), s.Name, w.Ref, quoted(d.computed))
	return e.Hint("see who changed it: git diff skl.lock").Hint("if %s moved: skl lock --upgrade %s", w.Ref.WithoutVersion(), s.Name)
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return `"` + diag.Printable(s) + `"`
}

// sources are the names in a lock of the kinds of place.
var sources = map[ref.Kind]string{ref.Git: "git", ref.Local: "local", ref.OCI: "oci", ref.Embedded: "embedded", ref.Name: "registry"}

// url is the URL that lock entries of the place have.
func (p Place) url() string {
	switch p.Ref.Kind {
	case ref.Local:
		return p.Ref.Path
	case ref.OCI:
		if p.Ref.Host == "" {
			return p.Ref.Repo // of a member, which its collection named
		}
		return "oci://" + p.Ref.Host + "/" + p.Ref.Repository()
	case ref.Embedded:
		return ""
	}
	return p.Ref.URL
}

// differsPlace compares where the release comes from.
func differsPlace(p Place, w Named, s lock.Skill) *difference {
	if want := w.Ref.String(); s.Ref != want {
		return &difference{"ref", s.Ref, want}
	}
	if want := sources[p.Ref.Kind]; s.Source != want {
		return &difference{"source", s.Source, want}
	}
	if want := p.url(); s.URL != want {
		return &difference{"url", s.URL, want}
	}
	if s.Skill != w.Skill {
		return &difference{"skill", s.Skill, w.Skill}
	}
	switch p.Ref.Kind {
	case ref.Name:
		if s.Called() != p.Ref.Repo {
			return &difference{"name", s.Called(), p.Ref.Repo}
		}
		fallthrough
	case ref.OCI:
		if s.Path != "" {
			return &difference{"path", s.Path, ""}
		}
	case ref.Embedded:
		if s.Path != s.Called() || p.Ref.Skill != "" && s.Path != p.Ref.Skill {
			return &difference{"path", s.Path, s.Called()}
		}
	case ref.Git:
		if !below(s.Path, p.Ref.Path) || p.Has != nil && !p.Has(s.Path) {
			return &difference{"path", s.Path, p.Ref.Path}
		}
	}
	if skill := p.Ref.Skill; skill != "" && s.Called() != skill {
		return &difference{"name", s.Called(), skill}
	}
	return nil
}

// below reports whether path is dir or inside of it.
func below(path, dir string) bool {
	return dir == "" || path == dir || strings.HasPrefix(path, dir+"/")
}

// differsPins checks that s has the pins of its source, and no others.
func differsPins(p Place, w Named, s lock.Skill) *difference {
	pins := []struct {
		field, value string
		need, may    bool
	}{
		{"commit", string(s.Commit), s.Source == "git", false},
		{"manifest", string(s.Manifest), s.Source == "oci" || s.Source == "registry", false},
		{"artifact", string(s.Artifact), s.Source == "registry", s.Source == "oci" || s.Source == "local"},
	}
	for _, pin := range pins {
		switch {
		case pin.need && pin.value == "":
			return &difference{pin.field, "", "a digest that pins it"}
		case !pin.need && !pin.may && pin.value != "":
			return &difference{pin.field, pin.value, ""}
		}
	}
	if p.Ref.Kind == ref.OCI && p.Ref.Skill == "" && p.Ref.Digest != "" && s.Manifest != p.Ref.Digest {
		return &difference{"manifest", string(s.Manifest), string(p.Ref.Digest)}
	}
	if s.Signer != nil && s.Source != "oci" && s.Source != "registry" && (s.Source != "git" || s.Signer.Kind != "ssh" && s.Signer.Kind != "oms") {
		return &difference{"a signer", "", ""}
	}
	if s.Log != nil && s.Source != "registry" {
		return &difference{"a log proof", "", ""}
	}
	return nil
}

// pseudo is the version of a commit that has none.
var pseudo = regexp.MustCompile(`^0\.0\.0-[0-9]{14}-([0-9a-f]{12})$`)

// differsVersion compares kind and version with what w asks for, and a version that is made of a commit with that commit.
func differsVersion(p Place, w Named, s lock.Skill) *difference {
	if want := kinds(p, w, s); want[0] != s.RefKind && want[len(want)-1] != s.RefKind {
		return &difference{"ref_kind", string(s.RefKind), string(want[0])}
	}
	if w.Kind != "" && !Satisfies(s, w.Ref.Version, w.Kind) {
		return &difference{"version", s.Version, w.Ref.Version}
	}
	if s.Source != "git" {
		return nil
	}
	made := pseudo.FindStringSubmatch(s.Version)
	switch {
	case s.Version == "":
		return &difference{"version", "", "one of a tag or of its commit"}
	case made != nil && made[1] != s.Commit.Short():
		return &difference{"version", s.Version, "0.0.0-<time>-" + s.Commit.Short()}
	case made == nil && s.RefKind != lock.Range && s.RefKind != lock.Tag:
		return &difference{"version", s.Version, "0.0.0-<time>-" + s.Commit.Short()}
	case made != nil && s.RefKind == lock.Range:
		return &difference{"version", s.Version, "one of a tag"}
	}
	return nil
}

// kinds are the kinds that the entry of w can have, one or two.
func kinds(p Place, w Named, s lock.Skill) []lock.RefKind {
	switch {
	case w.Kind != "":
		return []lock.RefKind{w.Kind}
	case p.Ref.Kind == ref.Local:
		return []lock.RefKind{""}
	case p.Ref.Kind == ref.OCI && p.Ref.Digest != "":
		return []lock.RefKind{lock.Commit}
	case p.Commit != "":
		return []lock.RefKind{lock.Default}
	case p.Ref.Kind == ref.Git && pseudo.MatchString(s.Version):
		return []lock.RefKind{lock.Default}
	case p.Ref.Kind == ref.OCI && s.Version == "":
		return []lock.RefKind{lock.Default}
	case p.Ref.Kind == ref.OCI && p.Ref.Version == "":
		return []lock.RefKind{lock.Range, lock.Default} // "latest" may say its version
	}
	return []lock.RefKind{lock.Range}
}
