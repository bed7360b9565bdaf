package roots

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/skill"
)

// A discovery is one search over all roots.
type discovery struct {
	cfg      Config
	records  []*Record
	byReal   map[string]*Record // the record of each real directory
	caches   map[*place]Cache
	found    map[*place][]candidate // what is in each root
	escaped  []*Record              // links out of the project, until the other roots are known
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
	s := &searcher{root: p.Path, aliases: p.aliases, boundary: boundary, linked: d.cfg.Linked}
	found, err := s.search(p.real)
	if err != nil {
		p.State = RootUnreadable
		return
	}
	p.isWhole = s.isWhole
	d.warnings = append(d.warnings, s.warnings...)
	for _, st := range s.strays {
		d.strays = append(d.strays, spotted{p, st})
	}
	if len(found) > 0 && d.cfg.Caches != "" {
		d.caches[p], d.found[p] = d.cfg.Caches.load(p.real), found
	}
	for _, c := range found {
		d.add(p, c)
	}
}

// add makes a record of c, or an alias of the record that has the same directory.
func (d *discovery) add(p *place, c candidate) {
	r := &Record{place: p, first: p, spots: []spot{{p, c.rel}}, Path: c.real, isSkip: c.escaped, isLinked: c.linked, skillFile: c.skillFile}
	r.throughLink = !c.disabled && c.real != filepath.Join(p.real, filepath.FromSlash(c.rel))
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
	if first != nil && first.throughLink && !r.throughLink && first.place.Scope == p.Scope && first.State == r.State {
		first.place, first.spots = p, append(r.spots, first.spots...) // where it lies, and its receipt
		first.Path, first.throughLink = r.Path, false
		return
	}
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
			d.records = append(d.records, &Record{place: p, first: p, spots: []spot{{p, e.Name()}}, Path: "skl:" + e.Name()})
		}
	}
}

// inspectAll reads what the caches do not know, in parallel.
func (d *discovery) inspectAll(ctx context.Context) error {
	began := time.Now().UnixNano()
	read := make([]*cached, len(d.records)) // nil for what the caches know
	inParallel(len(d.records), func(s *scanner, i int) {
		r := d.records[i]
		p, rel := r.place, r.spots[0].rel
		switch {
		case ctx.Err() != nil:
		case r.isSkip:
			r.found = glance(r.Path)
		case p.Scope == ScopeSystem:
			r.found = readFS(d.cfg.System, rel)
		default:
			known, ok := d.caches[p].lookup(p.Path, candidate{rel: rel, real: r.Path, skillFile: r.skillFile})
			if !ok {
				c := inspect(s, p.Path, rel, r.Path, d.cfg.own(p.Scope))
				read[i], known = &c, c.finding
			}
			r.found = known
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	for p := range d.found {
		d.keep(p, began, read)
	}
	return nil
}

// keep writes what is known of the skills in p to their cache, if that is not what
// it holds. read holds what was read of each record since began. It never
// waits: what is too young to be trusted is read again next time.
func (d *discovery) keep(p *place, began int64, read []*cached) {
	old := d.caches[p]
	next := Cache{written: began, skills: make(map[string]cached)}
	for _, c := range d.found[p] {
		if k, ok := old.skills[c.rel]; ok {
			next.skills[c.rel] = k
		}
	}
	isNew := len(next.skills) < len(old.skills)
	for i, r := range d.records {
		rel, k := r.spots[0].rel, read[i]
		switch _, had := next.skills[rel]; {
		case r.place != p || k == nil:
		case k.stamps != nil && next.settled(k.youngest()):
			next.skills[rel], isNew = *k, true
		case had:
			delete(next.skills, rel)
			isNew = true
		}
	}
	if !isNew {
		return
	}
	_ = d.cfg.Caches.write(p.real, next) // without it the next search is slower, no more
}

// describe fills in what each record says of itself, and sorts them by name and strength.
func (d *discovery) describe() []*Record {
	for _, r := range d.records {
		d.describeOne(r)
	}
	order.Sort(d.records, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.first.index, b.first.index), cmp.Compare(a.Path, b.Path))
	})
	return d.records
}

func (d *discovery) describeOne(r *Record) {
	f, p, own := &r.found, r.place, r.spots[0]
	dir := path.Base(own.rel)
	r.Name = f.name
	if r.Name == "" || r.isSkip {
		r.Name = dir
	}
	r.ownKey = skill.NameKey(r.Name)
	if d.isNamed(r) {
		if f.name != "" && f.name != dir {
			r.OwnName = f.name
		}
		r.Name = dir
	}
	r.key = skill.NameKey(r.Name)
	r.ModelInvocation, r.Tools = f.invocation, f.tools
	if r.ModelInvocation == string(skill.Auto) {
		r.ModelInvocation = ""
	}
	if f.effects != "" {
		r.SideEffects = strings.Split(f.effects, ",")
	}
	needs := f.needs()
	for _, d := range needs {
		r.LibraryDepends = append(r.LibraryDepends, d.String())
	}
	r.Description, r.Version, r.Format, r.Digest, r.GeneratedFrom = f.description, f.version, f.format, f.tree, f.generatedFrom
	r.Root, r.Scope, r.Priority = p.ID, p.Scope, p.Priority
	r.Shadows, r.Hosts = []string{}, []HostUse{}
	if p.Scope != ScopeSystem {
		r.Path = filepath.Join(p.Path, filepath.FromSlash(own.rel))
	}
	r.Qualified = r.Name + "@" + p.Scope
	if r.where = r.Qualified + ":" + d.cfg.show(p.Scope, r.Path); p.ID != p.Scope || own.rel != r.Name {
		r.Qualified = r.where
	}
	if receipt, ok := f.receipt(); ok {
		r.Source, r.Version = f.source, cmp.Or(f.receiptVersion, f.version)
		if r.Signature = d.signature(r.Name, receipt); !r.pinned() && r.Signature.State == "verified" {
			r.Signature.State = "skipped" // it was edited, and others' files are not these
		}
	}
	r.level()
	r.Warnings = append(append([]Warning{}, f.notes...), r.Warnings...)
	r.judge(dir)
	if r.State == "" && d.cfg.Gate != nil && len(needs) > 0 {
		if why := d.cfg.Gate(needs, r.Path); why != "" {
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

// isNamed reports whether a person gave r the name of its directory: skl.toml, a receipt or a link that skl made says so.
func (d *discovery) isNamed(r *Record) bool {
	own := r.spots[0]
	at := filepath.Join(own.place.Path, filepath.FromSlash(own.rel))
	_, linked := d.cfg.Linked[at]
	return !r.isSkip && own.place.Scope != ScopeSystem && (r.hasReceipt() || linked || slices.Contains(d.cfg.Named, at))
}

// judge sets the state that follows from the copy itself.
func (r *Record) judge(dir string) {
	f := &r.found
	switch {
	case r.isSkip:
		r.warn("W_SYMLINK_ESCAPE", "the link leads out of the project and is not followed")
	case f.code == codeNamePath && r.OwnName != "":
		// it has the name of its directory
	case f.state != "" && r.State != Disabled && !(f.state == Gated && r.State == Untrusted):
		r.State = f.state
	}
	if f.code != "" && (f.code != codeNamePath || r.OwnName == "") {
		r.warn(f.code, f.problem)
	}
	switch {
	case r.isSkip:
	case r.OwnName != "":
		r.warn("W_NAME_DIR", "its SKILL.md says "+diag.Printable(f.name)+", which is what agents call it that do not go by the directory")
	case f.name != "" && f.name != dir && f.code != codeNamePath:
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

// own is Own, which may be nil.
func (c *Config) own(scope string) Own {
	if c.Own == nil {
		return nil
	}
	return c.Own(scope)
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

// level computes the trust in r: what its place gives, less for files that were changed since they were installed, more for a
// release that somebody stands for whom this machine verified, and never more than the skill itself claims.
func (r *Record) level() {
	r.Trust = r.place.TrustCeiling
	switch receipt, installed := r.found.receipt(); {
	case r.Trust == ScopeManaged:
	case installed && receipt.Tree != "" && !r.pinned():
		r.Trust, r.TrustReason = "local", "its files differ from what was installed"
	case r.throughLink && !installed:
		r.Trust, r.TrustReason = "local", "it is a link to a folder"
	case installed && r.Signature != nil && r.Signature.Stands != "":
		r.Trust, r.TrustReason = Raised(r.Trust, r.Signature.Stands)
	}
	if lower := Lower(r.Trust, r.found.trust); lower != r.Trust {
		r.Trust, r.TrustReason = lower, "it claims no more (trust: "+lower+")"
	}
}

// Raised is the level of a release for which somebody stands, who is named by stands, at a place that gives level, and why it is not that.
func Raised(level, stands string) (raised, why string) {
	if stands == "" || Lower(ScopePackage, level) == ScopePackage {
		return level, ""
	}
	return ScopePackage, stands
}

// Lower returns the lower of two levels of trust. A level that is not
// declared caps nothing.
func Lower(ceiling, declared string) string {
	levels := []string{"local", ScopeProject, ScopeUser, ScopePackage, ScopeManaged}
	if i := slices.Index(levels, declared); i >= 0 && i < slices.Index(levels, ceiling) {
		return declared
	}
	return ceiling
}
