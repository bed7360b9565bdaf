// Package build says which source the running program was made from. The go command records that by itself, in a
// clone as well as for "go install": no build needs flags of the linker for it.
package build

import (
	"runtime/debug"
	"strings"
	"sync"
)

// unreleased is the version of a build that knows neither its tag nor its commit: one outside of version control, or
// with -buildvcs=false.
const unreleased = "0.1.0-dev"

// A Build is what a program knows of its source.
type Build struct {
	Version  string // "1.4.2" of a tag, "0.0.0-20261123014442-897d351fa1c2" of a commit without one; never with a "v"
	Commit   string // all 40 digits in a clone, 12 if go install was given a commit, "" if it was given a tag
	Modified bool   // the clone had changes that were not committed
	Sum      string // of the module, as the checksum database has it: "h1:…"; "" in a clone
}

// Current is the build of this program.
var Current = sync.OnceValue(func() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: unreleased}
	}
	return of(info)
})

// of reads what the go command recorded.
func of(info *debug.BuildInfo) Build {
	b := Build{Sum: info.Main.Sum}
	b.Version, b.Modified = strings.CutSuffix(strings.TrimPrefix(info.Main.Version, "v"), "+dirty")
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = unreleased
	}
	b.Commit = commitOf(b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// commitOf is the short commit at the end of a pseudo-version, "" for any other version. By golang.org/ref/mod a
// pseudo-version ends with 14 digits of a time, a hyphen and 12 digits of the commit.
func commitOf(version string) string {
	const length = len("-20261123014442-897d351fa1c2")
	if len(version) < length {
		return ""
	}
	end := version[len(version)-length:]
	if end[0] != '-' && end[0] != '.' || end[15] != '-' ||
		strings.Trim(end[1:15], "0123456789") != "" || strings.Trim(end[16:], "0123456789abcdef") != "" {
		return ""
	}
	return end[16:]
}
