package process

import (
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/cmd/skl/test/harness"
)

// Hints, the commands that scripts read in them, and the answer of the program to each.
func TestHintCommands(t *testing.T) {
	for hint, want := range map[string]string{
		"skl lock": "lock",
		"to ask its source which it is: skl lock --upgrade pdf":                            "lock|--upgrade|pdf",
		"skl install mends it; skl init writes the .gitattributes lines":                   "install & init",
		"skl list --shadowed shows the copies, skl which pdf --host HOST the one it loads": "list|--shadowed & which|pdf|--host|HOST",
		"skl keeps its journals in a folder; remove that file":                             "",
		"skl key rotate makes a successor":                                                 "key|rotate",
		"skl publish 'my dir' acme/pdf@1.0.0":                                              "publish|my dir|acme/pdf@1.0.0",
		"skl policy explain pdf":                                                           "policy|explain|pdf",
		"git add skl.toml":                                                                 "",
		"rm skl.lock && skl lock":                                                          "lock",
		"skl install skl: --all":                                                           "install|skl:|--all",
		"skl --scope user which pdf --host HOST the one that it loads":                     "--scope|user|which|pdf|--host|HOST",
		"skl runs lists them":                                                              "runs",
		"skl lokc":                                                                         "lokc !",
		"skl lock --upgraed pdf":                                                           "lock|--upgraed|pdf !",
		"skl ci pdf":                                                                       "ci|pdf !",
		"skl trust alow .":                                                                 "trust|alow|. !",
	} {
		var got []string
		for _, args := range harness.CommandsOf(hint) {
			text := strings.Join(args, "|")
			if cli.Parses(args) != nil {
				text += " !"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " & "); text != want {
			t.Errorf("%q: %q, want %q", hint, text, want)
		}
	}
}
