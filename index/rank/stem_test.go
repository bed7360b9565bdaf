package rank

import (
	"strings"
	"testing"
)

func stemOf(w string) string { return string(stem(append(make([]byte, 0, len(w)+8), w...))) }

// Words of a line are one term; words of different lines are not.
const families = `
parse parses parsed parsing parser parsers
query queries queried querying
use uses used using
user users
state states stated stating
stat stats
note notes noted noting
map maps mapped mapping mapper
cache caches cached caching
match matches matched matching matcher
index indexes indexed indexing indexer indices
class classes
box boxes boxed boxing
process processes processed processing processor
address addresses addressed
connect connects connected connecting connection connector
create creates created creating creation creator
configure configures configured configuration configurations
generate generates generated generating generation generator
initialize initialized initializing initialization initializer
implement implements implemented implementation
transform transformed transformation transformer
notify notifies notified notification notifier
verify verifies verified verification
install installs installed installing installer installation
control controls controlled controlling controller
cancel cancels canceled cancelled cancellation
embed embeds embedded embedding
type types typed typing
time times timed timing
write writes writing writer writers
read reads reading reader readers
route routes routed routing router
log logs logged logging logger
set sets setting settings
copy copies copied copying copier
try trying tried
trie tries
key keys keyed
byte bytes
close closes closed closing closer
compress compressed compression compressor
release releases released releasing
response responses
alias aliases aliased
api apis
id ids
url urls
header headers
head heads
server serve serves served serving
service services
automatic automatically
recursive recursively
error errors
vertex vertices
call calls called calling caller
add adds added adding
edit edits edited editor editing
string strings
status statuses
this
bus
analysis
dns
container containers
contain contains contained
supply
reply
family families
assembly
station stations
need needs
bring
agree agrees agreed agreeing
tree trees
free frees freed
children child
define defined definition definitions
http https
`

func TestStem(t *testing.T) {
	lines := map[string]string{}
	for line := range strings.Lines(families) {
		words := strings.Fields(line)
		for _, w := range words {
			s := stemOf(w)
			if s != stemOf(words[0]) {
				t.Errorf("%s is %s, but %s is %s", w, s, words[0], stemOf(words[0]))
			}
			if other, ok := lines[s]; ok && other != line {
				t.Errorf("%s has the stem %s of %q", w, s, other)
			}
			lines[s] = line
		}
	}
}

// Stems keep what a filter looks at, do not get shorter without end, and are nearly always their own stem.
func TestStemLaws(t *testing.T) {
	seen := map[string]bool{}
	again := 0
	check := func(w string) {
		if seen[w] {
			return
		}
		seen[w] = true
		s := stemOf(w)
		if len(s) > len(w)+1 || s[:min(2, len(s))] != w[:min(2, len(w), len(s))] || len(s) < min(2, len(w)) {
			t.Errorf("stem of %q is %q", w, s)
		}
		if len(s) < 3 && len(w) > 3 {
			t.Errorf("stem of %q is %q", w, s)
		}
		if stemOf(s) != s {
			again++
		}
	}
	word := func(b []byte) {
		for _, w := range strings.FieldsFunc(strings.ToLower(string(b)), func(r rune) bool { return r < 'a' || r > 'z' }) {
			check(w)
		}
	}
	word(goSource(t, 4<<20))
	if again*100 > len(seen)*2 {
		t.Errorf("%d of %d stems are not their own stem", again, len(seen))
	}
}

func FuzzStem(f *testing.F) {
	f.Add("initializations")
	f.Add("ssed")
	f.Fuzz(func(t *testing.T, w string) {
		if w == "" || strings.IndexFunc(w, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) >= 0 {
			return
		}
		s := stemOf(w)
		if len(s) > len(w)+1 || len(s) < min(len(w), 2) || s[:min(2, len(s))] != w[:min(2, len(s))] {
			t.Errorf("stem of %q is %q", w, s)
		}
	})
}
