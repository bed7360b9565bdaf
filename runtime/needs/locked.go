package needs

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/skill"
)

// integrity is a digest, or some with spaces between them, in the notations of go.sum and of npm.
var integrity = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(h1:|sha\d+-)[A-Za-z0-9+/=]{1,128}( sha\d+-[A-Za-z0-9+/=]{1,128}){0,3}$`)
})

// maxLockFile bounds a lock of another package manager: bytes.
const maxLockFile = 64 << 20

// A Locked is what the lock of a package manager says of a package.
type Locked struct {
	Version   string // without "v"; "" if no lock names the package
	Integrity string // of its bytes, in the notation of the ecosystem; "" if the lock says nothing of them
	File      string // the lock
}

// Locked is what the nearest lock says of a package: package-lock.json of npm, go.mod with go.sum, renv.lock. Of a Go module it is what is said
// of n.Version, if that is set. A lock that cannot be read says nothing.
func (p Places) Locked(n skill.Dependency) Locked {
	switch n.Ecosystem {
	case "npm":
		return p.lockedIn([]string{"package-lock.json", "npm-shrinkwrap.json"}, func(data []byte) Locked {
			var l struct {
				Packages map[string]struct{ Version, Integrity string }
			}
			if json.Unmarshal(data, &l) != nil {
				return Locked{}
			}
			pkg := l.Packages["node_modules/"+n.Name]
			return Locked{Version: pkg.Version, Integrity: pkg.Integrity}
		})
	case "go":
		version := n.Version
		if version == "" {
			version = p.required(n.Name)
		}
		if version == "" {
			return Locked{}
		}
		out := p.lockedIn([]string{"go.sum"}, func(data []byte) Locked {
			for line := range strings.Lines(string(data)) {
				if f := strings.Fields(line); len(f) == 3 && f[0] == n.Name && f[1] == version {
					return Locked{Version: strings.TrimPrefix(version, "v"), Integrity: f[2]}
				}
			}
			return Locked{}
		})
		out.Version, out.File = strings.TrimPrefix(version, "v"), cmp.Or(out.File, "go.mod")
		return out
	case "r":
		return p.lockedIn([]string{"renv.lock"}, func(data []byte) Locked {
			var l struct {
				Packages map[string]struct{ Version string }
			}
			if json.Unmarshal(data, &l) != nil {
				return Locked{}
			}
			return Locked{Version: l.Packages[n.Name].Version}
		})
	}
	return Locked{}
}

// lockedIn reads the nearest of files.
func (p Places) lockedIn(files []string, read func([]byte) Locked) Locked {
	for _, file := range p.above(files...) {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxLockFile {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return Locked{}
		}
		out := read(data)
		if !integrity().MatchString(out.Integrity) {
			out.Integrity = ""
		}
		out.File = filepath.Base(file)
		return out
	}
	return Locked{}
}
