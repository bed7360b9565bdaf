package build

import (
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	const commit = "897d351fa1c2aa0123456789abcdef0123456789"
	clone := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified}}
	}
	for _, c := range []struct {
		name     string
		main     debug.Module
		settings []debug.BuildSetting
		want     Build
	}{
		{"a clone at a tag", debug.Module{Version: "v1.4.2"}, clone("false"), Build{Version: "1.4.2", Commit: commit}},
		{"a clone behind no tag", debug.Module{Version: "v0.0.0-20261123014442-897d351fa1c2"}, clone("false"),
			Build{Version: "0.0.0-20261123014442-897d351fa1c2", Commit: commit}},
		{"a clone with changes", debug.Module{Version: "v1.4.3-0.20261123014442-897d351fa1c2+dirty"}, clone("true"),
			Build{Version: "1.4.3-0.20261123014442-897d351fa1c2", Commit: commit, Modified: true}},
		{"a clone built by an older compiler", debug.Module{Version: "(devel)"}, clone("true"), Build{Version: unreleased, Commit: commit, Modified: true}},
		{"installed by a tag", debug.Module{Version: "v1.4.2", Sum: "h1:abc="}, nil, Build{Version: "1.4.2", Sum: "h1:abc="}},
		{"installed by a commit", debug.Module{Version: "v1.4.3-rc.1.0.20261123014442-897d351fa1c2", Sum: "h1:abc="}, nil,
			Build{Version: "1.4.3-rc.1.0.20261123014442-897d351fa1c2", Commit: "897d351fa1c2", Sum: "h1:abc="}},
		{"no version control", debug.Module{Version: "(devel)"}, nil, Build{Version: unreleased}},
		{"a test", debug.Module{}, nil, Build{Version: unreleased}},
		{"a tag that looks like a commit", debug.Module{Version: "v1.0.0-2026112301444-897d351fa1c2a"}, nil, Build{Version: "1.0.0-2026112301444-897d351fa1c2a"}},
	} {
		if got := of(&debug.BuildInfo{Main: c.main, Settings: c.settings}); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
