// Command publicskills writes the list of public skills that skl search knows without asking anybody, by listing the repositories of
// repositories.txt with skl itself: what is in the list is what skl install takes, by the name that it takes.
//
//	publicskills -skl ./skl > index/skillsearch/public/skills.txt
//
// With -mirror DIR, owner/repo is read from DIR/owner+repo/repo instead of from GitHub. Of a description only its rarer words are kept:
// the texts belong to their authors, and skl info shows them.
package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed repositories.txt
var repositories string

//go:embed common.txt
var common string

// maxWords is the number of words of a description that are kept: a line of a terminal has room for about ten.
const maxWords = 12

// A skill is one line of the list.
type skill struct {
	Name        string
	Path        string
	Commit      string
	Description string

	words []string
}

// A listing is what skl install REPOSITORY --list --json prints.
type listing struct {
	Skills []skill
}

func main() {
	log.SetFlags(0)
	program := flag.String("skl", "skl", "the program")
	mirror := flag.String("mirror", "", "directory with copies of the repositories")
	flag.Parse()

	var names []string
	all := map[string][]skill{}
	documents, seen := 0, map[string]int{} // descriptions, and in how many of them a word is
	for line := range strings.Lines(repositories) {
		name := strings.TrimSpace(line)
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		skills, err := list(*program, *mirror, name)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		for i := range skills {
			skills[i].words = words(skills[i].Description)
			documents++
			for _, w := range slices.Compact(slices.Sorted(slices.Values(skills[i].words))) {
				seen[w]++
			}
		}
		names, all[name] = append(names, name), skills
	}
	// A word that a single description has is often a slip or an aside, and what comes first says most.
	worth := func(word string, at int) float64 {
		w := math.Log(float64(documents+1) / float64(seen[word]+1))
		if seen[word] == 1 {
			w *= 0.6
		}
		return w / (1 + float64(at)/20)
	}
	for _, name := range names {
		skills := all[name]
		if len(skills) == 0 {
			log.Printf("%s: no skills", name)
			continue
		}
		fmt.Printf("%s %s\n", name, skills[0].Commit)
		for _, s := range skills {
			if !legal.MatchString(s.Name) {
				log.Printf("%s: left out %q: skl install refuses that name", name, s.Name)
				continue
			}
			fmt.Printf("\t%s\t%s\t%s\n", s.Name, s.Path, strings.Join(s.kept(worth), " "))
		}
	}
}

// list asks skl for the skills of a repository, in an empty directory and home.
func list(program, mirror, name string) ([]skill, error) {
	dir, err := os.MkdirTemp("", "publicskills")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ref := "github:" + name
	if mirror != "" {
		ref = "git+file://" + filepath.Join(mirror, strings.ReplaceAll(name, "/", "+"), "repo")
	}
	program, err = filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "install", ref, "--list", "--json")
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "HOME="+dir), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var l listing
	if err := json.Unmarshal(out, &l); err != nil {
		return nil, err
	}
	return l.Skills, nil
}

// legal are the names that a reference can have.
var legal = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

var word = regexp.MustCompile(`[\pL\pN][\pL\pN.+#-]*`)

// words are the words of a text that may say something, in order.
func words(text string) (out []string) {
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		if w = strings.TrimRight(w, ".-"); len(w) > 1 && !strings.Contains("\n"+common, "\n"+w+"\n") {
			out = append(out, w)
		}
	}
	return out
}

// kept are the words of a skill that are worth most, without those of its name, in the order of the description.
func (s skill) kept(worth func(word string, at int) float64) []string {
	name := words(strings.ReplaceAll(s.Name, "-", " "))
	var once []string
	for _, w := range s.words {
		if !slices.Contains(once, w) && !slices.Contains(name, w) {
			once = append(once, w)
		}
	}
	least := 0.0
	if len(once) > maxWords {
		var all []float64
		for i, w := range once {
			all = append(all, worth(w, i))
		}
		slices.Sort(all)
		least = all[len(all)-maxWords]
	}
	var out []string
	for i, w := range once {
		if worth(w, i) >= least && len(out) < maxWords {
			out = append(out, w)
		}
	}
	return out
}
