package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

func TestRegistries(t *testing.T) {
	c := parse(t, sample)
	steps := []struct {
		name     string
		err      error
		old, new string
	}{
		{"the same again", c.SetRegistry("corp", "https://skills.corp.example", true), "", ""},
		{"the same, not as the default", c.SetRegistry("corp", "https://skills.corp.example", false), "", ""},
		{"elsewhere", c.SetRegistry("corp", "http://127.0.0.1:5080", false), "https://skills.corp.example/", "http://127.0.0.1:5080"},
		{"another default", c.SetRegistry("own", "https://own.example", true), "default = true\n", ""},
		{"one that is not there", c.RemoveRegistry("absent"), "", ""},
	}
	want := sample
	for _, s := range steps {
		if s.err != nil {
			t.Errorf("%s: %v", s.name, s.err)
		}
		want = strings.Replace(want, s.old, s.new, 1)
	}
	if c.Registries["corp"] != (Registry{URL: "http://127.0.0.1:5080"}) || c.Registries["own"] != (Registry{URL: "https://own.example", Default: true}) {
		t.Errorf("registries are %+v", c.Registries)
	}
	added := "\n[registry.own]\nurl = \"https://own.example\"\ndefault = true\n"
	text := string(c.Bytes())
	if !strings.Contains(text, added[1:]) || strings.Replace(text, added, "", 1) != want && strings.Replace(text, added[1:]+"\n", "", 1) != want {
		t.Errorf("got\n%s\nwant\n%s with\n%s", text, want, added)
	}
	if err := c.RemoveRegistry("own"); err != nil || len(c.Registries) != 1 {
		t.Errorf("removing: %v, %+v", err, c.Registries)
	}
}

func TestRegistriesRefused(t *testing.T) {
	for _, tt := range [][2]string{{"a/b", "https://a.example"}, {"a", "ftp://a.example"}, {"a", "https://u:p@a.example"}, {"a", ""}} {
		c := parse(t, sample)
		if err := c.SetRegistry(tt[0], tt[1], true); diag.ClassOf(err) != diag.Failed || string(c.Bytes()) != sample {
			t.Errorf("%q: %v\n%s", tt, err, c.Bytes())
		}
	}
	if err := Merge(nil, parse(t, sample)).SetRegistry("x", "https://x.example", false); err == nil {
		t.Error("a merged config was edited")
	}
}

func ExampleConfig_SetRegistry() {
	c, _ := Parse([]byte("# mine\n"), "config.toml")
	c.SetRegistry("corp", "https://skills.example", true)
	fmt.Print(string(c.Bytes()))
	// Output:
	// # mine
	//
	// [registry.corp]
	// url = "https://skills.example"
	// default = true
}
