// Package gopkg reads the documentation of Go modules: go.mod, the exported declarations and comments of every package that others can
// import, its examples, its commands and the README. Files are those of one platform, linux on amd64 without cgo, which is noted where
// others hold more. Nothing is built or run, and no other module is looked at: what a type embeds of one is not listed.
//
// A package is a page; its id is its directory in the module, the package's name for the module's own.
package gopkg

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// ErrNoModule is that of a folder which is no Go module.
var ErrNoModule = errors.New("there is no go.mod of a Go module")

// maxDirs bounds the folders of a module that are looked at.
const maxDirs = 10_000

// Read reads the module at the root of fsys, which is of that version: no file of a module says it.
func Read(fsys fs.FS, version string) (*pkgdoc.Package, error) { return ReadAs(fsys, "", version) }

// ReadAs reads a module that may be older than go.mod: one without that file is called name, as the go command calls it by its place in the
// module cache. Its error is [ErrNoModule] if both are missing.
func ReadAs(fsys fs.FS, name, version string) (*pkgdoc.Package, error) {
	r := &reader{files: &pkgdoc.Files{FS: fsys}, ids: map[string]bool{}}
	mod, err := r.files.Read("go.mod")
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == "":
		return nil, ErrNoModule
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if name = modfile.ModulePath(mod); name == "" {
			return nil, fmt.Errorf("go.mod: it names no module: %w", ErrNoModule)
		}
	}
	r.p = pkgdoc.Package{Ecosystem: "go", Name: name, Version: strings.TrimPrefix(version, "v"), Pages: []pkgdoc.Page{}, Guides: []pkgdoc.Guide{}}
	dirs, err := r.dirs()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if err := r.dir(dir); err != nil {
			return nil, err
		}
	}
	if r.other > 0 {
		text := fmt.Sprintf("%d files are for other platforms than linux on amd64, or for cgo: they are left out", r.other)
		if r.other == 1 {
			text = "1 file is for another platform than linux on amd64, or for cgo: it is left out"
		}
		r.p.Lacks("", "What is only for other platforms than linux on amd64, or for cgo, is not described here.", "%s", text)
	}
	slices.SortFunc(r.p.Pages, func(a, b pkgdoc.Page) int { return cmp.Compare(a.ID, b.ID) })
	if err := r.files.Finish(&r.p); err != nil {
		return nil, err
	}
	return &r.p, nil
}

// reader reads one module.
type reader struct {
	files *pkgdoc.Files
	p     pkgdoc.Package
	other int // files of other platforms
	ids   map[string]bool
}

// dirs are the folders that may hold a package others can import, and commands, in order.
func (r *reader) dirs() (out []string, err error) {
	err = fs.WalkDir(r.files.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name != "." {
			switch base := d.Name(); {
			case base[0] == '.' || base[0] == '_', base == "testdata", base == "vendor", base == "internal", r.files.Has(path.Join(name, "go.mod")):
				return fs.SkipDir
			}
			if r.files.Has(path.Join(name, "SKILL.md")) {
				r.p.Skills = append(r.p.Skills, name)
			}
		}
		if out = append(out, name); len(out) > maxDirs {
			return fmt.Errorf("%w: it has more than 10,000 folders", pkgdoc.ErrTooLarge)
		}
		return nil
	})
	return out, err
}

// dir reads the package of a folder, if there is one.
func (r *reader) dir(dir string) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range r.files.List(dir) {
		if path.Ext(name) != ".go" || name[0] == '_' || name[0] == '.' {
			continue
		}
		file := path.Join(dir, name)
		src, err := r.files.Read(file)
		if errors.Is(err, pkgdoc.ErrTooLarge) {
			return err
		}
		if err != nil {
			r.p.Note(file, 0, "it is left out: %v", err)
			continue
		}
		if !matches(name, src) {
			r.other++
			continue
		}
		f, err := parse(fset, file, src)
		if err != nil {
			r.p.Note(file, 0, "it is left out: %v", err)
			continue
		}
		files = append(files, f)
	}
	name := packageName(files)
	if name == "" {
		return nil
	}
	files = slices.DeleteFunc(files, func(f *ast.File) bool {
		return f.Name.Name != name && !(strings.HasSuffix(fset.Position(f.Package).Filename, "_test.go") && f.Name.Name == name+"_test")
	})
	importPath := path.Join(r.p.Name, dir)
	pkg, err := doc.NewFromFiles(fset, files, importPath)
	if err != nil {
		r.p.Note(dir, 0, "it is left out: %v", err)
		return nil
	}
	r.page(dir, pkg, fset)
	return nil
}

// parse reads a file as far as documentation needs it. Text that makes the parser fail is an error, also by depth.
func parse(fset *token.FileSet, name string, src []byte) (f *ast.File, err error) {
	if f, err = parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New(first)
	}
	return f, nil
}

// packageName is the package of files that are no tests.
func packageName(files []*ast.File) string {
	for _, f := range files {
		if n := f.Name.Name; !strings.HasSuffix(n, "_test") && n != "documentation" {
			return n
		}
	}
	return ""
}

// systems and processors that names of files may end with.
const (
	systems    = " aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos "
	processors = " 386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm "
)

// matches reports whether a file is of the platform: by its name and by its constraint.
func matches(name string, src []byte) bool {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(name, ".go"), "_test"), "_")
	if n := len(parts); n >= 2 {
		last, before := parts[n-1], ""
		if n >= 3 {
			before = parts[n-2]
		}
		is := func(list, s string) bool { return s != "" && strings.Contains(list, " "+s+" ") }
		switch {
		case is(processors, last):
			if last != "amd64" || is(systems, before) && before != "linux" {
				return false
			}
		case is(systems, last) && last != "linux":
			return false
		}
	}
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		switch {
		case constraint.IsGoBuild(line):
			expr, err := constraint.Parse(line)
			return err != nil || expr.Eval(holds)
		case line == "" || strings.HasPrefix(line, "//"):
		default:
			return true // the package clause, or a comment that is no line
		}
	}
	return true
}

// holds reports whether a tag of a constraint is that of the platform.
func holds(tag string) bool {
	return tag == "linux" || tag == "amd64" || tag == "unix" || tag == "gc" || strings.HasPrefix(tag, "go1.")
}

// page adds the page of a package.
func (r *reader) page(dir string, pkg *doc.Package, fset *token.FileSet) {
	id := dir
	if dir == "." {
		id = pkg.Name
	}
	for base, n := id, 2; r.ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	r.ids[id] = true
	w := &writer{pkg: pkg, fset: fset, id: id}
	p := pkgdoc.Page{ID: id, Title: strings.TrimSuffix(pkg.Synopsis(pkg.Doc), "."), Text: w.text(pkg.Doc), Symbols: []pkgdoc.Symbol{}, File: dir, Deprecated: w.deprecated(pkg.Doc)}
	if pkg.Name == "main" {
		at := "@v" + r.p.Version
		if r.p.Version == pkgdoc.Devel {
			at = "@latest" // the go command takes no other word for a version
		}
		p.Symbols = append(p.Symbols, pkgdoc.Symbol{ID: path.Join(id, "main"), Name: path.Base(pkg.ImportPath), Kind: pkgdoc.Command, Signature: "go install " + pkg.ImportPath + at})
		r.p.Pages = append(r.p.Pages, p)
		return
	}
	w.all(pkg)
	p.Symbols, p.Examples = w.symbols, w.examples(pkg)
	if len(p.Symbols) == 0 && p.Text == "" {
		return
	}
	if dir == "." {
		r.p.Title, r.p.Text = p.Title, firstParagraph(p.Text)
	}
	r.p.Pages = append(r.p.Pages, p)
}

func firstParagraph(s string) string {
	s, _, _ = strings.Cut(s, "\n\n")
	return s
}

// A writer makes symbols of a package's declarations.
type writer struct {
	pkg     *doc.Package
	fset    *token.FileSet
	id      string
	symbols []pkgdoc.Symbol
}

func (w *writer) text(s string) string {
	p := w.pkg.Printer()
	p.HeadingLevel = 4 // below that of a symbol
	p.HeadingID = func(*comment.Heading) string { return "" }
	p.DocLinkURL = func(*comment.DocLink) string { return "" } // names that code can look up; pages have no anchors
	return strings.TrimSpace(string(p.Markdown(w.pkg.Parser().Parse(s))))
}

// deprecated is what a comment says behind "Deprecated:", "" if it does not.
func (w *writer) deprecated(s string) string {
	for p := range strings.SplitSeq(s, "\n\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(p), "Deprecated:"); ok {
			return cmp.Or(strings.Join(strings.Fields(w.text(rest)), " "), "it is deprecated")
		}
	}
	return ""
}

func (w *writer) add(name string, kind pkgdoc.Kind, sig, text string, node ast.Node) {
	w.symbols = append(w.symbols, pkgdoc.Symbol{ID: w.id + "." + name, Name: w.pkg.Name + "." + name, Kind: kind, Signature: sig, Text: w.text(text), Deprecated: w.deprecated(text),
		Line: w.fset.Position(node.Pos()).Line})
}

// all adds every declaration, in the order of documentation.
func (w *writer) all(pkg *doc.Package) {
	w.values(pkg.Consts, pkgdoc.Constant)
	w.values(pkg.Vars, pkgdoc.Variable)
	w.funcs(pkg.Funcs, "")
	for _, t := range pkg.Types {
		kind := pkgdoc.Type
		if spec := specOf(t); spec != nil {
			if _, ok := spec.Type.(*ast.InterfaceType); ok {
				kind = pkgdoc.Interface
			}
		}
		w.add(t.Name, kind, w.code(t.Decl), t.Doc, t.Decl)
		w.values(t.Consts, pkgdoc.Constant)
		w.values(t.Vars, pkgdoc.Variable)
		w.funcs(t.Funcs, "")
		w.funcs(t.Methods, t.Name)
	}
}

func specOf(t *doc.Type) *ast.TypeSpec {
	for _, s := range t.Decl.Specs {
		if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.Name == t.Name {
			return spec
		}
	}
	return nil
}

// values adds the exported names of a group; its text and its code are at the first.
func (w *writer) values(list []*doc.Value, kind pkgdoc.Kind) {
	for _, v := range list {
		first := true
		for _, name := range v.Names {
			if !token.IsExported(name) {
				continue
			}
			sig, text := "", ""
			if first {
				sig, text = w.code(v.Decl), v.Doc
			}
			w.add(name, kind, sig, text, v.Decl)
			first = false
		}
	}
}

func (w *writer) funcs(list []*doc.Func, of string) {
	for _, f := range list {
		name, kind := f.Name, pkgdoc.Function
		if of != "" {
			name, kind = of+"."+f.Name, pkgdoc.Method
		}
		decl := *f.Decl
		decl.Doc, decl.Body = nil, nil
		w.add(name, kind, w.code(&decl), f.Doc, f.Decl)
		w.symbols[len(w.symbols)-1].Params = params(f.Decl.Type, w)
	}
}

func params(t *ast.FuncType, w *writer) (out []pkgdoc.Param) {
	for _, f := range t.Params.List {
		typ := w.code(f.Type)
		_, open := f.Type.(*ast.Ellipsis)
		for _, n := range f.Names {
			out = append(out, pkgdoc.Param{Name: n.Name, Type: typ, Required: !open})
		}
		if len(f.Names) == 0 {
			out = append(out, pkgdoc.Param{Name: "_", Type: typ, Required: !open})
		}
	}
	return out
}

// code is a declaration as gofmt writes it, without its comments before it.
func (w *writer) code(n ast.Node) string {
	switch d := n.(type) {
	case *ast.GenDecl:
		c := *d
		c.Doc = nil
		n = &c
	}
	var b strings.Builder
	if err := format.Node(&b, w.fset, n); err != nil {
		return ""
	}
	return b.String()
}

// examples are the code of the examples, those of the package first.
func (w *writer) examples(pkg *doc.Package) (out []string) {
	add := func(name string, list []*doc.Example) {
		for _, e := range list {
			var b strings.Builder
			node := any(e.Code)
			if block, ok := e.Code.(*ast.BlockStmt); ok {
				node = block.List
			}
			if e.Play != nil && len(e.Play.Decls) > 2 {
				node = e.Play
			}
			if err := format.Node(&b, w.fset, node); err != nil {
				continue
			}
			text := "// " + strings.TrimSpace(name+" "+e.Suffix) + "\n" + b.String()
			if e.Output != "" && !strings.Contains(b.String(), "Output:") {
				text += "\n// Output:\n// " + strings.ReplaceAll(strings.TrimSpace(e.Output), "\n", "\n// ")
			}
			out = append(out, text)
		}
	}
	add("Package "+pkg.Name, pkg.Examples)
	for _, f := range pkg.Funcs {
		add(f.Name, f.Examples)
	}
	for _, t := range pkg.Types {
		add(t.Name, t.Examples)
		for _, f := range t.Funcs {
			add(f.Name, f.Examples)
		}
		for _, f := range t.Methods {
			add(t.Name+"."+f.Name, f.Examples)
		}
	}
	return out
}
