package content

import (
	"embed"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
)

// A Rule says what it finds, why that matters and what to do.
type Rule struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"` // the highest of its findings
	About    string   `json:"about"`    // one line: what it finds
	Why      string   `json:"why"`
	Out      string   `json:"out"`     // the way out
	Labels   []string `json:"labels"`  // of the OWASP list for agent skills
	Match    []string `json:"match"`   // examples, each a file: a line "NAME" and the text behind it
	Similar  []string `json:"similar"` // look-alikes that it does not find

	says []phrase
	near []near
}

//go:embed rules/*.txt words.txt things.txt tongues.txt
var texts embed.FS

// A ruleSet is all rules, and the words that their grammar is made of.
type ruleSet struct {
	all      []*Rule
	byID     map[string]*Rule
	words    map[string]uint16 // to an index of sets
	sets     []classes
	names    map[string]int // of classes
	phrases  []phrase
	near     []near
	programs []program
	tongues  []*tongue
	index    []classes // by class, the phrases that are looked for by it, as bits
	rare     classes   // that phrases are looked for by
	class    known
}

// known are the classes that the program itself asks for.
type known struct {
	not, isnt, cant, cond, option, is, may, bind, subject, lead, and, to, must, fake, goes, discuss, eg, who, you, agent, url, drop, ip, place, known, homepath, memfile, myfile, owned, exe, archive, keyfile, foreign, own, found, in, artefact, toldfile, system int
}

var loaded = sync.OnceValue(load)

// Rules are all rules, sorted by id.
func Rules() (out []Rule) {
	for _, r := range loaded().all {
		out = append(out, *r)
	}
	return out
}

// Explain is the rule of an id.
func Explain(id string) (Rule, bool) {
	if r, ok := loaded().byID[strings.ToUpper(id)]; ok {
		return *r, true
	}
	return Rule{}, false
}

func (s *ruleSet) severity(id string) Severity { return s.byID[id].Severity }

// load reads the embedded texts. They are part of the program: what is wrong in them is a mistake of who wrote them.
func load() *ruleSet {
	s := &ruleSet{byID: map[string]*Rule{}, words: map[string]uint16{}, names: map[string]int{}, sets: []classes{{}}}
	src, err := texts.ReadFile("words.txt")
	if err != nil {
		panic(err)
	}
	s.readWords(string(src), "")
	if src, err = texts.ReadFile("things.txt"); err != nil {
		panic(err)
	}
	s.readWords(string(src), "@")
	c := &s.class
	for name, at := range map[string]*int{"NOT": &c.not, "ISNT": &c.isnt, "CANT": &c.cant, "COND": &c.cond, "OPTION": &c.option, "IS": &c.is, "MAY": &c.may, "BIND": &c.bind, "SUBJECT": &c.subject, "LEAD": &c.lead, "AND": &c.and, "TO": &c.to, "MUST": &c.must, "FAKE": &c.fake, "GO": &c.goes, "DISCUSS": &c.discuss, "EG": &c.eg, "WHO": &c.who, "YOU": &c.you, "AGENT": &c.agent, "URL": &c.url, "DROP": &c.drop, "IP": &c.ip,
		"PLACE": &c.place, "KNOWN": &c.known, "HOMEPATH": &c.homepath, "MEMFILE": &c.memfile, "MYFILE": &c.myfile, "OWNED": &c.owned, "EXE": &c.exe, "ARCHIVE": &c.archive, "KEYFILE": &c.keyfile, "FOREIGN": &c.foreign, "OWN": &c.own, "FOUND": &c.found, "INSIDE": &c.in, "ARTEFACT": &c.artefact, "TOLDFILE": &c.toldfile, "SYSTEM": &c.system} {
		*at = s.classOf(name)
	}
	entries, err := texts.ReadDir("rules")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		src, err := texts.ReadFile("rules/" + e.Name())
		if err != nil {
			panic(err)
		}
		r := s.readRule(string(src))
		if r.ID+".txt" != e.Name() {
			panic(fmt.Sprintf("content: %s holds %s", e.Name(), r.ID))
		}
		s.all, s.byID[r.ID] = append(s.all, r), r
	}
	sort.Slice(s.all, func(i, j int) bool { return s.all[i].ID < s.all[j].ID })
	for _, r := range s.all {
		s.phrases = append(s.phrases, r.says...)
		s.near = append(s.near, r.near...)
	}
	if src, err = texts.ReadFile("tongues.txt"); err != nil {
		panic(err)
	}
	s.readTongues(string(src))
	s.index = make([]classes, len(s.names))
	for i, p := range s.phrases {
		if i >= 64*len(classes{}) {
			panic("content: too many phrases")
		}
		rarest := p.rarest(s)
		for class := range s.index {
			if rarest.has(class) {
				s.index[class].put(i)
				s.rare.put(class)
			}
		}
	}
	return s
}

// classOf is the number of a class, which is made if it is new.
func (s *ruleSet) classOf(name string) int {
	n, ok := s.names[name]
	if !ok {
		n = len(s.names)
		if n >= 64*len(classes{}) {
			panic("content: too many classes")
		}
		s.names[name] = n
	}
	return n
}

// join puts a word into a class.
func (s *ruleSet) join(word string, class int) {
	set := s.sets[s.words[word]]
	set.put(class)
	s.sets = append(s.sets, set)
	s.words[word] = uint16(len(s.sets) - 1)
}

// readWords reads words.txt and things.txt: "CLASS word word …", where "noun CLASS" has the plurals too, and a class in capitals stands
// for its words.
func (s *ruleSet) readWords(src, prefix string) {
	lists := map[string][]string{}
	for _, line := range strings.Split(src, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		noun := fields[0] == "noun"
		if noun {
			fields = fields[1:]
		}
		name := fields[0]
		for _, w := range fields[1:] {
			if more, ok := lists[w]; ok {
				lists[name] = append(lists[name], more...)
				continue
			}
			lists[name] = append(lists[name], w)
			if noun {
				switch {
				case strings.HasSuffix(w, "y") && len(w) > 2 && !strings.ContainsAny(w[len(w)-2:len(w)-1], "aeiou"):
					lists[name] = append(lists[name], w[:len(w)-1]+"ies")
				case strings.HasSuffix(w, "s") || strings.HasSuffix(w, "x") || strings.HasSuffix(w, "ch"):
					lists[name] = append(lists[name], w+"es")
				default:
					lists[name] = append(lists[name], w+"s")
				}
			}
		}
	}
	for name, words := range lists {
		for _, w := range words {
			s.join(prefix+w, s.classOf(name))
		}
	}
}

// readRule reads a file of rules: "key value" lines, and below "match NAME" and "similar NAME" an example, indented by a tab.
func (s *ruleSet) readRule(src string) *Rule {
	r := &Rule{}
	var example *[]string
	for _, line := range strings.Split(src, "\n") {
		if text, ok := strings.CutPrefix(line, "\t"); ok && example != nil {
			(*example)[len(*example)-1] += text + "\n"
			continue
		}
		if line == "" {
			if example != nil {
				(*example)[len(*example)-1] += "\n"
			}
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		example = nil
		switch key {
		case "id":
			r.ID = value
		case "severity":
			r.Severity = Severity(value)
		case "about":
			r.About = value
		case "why":
			r.Why = value
		case "out":
			r.Out = value
		case "labels":
			r.Labels = strings.Fields(value)
		case "say":
			r.says = append(r.says, s.readPhrase(r, "", value))
		case "fact":
			name, value, _ := strings.Cut(value, " ")
			r.says = append(r.says, s.readPhrase(r, name, value))
		case "run":
			s.programs = append(s.programs, readProgram(r, value))
		case "near":
			r.near = append(r.near, readNear(r, value))
		case "match":
			r.Match = append(r.Match, value+"\n")
			example = &r.Match
		case "similar":
			r.Similar = append(r.Similar, value+"\n")
			example = &r.Similar
		case "#":
		default:
			panic("content: " + r.ID + " has a line " + key)
		}
	}
	if !slices.Contains(Severities, r.Severity) || r.About == "" || r.Why == "" || r.Out == "" {
		panic("content: " + r.ID + " is not whole")
	}
	return r
}
