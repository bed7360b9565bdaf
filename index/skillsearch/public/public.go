// Package public is the list of skills in well-known public repositories that comes with skl, so that a search on a fresh machine has an
// answer. Nobody is asked for it, and being listed says nothing of a skill's quality.
//
// skills.txt is written by testdata/tools/publicskills. A line "owner/repo COMMIT" begins a repository on GitHub; below it each skill has
// a line: tab, name, tab, path in the repository, tab, words of its description. Everything is safe for concurrent use.
package public

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/packed"
)

// The list, packed: go test ./index/skillsearch/public -update makes it of skills.txt.
//
//go:embed skills.gz
var list []byte

var text = packed.Text(list)

// A Skill is one of the list.
type Skill struct {
	Repository string // owner/repo on GitHub
	Name       string
	Path       string // of its directory in the repository, slash-separated; "" is the repository itself
	Words      string // rarer words of its description, separated by spaces, in its order

	twice bool // its repository has another of this name
}

// Owner is the account that the repository belongs to.
func (s Skill) Owner() string {
	owner, _, _ := strings.Cut(s.Repository, "/")
	return owner
}

// Exact is the reference that names the repository on GitHub, whatever is configured.
func (s Skill) Exact() string {
	if s.Path == "" {
		return "github:" + s.Repository
	}
	return "github:" + s.Repository + "//" + s.Path
}

// Ref is the reference that people write, where nothing is configured for the owner.
func (s Skill) Ref() string {
	if s.twice {
		return s.Exact()
	}
	return s.Repository + "/" + s.Name
}

// All returns the list, in the order of repositories and of their listings. The slice is shared: do not change it.
var All = sync.OnceValue(func() []Skill { return parse(text()) })

// Repositories is the number of repositories in the list.
func Repositories() (n int) {
	last := ""
	for _, s := range All() {
		if s.Repository != last {
			n, last = n+1, s.Repository
		}
	}
	return n
}

// Named returns the skills of that name.
func Named(name string) (out []Skill) {
	for _, s := range All() {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

func parse(text string) (out []Skill) {
	repository := ""
	first := map[string]int{} // by name, of the repository
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			repository, _, _ = strings.Cut(fields[0], " ")
			clear(first)
			continue
		}
		s := Skill{Repository: repository, Name: fields[1], Path: fields[2], Words: fields[3]}
		if i, ok := first[s.Name]; ok {
			out[i].twice, s.twice = true, true
		} else {
			first[s.Name] = len(out)
		}
		out = append(out, s)
	}
	return out
}
