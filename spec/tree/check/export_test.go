package check

import "io/fs"

// Rewritten is a skill with the texts that a migration writes.
func Rewritten(fsys fs.FS, files []Rewrite) fs.FS { return rewritten{fsys, files} }
