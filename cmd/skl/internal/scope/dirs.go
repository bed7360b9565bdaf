package scope

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/durable"
)

// setDirs follows the XDG rules, and Windows where its variables are. SKL_*_DIR, then XDG variables come first everywhere.
func (sc *Scope) setDirs() {
	roaming, local := sc.Getenv("APPDATA"), sc.Getenv("LOCALAPPDATA")
	sc.placeDirs(filepath.Separator == '\\' && roaming != "" && local != "", roaming, local)
}

// placeDirs is setDirs; with appData what no variable of skl or XDG names is below roaming and local.
func (sc *Scope) placeDirs(appData bool, roaming, local string) {
	pick := func(own, xdg, windows string, def ...string) string {
		if dir := sc.Getenv(own); own != "" && dir != "" {
			sc.given = append(sc.given, Absolute(sc.WorkingDir, dir))
			return sc.given[len(sc.given)-1]
		}
		if dir := sc.Getenv(xdg); filepath.IsAbs(dir) {
			return filepath.Join(dir, "skl")
		}
		if appData {
			return windows
		}
		return filepath.Join(append(append([]string{sc.Home}, def...), "skl")...)
	}
	sc.Dirs = dirs{
		Config: pick("", "XDG_CONFIG_HOME", filepath.Join(roaming, "skl"), ".config"),
		Data:   pick("SKL_DATA_DIR", "XDG_DATA_HOME", filepath.Join(local, "skl", "data"), ".local", "share"),
		Cache:  pick("SKL_CACHE_DIR", "XDG_CACHE_HOME", filepath.Join(local, "skl", "cache"), ".cache"),
		State:  pick("SKL_STATE_DIR", "XDG_STATE_HOME", filepath.Join(local, "skl", "state"), ".local", "state"),
	}
}

// Keys are the directories of skl's own that nothing of a skill works in, and that no search shows: the configuration, and what
// the user agreed to.
func (sc *Scope) Keys() []string { return []string{sc.Dirs.Config, sc.Dirs.State} }

// absolute reports whether no directory depends on where skl was started.
func (d dirs) absolute() bool {
	return !slices.ContainsFunc([]string{d.Config, d.Data, d.Cache, d.State}, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// MkdirPrivate makes dir, which is one of sc.dirs or below it, for nobody but this user, and takes the rights of others
// from what is there.
func (sc *Scope) MkdirPrivate(dir string) error {
	for _, top := range []string{sc.Dirs.Config, sc.Dirs.Data, sc.Dirs.Cache, sc.Dirs.State} {
		if dir != top && !strings.HasPrefix(dir, top+string(filepath.Separator)) {
			continue
		}
		if err := sc.narrow(top); err != nil {
			return err
		}
		if !slices.Contains(sc.given, dir) {
			return durable.MkdirPrivate(dir)
		}
	}
	if sc.managed && dir == sc.Machine {
		return install.MakeMachine(dir) // for everybody on the machine
	}
	return os.MkdirAll(dir, durable.Private)
}

// narrow takes the rights of others from one of sc.dirs. One that a variable names may be more than skl's.
func (sc *Scope) narrow(top string) error {
	if slices.Contains(sc.given, top) {
		return nil
	}
	return durable.Narrow(top)
}
