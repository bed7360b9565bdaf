package rank

import (
	"path"
	"strings"
)

// inside says whether one of the directories of p has the name.
func inside(p, name string) bool {
	for {
		dir, rest, ok := strings.Cut(p, "/")
		if !ok {
			return false
		}
		if dir == name {
			return true
		}
		p = rest
	}
}

// IsTest says whether a file is a test or made for one, by its name or its directory.
func IsTest(p string) bool {
	base := path.Base(p)
	return strings.Contains(base, "_test.") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.HasPrefix(base, "test_") ||
		inside(p, "test") || inside(p, "tests") || inside(p, "testsuite") || inside(p, "testdata") || inside(p, "__tests__") || inside(p, "fixtures")
}

// IsForeign says whether a file is a copy of what others wrote, by its directory.
func IsForeign(p string) bool {
	return inside(p, "vendor") || inside(p, "node_modules") || inside(p, "third_party") || inside(p, "site-packages") || inside(p, "bower_components")
}

// IsMade says whether a program wrote a file, by its name or its directory: minified, a lock file, made by a compiler of protocols.
func IsMade(p string) bool {
	name := path.Base(p)
	switch name {
	case "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "bun.lockb",
		"go.sum", "go.work.sum", "Package.resolved", "packages.lock.json", "gradle.lockfile":
		return true
	}
	for _, part := range []string{".min.", ".bundle.js", ".pb.", ".gen.", "_generated.", ".g.dart", ".g.cs", ".Designer.cs"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	for _, end := range []string{".lock", ".map", "_gen.go", "_string.go", "_pb2.py", "_pb2_grpc.py", "_pb.js", "_pb.d.ts"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return strings.HasPrefix(name, "zz_generated") || strings.HasPrefix(name, "zz_") && strings.HasSuffix(name, ".go") || inside(p, "dist")
}
