package author

import (
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/skill"
)

// A sight is what can be told of what a skill does, and of skills that it requires.
type sight struct {
	asks     audit.Set
	hosts    map[string]bool
	hidden   map[string]int // characters, by file; none is left out
	veiled   map[string]int // places at which text is not shown, by file
	findings []content.Finding
	requires []string
	needs    map[string]string // where the skills that it requires are from, by name; a name alone if nothing says
	obeyed   map[string]string // digests of the files on which programs or agents may act by themselves
}

func sightOf(t trees.Tree) sight {
	s := sight{asks: t.Asks().Set(), hosts: urls(t), hidden: map[string]int{}, veiled: map[string]int{}, findings: t.Findings(), needs: map[string]string{}, obeyed: map[string]string{}}
	for name, f := range t {
		if obeyed(name, f) {
			s.obeyed[name] = author.Sum(f.Data)
		}
		if n := veiled(name, f); n > 0 {
			s.veiled[name] = n
		}
		if n := hidden(f); n > 0 {
			s.hidden[name] = n
		}
	}
	doc, err := skill.Read(t[skill.FileName].Data)
	if err == nil {
		s.requires = doc.Required()
	}
	needs, err := resolver.Needs(t[resolver.OwnManifest].Data, t[resolver.APMManifest].Data, doc)
	if err != nil { // whoever installs it is told
		s.needs["unreadable"] = "unreadable"
	}
	for i := range needs {
		s.needs[needs[i].Name] = needs[i].Name
		if needs[i].Placed() {
			s.needs[needs[i].Name] = needs[i].Want.Ref.String()
		}
	}
	return s
}

// A plannedSkill is one of a plan before and after.
type plannedSkill struct {
	*placed
	was, now sight
}

// closure are the other skills of a plan that one requires, and those that these require, in the order in which they are met.
func closure(name string, of map[string]sight) (out []string) {
	seen := map[string]bool{name: true}
	queue := []string{name}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, needs := range of[next].requires {
			if _, planned := of[needs]; planned && !seen[needs] {
				seen[needs] = true
				out, queue = append(out, needs), append(queue, needs)
			}
		}
	}
	return out
}

// reach is what a skill does with the skills of the plan that it requires.
func reach(name string, of map[string]sight) sight {
	own := of[name]
	all := sight{asks: slices.Clone(own.asks), hosts: map[string]bool{}, hidden: map[string]int{}, veiled: map[string]int{}, findings: slices.Clone(own.findings), needs: map[string]string{}, obeyed: map[string]string{}}
	add := func(s sight, below string) {
		for host := range s.hosts {
			all.hosts[host] = true
		}
		for file, n := range s.hidden {
			all.hidden[below+file] = n
		}
		for file, n := range s.veiled {
			all.veiled[below+file] = n
		}
		for file, sum := range s.obeyed {
			all.obeyed[below+file] = sum
		}
		for other, from := range s.needs {
			if _, planned := of[other]; !planned || from != other {
				all.needs[other] = from
			}
		}
	}
	add(own, "")
	has := map[audit.Permission]bool{}
	for _, p := range own.asks {
		has[p] = true
	}
	for _, other := range closure(name, of) {
		s := of[other]
		for _, p := range s.asks {
			if !has[p] {
				has[p], all.asks = true, append(all.asks, p)
			}
		}
		all.findings = append(all.findings, s.findings...)
		add(s, other+"/")
	}
	return all
}

// compareAll compares what the skills of a plan do, each with those of the plan that it requires: what moves from a skill to one that it
// requires then is nothing new. A new skill that another one of the plan requires does nothing that this is not asked about.
func (g gains) compareAll(all []plannedSkill) {
	was, now, required := map[string]sight{}, map[string]sight{}, map[string]bool{}
	for _, s := range all {
		if !s.IsNew() {
			was[s.Name] = s.was
		}
		now[s.Name] = s.now
	}
	for name := range was {
		for _, other := range closure(name, now) {
			required[other] = true
		}
	}
	for _, s := range all {
		if !s.IsNew() || !required[s.Name] {
			g.compare(reach(s.Name, was), reach(s.Name, now))
		}
	}
}

// lost are the sentences that no skill of a plan has any more which the one that had them could read: itself and those that it requires.
func lost(all []plannedSkill) ([]skill.Loss, error) {
	now, texts := map[string]sight{}, map[string]*author.Text{}
	for _, s := range all {
		now[s.Name], texts[s.Name] = s.now, author.TextOf(s.FS())
	}
	out := []skill.Loss{}
	for _, s := range all {
		var with []*author.Text
		for _, name := range closure(s.Name, now) {
			with = append(with, texts[name])
		}
		for _, name := range s.now.requires { // one that the plan leaves as it is
			dir := filepath.Join(filepath.Dir(s.dir), name)
			if _, planned := now[name]; !planned && skill.CheckPublishName(name) == nil && scope.Exists(filepath.Join(dir, skill.FileName)) {
				with = append(with, author.TextOf(scope.FilesIn(dir)))
			}
		}
		losses, err := author.Lost(s.Draft, with...)
		if err != nil {
			return nil, err
		}
		for _, l := range losses {
			if len(all) > 1 {
				l.From, l.Text = s.Name+"/"+l.From, s.Name+"/"+l.Text
			}
			out = append(out, l)
		}
	}
	return out, nil
}
