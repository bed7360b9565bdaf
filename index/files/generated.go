package files

import "strings"

// Generated says that a file, by its path, was likely written or copied by a program: minified, a lock file, made
// by a compiler of protocols, vendored. Such a file is found like any other; a ranking may put it last.
func Generated(path string) bool {
	name := path
	for dir := path; ; {
		head, rest, more := strings.Cut(dir, "/")
		if !more {
			name = head
			break
		}
		switch head {
		case "vendor", "third_party", "bower_components", "dist":
			return true
		}
		dir = rest
	}
	switch name {
	case "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "bun.lockb",
		"go.sum", "go.work.sum", "Package.resolved", "packages.lock.json", "gradle.lockfile":
		return true
	}
	_, ext, _ := strings.Cut(name, ".") // all of it: "min.js" of "a.min.js"
	if i := strings.LastIndexByte(ext, '.'); i >= 0 {
		switch last := ext[i+1:]; ext[strings.LastIndexByte(ext[:i], '.')+1:] {
		case "min.js", "min.mjs", "min.css", "bundle.js", "pb.go", "pb.cc", "pb.h", "pb.gw.go", "g.dart", "g.cs", "Designer.cs":
			return true
		default:
			if last == "map" {
				return true
			}
		}
	}
	for _, end := range []string{".lock", ".map", "_generated.go", "_gen.go", ".gen.go", "_string.go", "_pb2.py", "_pb2_grpc.py", "_pb.js", "_pb.d.ts"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return strings.HasPrefix(name, "zz_generated.") || strings.HasPrefix(name, "zz_") && strings.HasSuffix(name, ".go")
}
