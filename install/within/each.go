package within

import "io/fs"

// FS gives read access to the directory at path, which nothing in it leads out of. Each call opens it anew: nobody has to close
// it, and on systems that move no directory that is open it can be replaced in between.
func FS(path string) fs.FS { return each(path) }

type each string

// in opens the directory for one call.
func in[T any](e each, call func(t tree) (T, error)) (T, error) {
	d, err := Open(string(e))
	if err != nil {
		var none T
		return none, err
	}
	defer d.Close()
	return call(tree{d, string(e)})
}

func (e each) Open(name string) (fs.File, error) {
	return in(e, func(t tree) (fs.File, error) { return t.Open(name) })
}

func (e each) Stat(name string) (fs.FileInfo, error) {
	return in(e, func(t tree) (fs.FileInfo, error) { return t.Stat(name) })
}

func (e each) ReadFile(name string) ([]byte, error) {
	return in(e, func(t tree) ([]byte, error) { return t.ReadFile(name) })
}

func (e each) Lstat(name string) (fs.FileInfo, error) {
	return in(e, func(t tree) (fs.FileInfo, error) { return t.Lstat(name) })
}

func (e each) ReadLink(name string) (string, error) {
	return in(e, func(t tree) (string, error) { return t.ReadLink(name) })
}

func (e each) ReadDir(name string) ([]fs.DirEntry, error) {
	return in(e, func(t tree) ([]fs.DirEntry, error) { return t.ReadDir(name) })
}
