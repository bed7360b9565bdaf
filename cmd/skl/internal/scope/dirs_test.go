package scope

import (
	"path/filepath"
	"testing"
)

// Variables of skl come first, then those of XDG, then what the system has: on Windows too.
func TestDirs(t *testing.T) {
	top := t.TempDir()
	at := func(name ...string) string { return filepath.Join(append([]string{top}, name...)...) }
	env := map[string]string{"SKL_DATA_DIR": at("own"), "XDG_DATA_HOME": at("xdg"), "XDG_CACHE_HOME": at("xdg"), "XDG_STATE_HOME": "relative"}
	for appData, want := range map[bool]dirs{
		false: {Config: at("home", ".config", "skl"), Data: at("own"), Cache: at("xdg", "skl"), State: at("home", ".local", "state", "skl")},
		true:  {Config: at("roaming", "skl"), Data: at("own"), Cache: at("xdg", "skl"), State: at("local", "skl", "state")},
	} {
		sc := &Scope{Home: at("home"), WorkingDir: top, Getenv: func(name string) string { return env[name] }}
		sc.placeDirs(appData, at("roaming"), at("local"))
		if sc.Dirs != want {
			t.Errorf("with %%APPDATA%% %v: %+v, want %+v", appData, sc.Dirs, want)
		}
		if len(sc.given) != 1 || sc.given[0] != at("own") {
			t.Errorf("given %q", sc.given)
		}
	}
}
