package screen

import "testing"

// A hint has the flags of what was typed, unless it says them itself, and prose stays as it is.
func TestRetyped(t *testing.T) {
	project := Flag{"project", "--project sub"}
	global := Flag{"global", "--global"}
	config := Flag{"config", "--config 'my config.toml'"}
	host := Flag{"host", "--host codex"}
	root := Flag{"root", "--root .claude/skills"}
	for _, tt := range []struct {
		typed      Typed
		hint, want string
	}{
		{Typed{}, "skl update pdf", "skl update pdf"},
		{Typed{Places: []Flag{project}}, "skl update pdf --accept moved", "skl --project sub update pdf --accept moved"},
		{Typed{Places: []Flag{project}}, "if its author says why: skl update pdf --accept moved", "if its author says why: skl --project sub update pdf --accept moved"},
		{Typed{Places: []Flag{project, global}}, "skl info a/b    skl install a/b", "skl --project sub --global info a/b    skl --project sub --global install a/b"},
		{Typed{Places: []Flag{global}}, "skl diff pdf --scope user    skl disable pdf -g", "skl diff pdf --scope user    skl disable pdf -g"},
		{Typed{Places: []Flag{project}}, "skl -C /elsewhere resume RUN", "skl -C /elsewhere resume RUN"},
		{Typed{Places: []Flag{project, config}}, "skl login URL --default", "skl --config 'my config.toml' login URL --default"},
		{Typed{Places: []Flag{project}}, "skl resume RUN --answer x", "skl resume RUN --answer x"},
		{Typed{Places: []Flag{project}}, "skl help guide install", "skl help guide install"},
		{Typed{Places: []Flag{project}}, "skl keeps its journals in there", "skl keeps its journals in there"},
		{Typed{Places: []Flag{project}}, "see who changed it: git diff skl.lock", "see who changed it: git diff skl.lock"},
		{Typed{Places: []Flag{project}}, "a newer skl wrote it: update skl", "a newer skl wrote it: update skl"},
		{Typed{Places: []Flag{project}}, "skl ci, or skl trust allow", "skl --project sub ci, or skl --project sub trust allow"},
		{Typed{Places: []Flag{root}}, "skl list --all", "skl --root .claude/skills list --all"},
		{Typed{Places: []Flag{root}}, "skl install a/b", "skl install a/b"},
		{Typed{Command: "install", Flags: []Flag{host, root}}, "skl install a/b --all", "skl install --host codex --root .claude/skills a/b --all"},
		{Typed{Command: "install", Flags: []Flag{host}}, "skl install a/b --host claude-code", "skl install a/b --host claude-code"},
		{Typed{Command: "install", Flags: []Flag{host}}, "skl install --force replaces it", "skl install --force replaces it"},
		{Typed{Command: "install", Flags: []Flag{host}}, "skl install", "skl install"},
		{Typed{Command: "install", Flags: []Flag{host}}, "skl update pdf", "skl update pdf"},
	} {
		if got := tt.typed.Retyped(tt.hint); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.hint, got, tt.want)
		}
	}
	page := "skl update in prose\n\x1b[2mnext\x1b[0m  \x1b[36mskl update\x1b[0m      \x1b[2mor\x1b[0m  \x1b[36mskl update --latest\x1b[0m\nnext  skl help\n"
	want := "skl update in prose\n\x1b[2mnext\x1b[0m  \x1b[36mskl --project sub update\x1b[0m      \x1b[2mor\x1b[0m  \x1b[36mskl --project sub update --latest\x1b[0m\nnext  skl help\n"
	if got := (&Typed{Places: []Flag{{"project", "--project sub"}}}).Steps(page); got != want {
		t.Errorf("%q", got)
	}
	if got := (*Typed)(nil).Retyped("skl update"); got != "skl update" {
		t.Error(got)
	}
}
