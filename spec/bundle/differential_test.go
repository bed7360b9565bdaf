package bundle

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/skl-project/skl/testdata/long"
)

// A reading is what a program takes an archive for: kind and sha256 of each
// file or link, by path.
type reading map[string]string

func (r reading) add(p string, kind Kind, content []byte) {
	sum := sha256.Sum256(content)
	p = path.Clean(p)
	if _, twice := r[p]; twice {
		p += " (again)"
	}
	r[p] = string(kind) + hex.EncodeToString(sum[:])
}

func kindOf(executable bool) Kind {
	if executable {
		return Executable
	}
	return Plain
}

// ours is the reading of this package; its error is the refusal.
func ours(data []byte, format Format) (reading, error) {
	g := NewGuard(nil, InstallLimits)
	top, err := Unpack(bytes.NewReader(data), int64(len(data)), format, g)
	if err != nil {
		return nil, err
	}
	sum, err := g.Close()
	if err != nil {
		return nil, err
	}
	out := reading{}
	for _, e := range sum.Entries {
		out[path.Join(top, e.Path)] = string(e.Kind) + hex.EncodeToString(e.SHA256[:])
	}
	return out, nil
}

// goReader is archive/zip and archive/tar, used as most programs use them.
func goReader(data []byte, format Format) (reading, error) {
	if format == Zip {
		return goZip(data)
	}
	var src io.Reader = bytes.NewReader(data)
	if format == TarGz {
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil, err
		}
		src = z
	}
	out := reading{}
	for t := tar.NewReader(src); ; {
		h, err := t.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		switch h.Typeflag {
		case tar.TypeReg:
			body, err := io.ReadAll(t)
			if err != nil {
				return nil, err
			}
			out.add(h.Name, kindOf(h.Mode&0o111 != 0), body)
		case tar.TypeSymlink:
			out.add(h.Name, Link, []byte(h.Linkname))
		case tar.TypeDir, tar.TypeXGlobalHeader:
		default:
			out.add(h.Name, Kind(h.Typeflag), nil)
		}
	}
}

func goZip(data []byte) (reading, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	out := reading{}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		rc, err := f.Open()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(rc)
		if err != nil {
			return nil, err
		}
		kind := kindOf(f.Mode()&0o111 != 0)
		if f.Mode().Type() == fs.ModeSymlink {
			kind = Link
		}
		out.add(f.Name, kind, body)
	}
	return out, nil
}

// streamReader reads a zip as programs do that cannot seek: by the headers in front of
// the entries alone, up to the directory. It is goReader for other formats.
func streamReader(data []byte, format Format) (reading, error) {
	if format != Zip {
		return goReader(data, format)
	}
	modes := map[string]Kind{} // they stand in the directory alone
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for _, f := range z.File {
		modes[f.Name] = kindOf(f.Mode()&0o111 != 0)
		if f.Mode().Type() == fs.ModeSymlink {
			modes[f.Name] = Link
		}
	}
	out := reading{}
	le := binary.LittleEndian
	for bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		flags, method, size := le.Uint16(data[6:]), le.Uint16(data[8:]), int64(le.Uint32(data[18:]))
		name, extra := int(le.Uint16(data[26:])), int(le.Uint16(data[28:]))
		path := string(data[30 : 30+name])
		if size == 0xffffffff {
			size = int64(le.Uint64(data[30+name+4+8:]))
		}
		data = data[30+name+extra:]
		var body []byte
		switch {
		case method == 8:
			rest := bytes.NewReader(data)
			if body, err = io.ReadAll(flate.NewReader(rest)); err != nil {
				return nil, err
			}
			data = data[len(data)-rest.Len():]
		case flags&8 != 0:
			at := bytes.Index(data, []byte("PK\x07\x08"))
			body, data = data[:at], data[at:]
		default:
			body, data = data[:size], data[size:]
		}
		if flags&8 != 0 {
			data = data[16:]
		}
		if !strings.HasSuffix(path, "/") {
			out.add(path, modes[path], body)
		}
	}
	if !bytes.HasPrefix(data, []byte("PK\x01\x02")) {
		return nil, errors.New("there is more before the directory")
	}
	return out, nil
}

// need finds a program, or skips the test; with SKL_TEST_REQUIRE=all in the environment it fails.
func need(t *testing.T, program string) string {
	t.Helper()
	at, err := exec.LookPath(program)
	if err == nil {
		return at
	}
	if os.Getenv("SKL_TEST_REQUIRE") == "all" {
		t.Fatalf("%s is not there, and SKL_TEST_REQUIRE=all wants no test skipped", program)
	}
	t.Skipf("%s is not there", program)
	return ""
}

// A python is one process that reads archive after archive.
type python struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startPython(t *testing.T) *python {
	cmd := exec.CommandContext(t.Context(), need(t, "python3"), "-I", "testdata/readers.py")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	p := &python{in, bufio.NewScanner(out)}
	p.out.Buffer(nil, 1<<20)
	return p
}

func (p *python) read(data []byte, format Format) (reading, error) {
	if _, err := p.in.Write(fmt.Appendf(nil, "%s %d\n%s", format, len(data), data)); err != nil {
		return nil, err
	}
	if !p.out.Scan() {
		return nil, errors.New("python3 ended")
	}
	var answer struct {
		Error   string
		Entries [][3]string
	}
	if err := json.Unmarshal(p.out.Bytes(), &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	out := reading{}
	for _, e := range answer.Entries {
		p := path.Clean(e[0])
		if _, twice := out[p]; twice {
			p += " (again)"
		}
		out[p] = e[1] + e[2]
	}
	return out, nil
}

// An extractor is a program that writes files: Info-ZIP's unzip, GNU tar.
type extractor struct{ unzip, tar, scratch string }

func (x *extractor) read(data []byte, format Format) (reading, error) {
	dir, err := os.MkdirTemp(x.scratch, "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	into := filepath.Join(dir, "out")
	file := filepath.Join(dir, "in."+string(format))
	if err := errors.Join(os.Mkdir(into, 0o755), os.WriteFile(file, data, 0o600)); err != nil {
		return nil, err
	}
	cmd := exec.Command(x.tar, "-x", "-f", file, "-C", into, "--no-same-owner", "--no-same-permissions")
	if format == Zip {
		cmd = exec.Command(x.unzip, "-qq", "-n", file, "-d", into)
	}
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	out := reading{}
	return out, filepath.WalkDir(into, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(into, p)
		switch d.Type() {
		case 0:
			body, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			out.add(rel, kindOf(info.Mode()&0o111 != 0), body)
		case fs.ModeSymlink:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			out.add(rel, Link, []byte(target))
		default:
			out.add(rel, '?', nil)
		}
		return nil
	})
}

// generated is one archive that was made from a seed.
type generated struct {
	format  Format
	data    []byte
	changes []string // names of the mutations; none: honest
}

func generate(seed uint64) generated {
	r := rand.New(rand.NewPCG(12, seed))
	files := plan(r)
	changes := []int{0, 1, 1, 1, 2}[r.IntN(5)]
	if seed%2 == 0 {
		return generateZip(r, files, changes)
	}
	return generateTar(r, files, changes)
}

func generateZip(r *rand.Rand, files []planned, changes int) generated {
	var z zipPlan
	for _, f := range files {
		z.entries = append(z.entries, zipEntryOf(f, r.IntN(2) == 0, r.IntN(2) == 0))
	}
	out := generated{format: Zip}
	for range changes {
		m := zipMutations[r.IntN(len(zipMutations))]
		out.changes = append(out.changes, m.name)
		m.do(r, &z, z.entries[r.IntN(len(files))])
	}
	out.data = z.bytes()
	return out
}

func generateTar(r *rand.Rand, files []planned, changes int) generated {
	t := tarPlan{end: make([]byte, 1024), split: r.IntN(2)}
	for _, f := range files {
		t.entries = append(t.entries, tarEntryOf(f))
	}
	out := generated{format: Tar}
	for range changes {
		m := tarMutations[r.IntN(len(tarMutations))]
		out.changes = append(out.changes, m.name)
		m.do(r, &t, t.entries[r.IntN(len(files))])
	}
	out.data = t.bytes()
	if t.split > 0 {
		out.format, out.data = TarGz, gzipMembers(out.data, t.split)
	}
	return out
}

// gzipMembers compresses data as n members, one behind the other.
func gzipMembers(data []byte, n int) []byte {
	var buf bytes.Buffer
	for i := range n {
		w, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
		w.Write(data[i*len(data)/n : (i+1)*len(data)/n])
		w.Close()
	}
	return buf.Bytes()
}

// Whatever Unpack accepts, every other program reads in the same way: the same paths
// with the same kinds and bytes. Honest archives are accepted.
func TestArchivesMeanOneThing(t *testing.T) {
	archives := long.Of(200, 3_000, 10_000)
	if runtime.GOOS == "windows" {
		t.Skip("the programs to compare with are those of Unix")
	}
	py := startPython(t)
	x := &extractor{unzip: need(t, "unzip"), tar: need(t, "tar"), scratch: t.TempDir()}
	readers := []struct {
		name string
		read func([]byte, Format) (reading, error)
	}{{"Go", goReader}, {"a reader from the start", streamReader}, {"Python", py.read}, {"the extractor", x.read}}

	accepted, refused, extracted := map[string]int{}, map[string]int{}, map[string]int{}
	wrong := map[string]int{}
	for seed := range uint64(archives) {
		g := generate(seed)
		name := cmp.Or(strings.Join(g.changes, " + "), "honest")
		had, err := ours(g.data, g.format)
		if err != nil {
			if len(g.changes) == 0 {
				t.Errorf("seed %d: an honest %s is refused: %v", seed, g.format, err)
			}
			if len(g.changes) == 1 {
				refused[string(g.format[:3])+" "+name]++
			}
			continue
		}
		if len(g.changes) < 2 {
			accepted[string(g.format[:3])+" "+name]++
		}
		extracted[name]++
		for _, r := range readers {
			// Starting a program costs more than all else: of one kind of archive, it reads some.
			if r.name == "the extractor" && extracted[name] > 8 {
				continue
			}
			other, err := r.read(g.data, g.format)
			if err == nil && maps.Equal(other, had) {
				continue
			}
			if wrong[name]++; wrong[name] <= 1 {
				t.Errorf("seed %d: %s with %s: accepted as\n%v\n%s reads it as\n%v (%v)", seed, g.format, name, had, r.name, other, err)
			}
		}
	}
	checkGenerator(t, accepted, refused)
}

// Archives written by the usual programs are accepted, long and foreign names included.
func TestHonestArchives(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("long-name/", 14) + "é.md"
	for p, body := range map[string]string{"SKILL.md": "---\nname: a\n---\n", "scripts/run.sh": "#!/bin/sh\n", long: "text\n", "empty": ""} {
		if err := os.MkdirAll(filepath.Join(dir, "in", path.Dir(p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "in", p), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	python3, gnuTar := need(t, "python3"), need(t, "tar")
	script := func(body string) []string { return []string{python3, "-I", "-c", body, "../out"} }
	tests := []struct {
		name   string
		format Format
		args   []string // run in dir/in
	}{
		{"tar, GNU", Tar, []string{gnuTar, "-c", "--format=gnu", "-f", "../out", "."}},
		{"tar, pax", Tar, []string{gnuTar, "-c", "--format=pax", "-f", "../out", "."}},
		{"tar, ustar", Tar, []string{gnuTar, "-c", "--format=ustar", "-f", "../out", "SKILL.md", "scripts", "empty"}},
		{"tar, gzip", TarGz, []string{gnuTar, "-c", "-z", "-f", "../out", "."}},
		{"Python, pax", Tar, script("import sys,tarfile; tarfile.open(sys.argv[1],'w',format=tarfile.PAX_FORMAT).add('.')")},
		{"Python, GNU", TarGz, script("import sys,tarfile; tarfile.open(sys.argv[1],'w:gz',format=tarfile.GNU_FORMAT).add('.')")},
		{"Python, zip", Zip, script("import shutil,sys,os; os.rename(shutil.make_archive('../made','zip','.'), sys.argv[1])")},
		{"Python, zip with wide sizes", Zip, script("import sys,zipfile\nwith zipfile.ZipFile(sys.argv[1],'w') as z:\n" +
			" for n in 'SKILL.md', 'scripts/run.sh':\n  with z.open(n,'w',force_zip64=True) as f: f.write(open(n,'rb').read())")},
		{"Python, zip to a pipe", Zip, script("import sys,zipfile\nclass P:\n def __init__(s,f): s.f=f\n def write(s,b): return s.f.write(b)\n def flush(s): s.f.flush()\n" +
			"with zipfile.ZipFile(P(open(sys.argv[1],'wb')),'w',zipfile.ZIP_DEFLATED) as z:\n for n in 'SKILL.md', 'scripts/run.sh': z.write(n)")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), tt.args[0], tt.args[1:]...)
			cmd.Dir = filepath.Join(dir, "in")
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			data, err := os.ReadFile(filepath.Join(dir, "out"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := ours(data, tt.format); err != nil || len(got) < 2 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// checkGenerator holds the test itself to account: each mutation was tried on its own.
func checkGenerator(t *testing.T, accepted, refused map[string]int) {
	names := []string{"zip honest", "tar honest"}
	for _, m := range zipMutations {
		names = append(names, "zip "+m.name)
	}
	for _, m := range tarMutations {
		names = append(names, "tar "+m.name)
	}
	for _, n := range names {
		if accepted[n]+refused[n] < long.Of(0, 1, 10) {
			t.Errorf("%s was tried %d times", n, accepted[n]+refused[n])
		}
		t.Logf("%4d accepted, %4d refused: %s", accepted[n], refused[n], n)
	}
}
