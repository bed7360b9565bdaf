package skill

import (
	"strings"
	"testing"
)

// Each agent's reading of a frontmatter, as measured with Codex 0.169.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102 and opencode
// 1.18.33: the name under which it loads the skill, "-" if it does not, "=" for that of the directory.
func TestReadAs(t *testing.T) {
	const plain = "description: Does it.\n"
	for _, tt := range []struct{ what, head, codex, gemini, copilot, opencode string }{
		{"plain", "---\nname: x\n" + plain + "---\n", "x", "x", "x", "x"},
		{"no name", "---\n" + plain + "---\n", "=", "-", "=", "-"},
		{"no description", "---\nname: x\n---\n", "-", "-", "x", "x"},
		{"empty description", "---\nname: x\ndescription: \"\"\n---\n", "-", "x", "x", "x"},
		{"null description", "---\nname: x\ndescription:\n---\n", "-", "x", "-", "-"},
		{"list as description", "---\nname: x\ndescription:\n  - Does it.\n---\n", "-", "x", "-", "-"},
		{"number as description", "---\nname: x\ndescription: 12\n---\n", "x", "x", "-", "-"},
		{"no frontmatter", "# x\n", "-", "-", "-", "-"},
		{"empty frontmatter", "---\n---\n", "-", "-", "=", "-"},
		{"not closed", "---\nname: x\n" + plain, "-", "-", "-", "-"},
		{"colon", "---\nname: x\ndescription: Does it. Use: now.\n---\n", "x", "x", "-", "x"},
		{"broken", "---\nname: x\ndescription: [Does it.\n---\n", "x", "x", "-", "-"},
		{"byte order mark", "\ufeff---\nname: x\n" + plain + "---\n", "-", "-", "x", "x"},
		{"CRLF", "---\r\nname: x\r\ndescription: Does it.\r\n---\r\n", "x", "x", "x", "x"},
		{"number as name", "---\nname: 77\n" + plain + "---\n", "77", "77", "-", "-"},
		{"true as name", "---\nname: true\n" + plain + "---\n", "true", "true", "-", "-"},
		{"null as name", "---\nname: null\n" + plain + "---\n", "=", "null", "-", "-"},
		{"date as name", "---\nname: 2020-01-01\n" + plain + "---\n", "2020-01-01", "2020-01-01", "2020-01-01", "-"},
		{"empty name", "---\nname: \"\"\n" + plain + "---\n", "=", emptyName, "-", emptyName},
		{"space in the name", "---\nname: a b\n" + plain + "---\n", "a b", "a b", "a-b", "a b"},
		{"colon in the name", "---\nname: \"a:b\"\n" + plain + "---\n", "a:b", "a-b", "a:b", "a:b"},
		{"slash in the name", "---\nname: a/b\n" + plain + "---\n", "a/b", "a-b", "-", "a/b"},
		{"accent in the name", "---\nname: été\n" + plain + "---\n", "été", "été", "-", "été"},
		{"hyphen first", "---\nname: -x\n" + plain + "---\n", "-x", "-x", "-", "-x"},
		{"long name", "---\nname: " + strings.Repeat("n", 65) + "\n" + plain + "---\n", "-", strings.Repeat("n", 65), "-", strings.Repeat("n", 65)},
		{"long description", "---\nname: x\ndescription: " + strings.Repeat("long text ", 120) + "\n---\n", "x", "x", "-", "x"},
		{"metadata is text", "---\nname: x\n" + plain + "metadata: none\n---\n", "-", "x", "-", "x"},
		{"key twice", "---\nname: x\nname: x\n" + plain + "---\n", "-", "x", "-", "-"},
		{"anchor", "---\nname: x\ndescription: &a Does it.\n---\n", "x", "x", "x", "x"},
		{"tag", "---\nname: x\ndescription: !!str Does it.\n---\n", "x", "x", "x", "x"},
		{"blanks behind the fence", "--- \nname: x\n" + plain + "--- \n", "x", "-", "x", "x"},
		{"keys in upper case", "---\nName: x\nDescription: Does it.\n---\n", "-", "-", "=", "-"},
	} {
		for agent, want := range map[string]string{"codex": tt.codex, "gemini-cli": tt.gemini, "github-copilot": tt.copilot, "opencode": tt.opencode, "claude-code": "="} {
			name, loads, known := ReadAs(agent, []byte(tt.head))
			got := name
			if name == "" {
				got = "="
			}
			if !loads {
				got = "-"
			}
			if got != want || !known {
				t.Errorf("%s: %s reads %q, want %q", tt.what, agent, got, want)
			}
		}
	}
	if _, _, known := ReadAs("windsurf", []byte("---\nname: x\n---\n")); known {
		t.Error("an agent that was not measured is known")
	}
}

// A skill for which Front has no finding is loaded by every agent under the name that Read gives it.
func FuzzReadAs(f *testing.F) {
	for _, seed := range []string{
		"---\nname: x\ndescription: Does it well.\n---\nDo it.\n", "---\nname: x\ndescription: Does it well.\nmetadata:\n  a: b\nallowed-tools: Read\n---\n",
		"---\nname: true\ndescription: Does it well.\n---\n", "---\nname: x\ndescription: Does it.\nname: y\n---\n", "---\n---\n", "\ufeff---\nname: \"\"\n---\n", "x", "---\nname: *a\ndescription: &a Does it well.\n---\n",
		"---\ndescription: [a\nname: x\n---\n", "---\nname: x\ndescription: Does it well\nlicense: 'a\n---\n'\n---\n", "---\n- name\n---\n", "---\nname: x\ndescription: |\n  Does it\n  well.\n---\n",
		"---\nname: x\ndescription: Does it well.\nlicense: see: LICENSE\n---\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		d, err := Read(head)
		if err != nil {
			d = nil
		}
		front := Front(head, d)
		if front == "" && d == nil {
			t.Fatalf("%q: nothing is kept of what Read refuses", head)
		}
		for _, agent := range []string{"claude-code", "codex", "gemini-cli", "github-copilot", "opencode"} {
			name, loads, _ := ReadAs(agent, head)
			if front == "" && (!loads || name != d.Name && agent != "claude-code") {
				t.Errorf("%q: %s reads %q, %v; nothing is kept for it", head, agent, name, loads)
			}
			if front == "" {
				continue
			}
			if again, still, _ := ReadAs(agent, []byte(front)); again != name || still != loads {
				t.Errorf("%q: %s reads %q, %v, and %q, %v in what is kept", head, agent, name, loads, again, still)
			}
		}
	})
}

func TestDirName(t *testing.T) {
	for _, tt := range []struct {
		agent, dir, want string
		ok               bool
	}{
		{"github-copilot", "a b", "a-b", true},
		{"github-copilot", "-dash", "-dash", false},
		{"github-copilot", "\u00e9t\u00e9", "\u00e9t\u00e9", false},
		{"gemini-cli", "a b", "a b", true},
		{"codex", "-dash", "-dash", true},
	} {
		if got, ok := DirName(tt.agent, tt.dir); got != tt.want || ok != tt.ok {
			t.Errorf("%s calls %q %q, %t; want %q, %t", tt.agent, tt.dir, got, ok, tt.want, tt.ok)
		}
	}
}

func TestIsWithheld(t *testing.T) {
	for head, want := range map[string]bool{
		"":                                  false,
		"disable-model-invocation: true\n":  true,
		"disable-model-invocation: false\n": false,
		"user-invocable: false\n":           false,
		"paths: src/**\n":                   true,
		"paths: [a, b]\n":                   true,
		"paths: \"\"\n":                     false,
	} {
		d, err := Read([]byte("---\nname: x\ndescription: Does a thing.\n" + head + "---\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.IsWithheld(); got != want {
			t.Errorf("%q: %t, want %t", head, got, want)
		}
	}
}
