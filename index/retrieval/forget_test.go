package retrieval

import (
	"strings"
	"testing"
)

// Only the sentence that a question is made of is taken out of what documents a function.
func TestForget(t *testing.T) {
	for doc, want := range map[string]string{
		"// Close ends it. It waits for\n// the last write.":  "// It waits for\n// the last write.",
		"// Close ends it\n// at once.\n//\n// It waits.":     "// \n// \n//\n// It waits.",
		"// Close ends it at once.":                           "",
		"/** Ends it. */":                                     "",
		"/**\n * Ends it\n * @param {number} n the time\n */": "/**\n * \n * @param {number} n the time\n */",
		"/**\n * Ends it.\n */":                               "\n\n",
		`    """Ends it."""`:                                  "",
		"    \"\"\"Ends it.\n\n    It waits.\n    \"\"\"":     "    \"\"\"\n\n    It waits.\n    \"\"\"",
		"    '''\n    Ends it. It waits.\n    '''":            "    '''\n    It waits.\n    '''",
	} {
		lines := strings.Split(doc, "\n")
		forget(lines)
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%q leaves %q, not %q", doc, got, want)
		}
	}
}
