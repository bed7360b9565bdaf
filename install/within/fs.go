package within

import "io/fs"

// FS gives read access to the directory at a path, which nothing in it leads out of. Each call opens it anew: nobody has to close
// it, and on systems that move no directory that is open it can be replaced in between.
type FS string

// in opens the directory for one call.
func in[T any](at FS, call func(t tree) (T, error)) (T, error) {
	d, err := Open(string(at))
	if err != nil {
		var none T
		return none, err
	}
	defer d.Close()
	return call(tree{d, string(at)})
}

func (d FS) Open(name string) (fs.File, error) {
	return in(d, func(t tree) (fs.File, error) { return t.Open(name) })
}

func (d FS) Stat(name string) (fs.FileInfo, error) {
	return in(d, func(t tree) (fs.FileInfo, error) { return t.Stat(name) })
}

func (d FS) ReadFile(name string) ([]byte, error) {
	return in(d, func(t tree) ([]byte, error) { return t.ReadFile(name) })
}

func (d FS) Lstat(name string) (fs.FileInfo, error) {
	return in(d, func(t tree) (fs.FileInfo, error) { return t.Lstat(name) })
}

func (d FS) ReadLink(name string) (string, error) {
	return in(d, func(t tree) (string, error) { return t.ReadLink(name) })
}

func (d FS) ReadDir(name string) ([]fs.DirEntry, error) {
	return in(d, func(t tree) ([]fs.DirEntry, error) { return t.ReadDir(name) })
}
