package tool

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/skill"
)

// programsIn makes a directory with these programs, as the only one of a PATH.
func programsIn(t *testing.T, names ...string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("what a name runs depends on PATHEXT there")
	}
	dir := t.TempDir()
	for _, name := range names {
		put(t, filepath.Join(dir, name), "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shown are the tools that a model sees, and what the person is told.
func shown(t *testing.T, config Config) (names []string, bash, told string) {
	t.Helper()
	times := 0
	config.Lacking = func(lacks []Lack) {
		times++
		for _, l := range lacks {
			told += l.Tool + ": " + l.Why + "\n"
		}
	}
	d, _ := open(t, config)
	for range 2 {
		names = nil
		for _, m := range d.Narrow(skill.Tools{}).For(false) {
			names = append(names, m.Name)
			if m.Name == "bash" {
				bash = m.Description
			}
		}
	}
	if times > 1 {
		t.Errorf("it was told %d times", times)
	}
	return names, bash, told
}

func TestLacks(t *testing.T) {
	for _, c := range []struct {
		name, policy string
		programs     []string
		change       func(*Config)
		bash         bool
		only, told   string
	}{
		{"all is there", "", []string{"sh"}, nil, true, "", ""},
		{"no shell", "", []string{"git"}, nil, false, "", "bash: neither bash nor sh is on PATH\n"},
		{"no programs at all", "", []string{"sh"}, func(c *Config) { c.Exec = nil }, false, "", "bash: programs cannot be run here\n"},
		{"a pattern that means nothing", "allow: read({a}}), bash", []string{"sh"}, nil, true, "", "read({a}}): the glob \"{a}}\" has more than 1024 bytes, or 64 alternatives, or a brace without its other half\n"},
		{"nobody wants it", "allow: read", nil, nil, false, "", ""},
		{"one of two", "allow: read, bash(gh *), bash(git log *)", []string{"sh", "git"}, nil, true, "Allowed here only: bash(git log *).", "bash(gh *): gh is not on PATH\n"},
		{"none of two", "allow: bash(gh:*), Bash(glab *)", []string{"sh"}, nil, false, "", "bash: none of gh, glab is on PATH\n"},
		{"none of one", "allow: bash(gh *)", []string{"sh"}, nil, false, "", "bash: gh is not on PATH\n"},
		{"of the shell, by a path, by a pattern", "allow: bash(cd *), bash(./x *), bash(py* *), bash(*)", []string{"sh"}, nil, true, "Allowed here only: bash(cd *), bash(./x *), bash(py* *), bash(*).", ""},
		{"PATH that the directory decides", "allow: bash(gh *)", []string{"sh"}, func(c *Config) { c.Path += string(filepath.ListSeparator) + "bin" }, true, "Allowed here only: bash(gh *).", ""},
		{"not confined enough", "", []string{"sh"}, func(c *Config) {
			c.Floor, c.Probe = sandbox.Tier1, func() sandbox.Report { return sandbox.Report{Tier: sandbox.Tier3} }
		}, false, "", "bash: this machine confines programs with tier 3 (seccomp), and tier 1 (namespaces, landlock, seccomp) is asked for\n"},
		{"confined enough", "", []string{"sh"}, func(c *Config) {
			c.Floor, c.Probe = sandbox.Tier1, func() sandbox.Report { return sandbox.Report{Tier: sandbox.Tier1} }
		}, true, "", ""},
		{"a host that nobody may reach, asked for", "allow: fetch", nil, nil, false, "", "fetch: no host may be reached\n"},
		{"a name without a tool", "allow: read, WebSearch", nil, nil, false, "", "WebSearch: skl has no such tool\n"},
		{"an effect that is not declared", "", nil, func(c *Config) { c.SideEffects = []string{"filesystem"} }, false, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &plain{}
			config := Config{Exec: p.exec, Consent: yes, Path: programsIn(t, c.programs...)}
			if c.policy != "" {
				config.Policy = tools(t, c.policy)
			}
			if c.change != nil {
				c.change(&config)
			}
			names, bash, told := shown(t, config)
			if slices.Contains(names, "bash") != c.bash || !strings.Contains(bash, c.only) || c.only == "" && strings.Contains(bash, "Allowed here only") {
				t.Errorf("the model sees %q, of bash %q", names, bash)
			}
			if told != c.told {
				t.Errorf("the person is told %q, not %q", told, c.told)
			}
		})
	}
}

// A server that does not start is told of once it was tried.
func TestLackingServer(t *testing.T) {
	config := Config{Consent: yes, Servers: []Server{testServer("other", "broken")}, Policy: tools(t, "allow: other::echo, read")}
	_, _, told := shown(t, config)
	if strings.Count(told, "other::") != 1 {
		t.Errorf("it is told twice: %q", told)
	}
	if !strings.HasPrefix(told, "other::*: the MCP server other does not start") && !strings.Contains(told, "\nother::*: the MCP server other does not start") {
		t.Errorf("told: %q", told)
	}
}

// A script does not need the shell, and is no program of a pattern.
func TestScriptWithoutShell(t *testing.T) {
	config := Config{Exec: (&plain{}).exec, Consent: yes, Path: programsIn(t, "python3"), Policy: tools(t, "allow: bash")}
	d, _ := open(t, config)
	if err := d.reachable(d.scriptHandler(), false); err != nil {
		t.Error(err)
	}
	skillDir := t.TempDir()
	put(t, filepath.Join(skillDir, "tidy.sh"), "")
	_, _, told := shown(t, Config{Exec: config.Exec, Consent: yes, Path: programsIn(t, "sh"), SkillDir: skillDir, Policy: tools(t, "allow: bash(tidy.sh *), bash(untidy.sh)")})
	if told != "bash(untidy.sh): untidy.sh is not on PATH\n" {
		t.Errorf("told: %q", told)
	}
	if err := d.reachable(d.table.must("bash"), false); err == nil || !strings.Contains(err.Error(), "neither bash nor sh is on PATH") {
		t.Error(err)
	}
}
