package scope

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
)

// ConfigPath is the user's configuration, whether it is there or not.
func (sc *Scope) ConfigPath() string {
	for _, path := range []string{sc.options.Config, sc.Getenv("SKL_CONFIG")} {
		if path != "" {
			return Absolute(sc.WorkingDir, path)
		}
	}
	return filepath.Join(sc.Dirs.Config, "config.toml")
}

func (sc *Scope) readConfig() error {
	var files [2]*config.Config
	for i, path := range []string{sc.InMachine("config.toml"), sc.ConfigPath()} {
		if path == "" {
			continue
		}
		src, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && (i == 0 || sc.options.Config == "") {
			continue
		}
		if err != nil {
			return diag.New(diag.Misuse, "config_unreadable", "reading configuration: %w", err)
		}
		if files[i], err = config.Parse(src, path); err != nil {
			return err
		}
	}
	sc.Config, sc.machineConfig = config.Merge(files[0], files[1]), files[0]
	sc.tellFindings(sc.Config.Warnings)
	return nil
}

// Offline reports whether no network may be used, by Options or SKL_OFFLINE.
func (sc *Scope) Offline() bool {
	v := sc.Getenv("SKL_OFFLINE")
	return sc.options.Offline || v != "" && v != "0" && v != "false"
}

// EditConfig changes the user's config.toml, keeping its comments.
func (sc *Scope) EditConfig(dry bool, edit func(*config.Config) error) error {
	file := sc.ConfigPath()
	src, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	cfg, err := config.Parse(src, file)
	if err != nil {
		return err
	}
	if err := edit(cfg); err != nil || dry {
		return err
	}
	if err := sc.MkdirPrivate(filepath.Dir(file)); err != nil {
		return err
	}
	return durable.WriteFile(file, cfg.Bytes(), 0o600)
}
