package roots

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A discovery is one search over all roots.
type discovery struct {
	cfg      Config
	records  []*Record
	byReal   map[string]*Record // the record of each real directory
	caches   map[*place]Cache
	escaped  []*Record // links out of the project, until the other roots are known
	strays   []spotted
	warnings []Warning
}

type spotted struct {
	place *place
	stray
}

// searchPlace finds the candidates of one root.
func (d *discovery) searchPlace(p *place) {
	if p.Scope == ScopeSystem {
		d.searchSystem(p)
		return
	}
	if p.real == "" {
		return
	}
	boundary := ""
	if p.Scope == ScopeProject {
		boundary, _ = filepath.EvalSymlinks(d.cfg.Project)
	}
	found, s, err := search(p.Path, p.real, boundary)
	if err != nil {
		p.State = RootUnreadable
		return
	}
	d.warnings = append(d.warnings, s.warnings...)
	for _, st := range s.strays {
		d.strays = append(d.strays, spotted{p, st})
	}
	if len(found) > 0 {
		d.caches[p] = LoadCache(p.Path)
	}
	for _, c := range found {
		d.add(p, c)
	}
}

// add makes a record of c, or an alias of the record that has the same directory.
func (d *discovery) add(p *place, c candidate) {
	r := &Record{place: p, spots: []spot{{p, c.rel, c.depth}}, Path: c.real, isSkip: c.escaped}
	switch {
	case c.disabled:
		r.State = Disabled
	case p.State == RootUntrusted, c.escaped:
		r.State = Untrusted
	}
	if c.escaped {
		d.escaped = append(d.escaped, r)
		return
	}
	first := d.byReal[c.real]
	if first == nil || first.State == Untrusted && r.State == "" {
		// A link that the user made to a folder of an untrusted project is the user's word for that folder.
		if first != nil {
			r.spots = append(r.spots, first.spots...)
			d.records = slices.DeleteFunc(d.records, func(other *Record) bool { return other == first })
		}
		d.byReal[c.real] = r
		d.records = append(d.records, r)
		return
	}
	first.spots = append(first.spots, r.spots...)
}

// foldEscaped makes aliases of those links out of the project that lead to a
// copy in another root, and keeps the others as copies that are not followed.
func (d *discovery) foldEscaped() {
	for _, r := range d.escaped {
		if first := d.byReal[r.Path]; first != nil {
			first.spots = append(first.spots, r.spots...)
			continue
		}
		d.records = append(d.records, r)
	}
	for _, s := range d.strays {
		target := filepath.Join(s.place.real, filepath.FromSlash(path.Dir(s.rel)), filepath.FromSlash(s.target))
		if r := d.byReal[target]; r != nil {
			r.Warnings = append(r.Warnings, Warning{"E_LINK", "the link " + d.cfg.show(s.place.Scope, filepath.Join(s.place.Path, filepath.FromSlash(s.rel))) + " became a file that holds its text"})
		}
	}
}

func (d *discovery) searchSystem(p *place) {
	entries, err := fs.ReadDir(d.cfg.System, ".")
	if err != nil {
		p.State = RootUnreadable
		return
	}
	for _, e := range entries {
		if _, err := fs.Stat(d.cfg.System, path.Join(e.Name(), skillFile)); err == nil {
			d.records = append(d.records, &Record{place: p, spots: []spot{{p, e.Name(), 1}}, Path: "skl:" + e.Name()})
		}
	}
}

// inspectAll reads what the caches do not know, in parallel.
func (d *discovery) inspectAll(ctx context.Context) error {
	inParallel(len(d.records), func(s *scanner, i int) {
		r := d.records[i]
		p, rel := r.place, r.spots[0].rel
		switch {
		case ctx.Err() != nil || r.isSkip:
		case p.Scope == ScopeSystem:
			r.found = readFS(d.cfg.System, rel)
		default:
			known, ok := d.caches[p].lookup(p.Path, rel, r.Path)
			if !ok {
				known = inspect(s, p.Path, rel, r.Path).finding
			}
			r.found = known
		}
	})
	return ctx.Err()
}

// describe fills in what each record says of itself, and sorts them by name and strength.
func (d *discovery) describe() []*Record {
	for _, r := range d.records {
		d.describeOne(r)
	}
	slices.SortFunc(d.records, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.place.index, b.place.index), cmp.Compare(a.Path, b.Path))
	})
	return d.records
}

func (d *discovery) describeOne(r *Record) {
	f, p, own := &r.found, r.place, r.spots[0]
	dir := path.Base(own.rel)
	r.Name = f.name
	if r.Name == "" {
		r.Name = dir
	}
	r.key = nameKey(r.Name)
	r.Description, r.Version, r.Format, r.Digest, r.GeneratedFrom = f.description, f.version, f.format, f.tree, f.generatedFrom
	r.Root, r.Scope, r.Priority, r.Trust = p.ID, p.Scope, p.Priority, weaker(p.TrustCeiling, f.trust)
	r.Shadows, r.Hosts = []string{}, []HostUse{}
	if p.Scope != ScopeSystem {
		r.Path = filepath.Join(p.Path, filepath.FromSlash(own.rel))
	}
	r.Qualified = r.Name + "@" + p.Scope
	if p.ID != p.Scope || own.rel != r.Name {
		r.Qualified += ":" + d.cfg.show(p.Scope, r.Path)
	}
	if receipt, ok := f.receipt(); ok {
		r.Source, r.Version = f.source, cmp.Or(f.receiptVersion, f.version)
		r.Signature = d.signature(r.Name, receipt)
	}
	r.Warnings = append(append([]Warning{}, f.notes...), r.Warnings...)
	r.judge(dir)
	if r.State == "" && d.cfg.Gate != nil {
		if why := d.cfg.Gate(r.Name, r.Path); why != "" {
			r.State = Gated
			r.warn("W_GATED", why)
		}
	}
	if r.State == "" {
		r.State = Active
	}
	for _, alias := range r.spots[1:] {
		r.warn("W_ALIAS", d.cfg.show(alias.place.Scope, filepath.Join(alias.place.Path, filepath.FromSlash(alias.rel)))+" is the same directory")
	}
}

// judge sets the state that follows from the copy itself.
func (r *Record) judge(dir string) {
	f := &r.found
	switch {
	case r.isSkip:
		r.warn("W_SYMLINK_ESCAPE", "the link leads out of the project and is not followed")
	case f.state != "" && r.State != Disabled && !(f.state == Gated && r.State == Untrusted):
		r.State = f.state
	}
	if f.code != "" {
		r.warn(f.code, f.problem)
	}
	if f.name != "" && f.name != dir && f.code != "E_NAME_PATH" {
		r.warn("W_NAME_DIR", "the name differs from its directory "+diag.Printable(dir)+"; hosts disagree about what it is called")
	}
	if len(f.nested) > 0 {
		r.warn("W_NESTED", "another skill is inside, which not every host finds: "+few(f.nested))
	}
	if isBuiltin(r.key) {
		r.warn("W_BUILTIN_COMMAND", "/"+r.key+" is a command of some hosts, which may come first")
	}
}

func (r *Record) warn(code, message string) {
	r.Warnings = append(r.Warnings, Warning{code, message})
}

func (d *discovery) signature(name string, receipt Receipt) *Signature {
	if d.cfg.Signed != nil {
		receipt.Name = name
		s := d.cfg.Signed(name, receipt)
		return &s
	}
	if receipt.Signer == nil {
		return &Signature{State: "unsigned"}
	}
	return &Signature{State: "skipped", Signer: strings.TrimSpace(cmp.Or(receipt.Signer.Identity, receipt.Signer.Key))}
}

// weaker returns the lower of two levels of trust. A level that is not
// declared caps nothing.
func weaker(ceiling, declared string) string {
	levels := []string{"local", ScopeProject, ScopeUser, ScopePackage, ScopeManaged}
	if i := slices.Index(levels, declared); i >= 0 && i < slices.Index(levels, ceiling) {
		return declared
	}
	return ceiling
}
