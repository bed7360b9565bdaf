package skills

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

var names = []string{"canopy", "canopy-debug", "canopy-runtime"}

func folder(t *testing.T, name string) fs.FS {
	t.Helper()
	sub, err := fs.Sub(FS(), name)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func read(t *testing.T, name string) string {
	t.Helper()
	src, err := fs.ReadFile(FS(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

func TestFSHasOneDirectoryPerSkill(t *testing.T) {
	entries, err := fs.ReadDir(FS(), ".")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if !e.IsDir() {
			t.Errorf("%s is not a directory", e.Name())
		}
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("skills %v, want %v", got, names)
	}
}

func TestSkillsPassLint(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			findings := skill.Lint(folder(t, name), name, skill.LintOptions{})
			s, err := tree.Load(folder(t, name), name)
			if err != nil {
				t.Fatal(err)
			}
			if want := name != "canopy-runtime"; (s.Tree != nil) != want {
				t.Errorf("has a tree: %v, want %v", s.Tree != nil, want)
			}
			if name == "canopy-runtime" && len(s.Ops) > 0 {
				t.Errorf("%s is taken for the definition of an op", s.Ops[0].Name)
			}
			findings = append(findings, check.Check(s)...)
			for _, f := range findings {
				if f.Severity != diag.SeverityInfo {
					t.Errorf("%s:%d: %s %s: %s", f.File, f.Line, f.Rule, f.Severity, f.Message)
				}
			}
			if s.Doc.State != skill.Ready || s.Doc.Name != name {
				t.Errorf("state %s, name %q", s.Doc.State, s.Doc.Name)
			}
		})
	}
}

// Trees are written as "skl fmt" writes them, and every op is called.
func TestTreesAreCanonical(t *testing.T) {
	for _, name := range names {
		fsys := folder(t, name)
		err := fs.WalkDir(fsys, ".", func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || path.Ext(file) != ".md" {
				return err
			}
			src := read(t, name+"/"+file)
			if out, _ := tree.Format([]byte(src), file); name != "canopy-runtime" && !bytes.Equal(out, []byte(src)) {
				t.Errorf("%s/%s is not in canonical layout", name, file)
			}
			if strings.Contains(src, "\r") || !strings.HasSuffix(src, "\n") {
				t.Errorf("%s/%s does not end its lines with LF", name, file)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// features is what each slice explains. Everything may speak of core, which is always read.
var features = map[string][]tree.Kind{
	"core":         {tree.If, tree.ElseIf, tree.Else, tree.Break, tree.End},
	"interaction":  {tree.Ask, tree.ShowPlan},
	"control-flow": {tree.Switch, tree.Case, tree.Default, tree.ForEach},
	"parallel":     {tree.Parallel},
	"subagent":     {},
	"explore":      {tree.Explore},
	"verify":       {tree.Verify},
}

func primitives(text string) []tree.Kind {
	var out []tree.Kind
	for _, word := range regexp.MustCompile(`[A-Z][A-Z0-9_]*`).FindAllString(text, -1) {
		if k, ok := tree.Primitive(word); ok && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func TestSlicesSpeakOfTheirFeatureAlone(t *testing.T) {
	entries, err := fs.ReadDir(FS(), "canopy-runtime/references/ops")
	if err != nil {
		t.Fatal(err)
	}
	var every []tree.Kind
	index := read(t, "canopy-runtime/references/ops.md")
	for _, e := range entries {
		feature := strings.TrimSuffix(e.Name(), ".md")
		own, ok := features[feature]
		if !ok {
			t.Errorf("%s explains no feature", e.Name())
			continue
		}
		every = append(every, own...)
		text := read(t, "canopy-runtime/references/ops/"+e.Name())
		got := primitives(text)
		for _, k := range own {
			if !slices.Contains(got, k) {
				t.Errorf("%s does not explain %s", e.Name(), k)
			}
			if !strings.Contains(text, "\n## ") || !strings.Contains(text, "`"+k.String()+"`") {
				t.Errorf("%s has no section for %s", e.Name(), k)
			}
		}
		for _, k := range got {
			if !slices.Contains(own, k) && !slices.Contains(features["core"], k) {
				t.Errorf("%s speaks of %s, which a skill that lists only %s has not loaded", e.Name(), k, feature)
			}
		}
		row := regexp.MustCompile(`(?m)^\| ` + feature + ` \| .*$`).FindString(index)
		if !strings.Contains(row, "`references/ops/"+e.Name()+"`") || !slices.Equal(primitives(row), own) {
			t.Errorf("the index has for %s: %q", feature, row)
		}
	}
	if len(entries) != len(features) {
		t.Errorf("%d slices for %d features", len(entries), len(features))
	}
	slices.Sort(every)
	for k := tree.If; k <= tree.Verify; k++ {
		if !slices.Contains(every, k) {
			t.Errorf("no slice explains %s", k)
		}
	}
}

// The features that check computes from a tree are the slices.
func TestFeaturesAreThoseOfCheck(t *testing.T) {
	for feature, kinds := range features {
		for _, k := range kinds {
			s := &tree.Skill{Tree: &tree.Tree{Nodes: []*tree.Node{{Kind: k}}}}
			want := []string{feature}
			if feature == "core" {
				want = []string{}
			}
			if got := check.Features(s); !slices.Equal(got, want) {
				t.Errorf("%s is of %v, want %v", k, got, want)
			}
		}
	}
	s := &tree.Skill{Tree: &tree.Tree{Nodes: []*tree.Node{{Kind: tree.Call, Bold: true}}}}
	if got := check.Features(s); !slices.Equal(got, []string{"subagent"}) {
		t.Errorf("a call in bold is of %v", got)
	}
}

// Every file of a skill is named by another file of it, and every path that a text names exists.
func TestFilesAreNamed(t *testing.T) {
	inBackticks := regexp.MustCompile("`((?:references|assets)/[a-z/-]+\\.(?:md|json))`")
	for _, name := range names {
		var all strings.Builder
		var paths []string
		fsys := folder(t, name)
		if err := fs.WalkDir(fsys, ".", func(file string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				paths = append(paths, file)
				all.WriteString(read(t, name+"/"+file))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, file := range paths {
			if file != skill.FileName && file != "references/ops.md" && !strings.Contains(all.String(), file) {
				t.Errorf("nothing in %s names %s", name, file)
			}
		}
		if name == "canopy-runtime" {
			for _, file := range []string{"references/ops.md", "references/runtime-claude.md", "references/runtime-copilot.md", "references/skill-resources.md", "assets/constants/marker-block.md"} {
				if !slices.Contains(paths, file) {
					t.Errorf("%s has no %s", name, file)
				}
			}
			for _, m := range inBackticks.FindAllStringSubmatch(read(t, name+"/SKILL.md"), -1) {
				if !slices.Contains(paths, m[1]) {
					t.Errorf("SKILL.md names %s, which is not there", m[1])
				}
			}
		}
	}
}

// The skills with a tree start wherever their neighbours lie beside them: no directory of a host has to be the one.
func TestNeighboursLieBeside(t *testing.T) {
	for file, want := range map[string]string{
		"canopy/SKILL.md":                      "exists beside the directory of this skill, in",
		"canopy-debug/SKILL.md":                "exists beside the directory of this skill, in",
		"canopy/assets/templates/new-skill.md": "exists beside the directory of this skill, in",
		"canopy-debug/references/ops.md":       "beside the directory of canopy-debug itself, then",
		"canopy-runtime/SKILL.md":              "the directory that this skill's own directory lies in",
	} {
		if !strings.Contains(read(t, file), want) {
			t.Errorf("%s does not look beside itself", file)
		}
	}
	if !strings.Contains(read(t, "canopy/SKILL.md"), check.CanonicalGuard) {
		t.Error("canopy has not the guard that new skills get")
	}
}
