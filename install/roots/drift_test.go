package roots

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/bundle"
)

// installed makes a skill with a script, a link and a receipt in P/.agents/skills/pdf.
func installed(t *testing.T) (w *world, root string, r Receipt) {
	w = newWorld(t)
	root = w.path("P/.agents/skills")
	dir := filepath.Join(root, "pdf")
	w.mkdir(filepath.Join(dir, "scripts"))
	w.mkdir(filepath.Join(root, stateDir))
	w.write(filepath.Join(dir, skillFile), skillText("pdf", "a"))
	w.write(filepath.Join(dir, "scripts", "run.sh"), []byte("#!/bin/sh\necho one\n"))
	w.write(filepath.Join(dir, "scripts", "dos.txt"), []byte("one\r\ntwo\r\n"))
	w.write(filepath.Join(dir, "scripts", "é"), []byte("form\n"))
	if err := os.Chmod(filepath.Join(dir, "scripts", "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("scripts/run.sh", filepath.Join(dir, "run")); err != nil {
			t.Fatal(err)
		}
	}
	r = receiptFor(t, root, "pdf")
	r.Source, r.URL = "git", "https://git.example/pdf.git"
	w.write(ReceiptPath(root, "pdf"), r.Format())
	return w, root, r
}

func TestCheck(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes are those of Unix")
	}
	lf := func(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }
	tests := []struct {
		name  string
		edit  func(w *world, dir string)
		want  Drift
		codes string
	}{
		{"nothing", func(*world, string) {}, Drift{}, ""},
		{"changed", func(w *world, dir string) { w.write(dir+"/SKILL.md", skillText("pdf", "b")) },
			Drift{Changed: []string{"SKILL.md"}}, "E_DRIFT"},
		{"added", func(w *world, dir string) { w.write(dir+"/scripts/new.sh", nil) },
			Drift{Added: []string{"scripts/new.sh"}}, "E_DRIFT"},
		{"missing", func(w *world, dir string) { os.RemoveAll(dir + "/scripts") },
			Drift{Missing: []string{"scripts/dos.txt", "scripts/run.sh", "scripts/é"}}, "E_INCOMPLETE"},
		{"not executable any more", func(w *world, dir string) { os.Chmod(dir+"/scripts/run.sh", 0o644) },
			Drift{Mode: []string{"scripts/run.sh"}}, "E_MODE"},
		{"not executable, and missing", func(w *world, dir string) {
			os.Chmod(dir+"/scripts/run.sh", 0o644)
			os.Remove(dir + "/scripts/dos.txt")
		}, Drift{Missing: []string{"scripts/dos.txt"}, Mode: []string{"scripts/run.sh"}}, "E_INCOMPLETE E_MODE"},
		{"another form of a name", func(w *world, dir string) { os.Rename(dir+"/scripts/é", dir+"/scripts/"+norm.NFD.String("é")) },
			Drift{Form: []string{"scripts/é"}}, "E_FORM"},
		{"another form of a name, and other content", func(w *world, dir string) {
			os.Remove(dir + "/scripts/é")
			w.write(dir+"/scripts/"+norm.NFD.String("é"), []byte("x"))
		}, Drift{Added: []string{"scripts/" + norm.NFD.String("é")}, Missing: []string{"scripts/é"}}, "E_DRIFT"},
		{"line endings became CRLF", func(w *world, dir string) { w.write(dir+"/SKILL.md", lf(string(skillText("pdf", "a")))) },
			Drift{EOL: []string{"SKILL.md"}}, "E_EOL"},
		{"line endings became LF", func(w *world, dir string) { w.write(dir+"/scripts/dos.txt", []byte("one\ntwo\n")) },
			Drift{EOL: []string{"scripts/dos.txt"}}, "E_EOL"},
		{"a link became a file", func(w *world, dir string) { os.Remove(dir + "/run"); w.write(dir+"/run", []byte("scripts/run.sh")) },
			Drift{Links: []string{"run"}}, "E_LINK"},
		{"a link became another file", func(w *world, dir string) { os.Remove(dir + "/run"); w.write(dir+"/run", []byte("echo")) },
			Drift{Changed: []string{"run"}}, "E_DRIFT"},
		{"a file became a link", func(w *world, dir string) {
			os.Remove(dir + "/scripts/run.sh")
			os.Symlink("dos.txt", dir+"/scripts/run.sh")
		}, Drift{Changed: []string{"scripts/run.sh"}}, "E_DRIFT"},
		{"residue", func(w *world, dir string) {
			w.mkdir(dir + "/scripts/__pycache__")
			w.write(dir+"/scripts/__pycache__/x.pyc", []byte("x"))
			w.write(dir+"/.DS_Store", []byte("x"))
		}, Drift{Residue: []string{".DS_Store", "scripts/__pycache__/x.pyc"}}, "E_RESIDUE"},
		{"residue that passes", func(w *world, dir string) {
			w.mkdir(dir + "/own/__pycache__")
			w.write(dir+"/own/__pycache__/x.pyc", []byte("x"))
		},
			Drift{Passed: []string{"own/__pycache__/x.pyc"}}, ""},
		{"what looks like residue", func(w *world, dir string) {
			w.write(dir+"/scripts/x.pyc", []byte("x"))
			w.mkdir(dir + "/__pycache__/evil")
			w.mkdir(dir + "/scripts/.git")
			w.write(dir+"/__pycache__/evil/SKILL.md", []byte("x"))
			w.write(dir+"/scripts/.git/config", []byte("x"))
		}, Drift{Added: []string{"__pycache__/evil/SKILL.md", "scripts/.git", "scripts/x.pyc"}}, "E_DRIFT W_NESTED"},
		{"all at once", func(w *world, dir string) {
			w.write(dir+"/a", nil)
			w.write(dir+"/SKILL.md", lf(string(skillText("pdf", "a"))))
			os.Remove(dir + "/scripts/dos.txt")
		}, Drift{Added: []string{"a"}, Missing: []string{"scripts/dos.txt"}, EOL: []string{"SKILL.md"}}, "E_DRIFT E_EOL"},
	}
	for _, tt := range tests {
		if tt.want.Mode != nil && !durable.HasModes {
			tt.want.Mode, tt.codes = nil, strings.TrimSuffix(strings.TrimSuffix(tt.codes, "E_MODE"), " ") // the bit is not on the disk, and so was not lost
		}
		if tt.want.Form != nil && runtime.GOOS == "darwin" {
			continue // both names are one there
		}
		t.Run(tt.name, func(t *testing.T) {
			w, root, r := installed(t)
			if err := w.update(root); err != nil { // what it remembers must not hide the edit
				t.Fatal(err)
			}
			tt.edit(w, filepath.Join(root, "pdf"))
			for _, full := range []bool{false, true} {
				var known Cache
				if !full {
					known = w.caches().Load(root)
				}
				got, err := Look{known, passOwn}.Check(root, "pdf", r)
				if err != nil {
					t.Fatal(err)
				}
				if (got.Tree == r.Tree) != (!tt.want.Any() || tt.want.Residue != nil) {
					t.Errorf("full %v: tree %s of a copy with drift %v", full, got.Tree, tt.want.Any())
				}
				got.Tree = ""
				if !reflect.DeepEqual(got, tt.want) {
					t.Errorf("full %v: drift %+v, want %+v", full, got, tt.want)
				}
			}
			w.cfg.Own = func(string) Own { return passOwn }
			record := w.discover().Skills[0]
			if got := codes(record); got != tt.codes || record.State != Active {
				t.Errorf("listed as %s with %q, want active with %q", record.State, got, tt.codes)
			}
		})
	}
}

// passOwn lets residue pass in directories called own.
func passOwn(_ string, paths []string) (own []string) {
	for _, p := range paths {
		if strings.HasPrefix(p, "own/") {
			own = append(own, p)
		}
	}
	return own
}

func codes(r Record) string {
	var list []string
	for _, w := range r.Warnings {
		list = append(list, w.Code)
	}
	return strings.Join(list, " ")
}

// Whoever edits a skill can edit its receipt too, but not so that it names the
// digest of another release.
func TestForgedReceipt(t *testing.T) {
	w, root, r := installed(t)
	w.write(filepath.Join(root, "pdf", skillFile), skillText("pdf", "evil"))
	forged := receiptFor(t, root, "pdf")
	forged.Tree, forged.Source, forged.URL = r.Tree, r.Source, r.URL
	w.write(ReceiptPath(root, "pdf"), forged.Format())
	d, err := Look{}.Check(root, "pdf", forged)
	if err != nil || !d.Forged || !d.Any() || !d.Edited() {
		t.Errorf("drift %+v, %v; want it forged", d, err)
	}
	if err := os.Remove(filepath.Join(root, "pdf", "scripts", "dos.txt")); err != nil {
		t.Fatal(err)
	}
	if d, err := (Look{}).Check(root, "pdf", forged); err != nil || !d.Edited() || d.State() != "drift" {
		t.Errorf("drift %+v, %v; a file that is missing hides that the rest is forged", d, err)
	}
	if got := w.discover().Skills[0]; codes(got) != "E_DRIFT" || got.Digest == string(r.Tree) {
		t.Errorf("listed with %q and digest %s", codes(got), got.Digest)
	}
}

// Residue that a release holds is a file like any other.
func TestResidueOfTheRelease(t *testing.T) {
	w, root, r := installed(t)
	cached := filepath.Join(root, "pdf", "lib", "__pycache__", "x.pyc")
	w.mkdir(filepath.Dir(cached))
	w.write(cached, []byte("x"))
	found, err := new(scanner).scanTree(filepath.Join(root, "pdf"), map[string]bool{"lib/__pycache__": true, "lib/__pycache__/x.pyc": true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found.entries {
		r.Files[e.Path] = File{e.Size, e.SHA256, e.Kind}
	}
	r.Tree = found.tree()
	if d, err := (Look{}).Check(root, "pdf", r); err != nil || d.Any() {
		t.Errorf("drift %+v, %v", d, err)
	}
	if err := os.Remove(cached); err != nil {
		t.Fatal(err)
	}
	if d, _ := (Look{}).Check(root, "pdf", r); !slices.Equal(d.Missing, []string{"lib/__pycache__/x.pyc"}) {
		t.Errorf("drift %+v, want the file missing", d)
	}
}

func TestCheckOfMissingSkill(t *testing.T) {
	w, root, r := installed(t)
	if err := os.RemoveAll(filepath.Join(root, "pdf")); err != nil {
		t.Fatal(err)
	}
	d, err := Look{Known: w.caches().Load(root)}.Check(root, "pdf", r)
	if err != nil || len(d.Missing) != len(r.Files) {
		t.Errorf("drift %+v, %v; want every file missing", d, err)
	}
}

func TestCheckAllKeepsOrder(t *testing.T) {
	w := newWorld(t)
	root := w.path("P/.agents/skills")
	var receipts []Receipt
	for _, name := range strings.Fields("e d c b a") {
		w.skill("P/.agents/skills", name, name+"+acme")
		receipts = append(receipts, receiptFor(t, root, name))
	}
	w.write(filepath.Join(root, "c", skillFile), nil)
	drifts, err := Look{}.CheckAll(context.Background(), root, receipts)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range drifts {
		if d.Any() != (receipts[i].Name == "c") {
			t.Errorf("%s: drift %+v", receipts[i].Name, d)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if drifts, err := (Look{}).CheckAll(ctx, root, receipts); err == nil || drifts != nil {
		t.Errorf("after cancel: %v, %v", drifts, err)
	}
}

// The digest of a listing is the one every other part of skl computes.
func TestDigestIsTheBundles(t *testing.T) {
	w, root, _ := installed(t)
	guard := bundle.NewGuard(nil, bundle.Limits{})
	if err := bundle.FromFS(FS(durable.GuessModes(os.DirFS(filepath.Join(root, "pdf"))), filepath.Join(root, "pdf")), guard); err != nil {
		t.Fatal(err)
	}
	sum, err := guard.Close()
	if err != nil {
		t.Fatal(err)
	}
	if got := w.discover().Skills[0].Digest; got != string(sum.Tree) {
		t.Errorf("listed digest %s, want %s", got, sum.Tree)
	}
}

// A copy with content that no bundle may hold has no digest: two such copies never count as equal.
func TestNoDigest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	w := newWorld(t)
	for _, root := range []string{"P/.agents/skills", "H/.agents/skills"} {
		w.skill(root, "pdf", "a")
		if err := os.Symlink("/etc/hostname", w.path(root+"/pdf/link")); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range w.discover().Skills {
		if r.Digest != "" || !strings.Contains(codes(r), bundle.CodeLinkEscape) || strings.Contains(codes(r), "W_DUPLICATE_IDENTICAL") {
			t.Errorf("%s has digest %q and %q", r.Qualified, r.Digest, codes(r))
		}
	}
}

// The disk of a Mac may spell names in another form of Unicode than a receipt, and finds a file by either. A disk that does not is
// asked by TestDriftOfNames.
func TestTakeNames(t *testing.T) {
	nfc, nfd := "r\u00e9sum\u00e9/\u00e5.md", "re\u0301sume\u0301/a\u030a.md"
	r := Receipt{Files: map[string]File{nfc: {}, "SKILL.md": {}, "\u00fc.md": {}}}
	entry := func(paths ...string) (s scan) {
		for _, p := range paths {
			s.entries = append(s.entries, bundle.Entry{Path: p})
		}
		return s
	}
	for _, tt := range []struct {
		name string
		scan scan
		same bool
		want string
	}{
		{"one file by two names", entry("SKILL.md", nfd, "\u00fc.md"), true, "SKILL.md " + nfc + " \u00fc.md"},
		{"two names", entry("SKILL.md", nfd, "\u00fc.md"), false, "SKILL.md " + nfd + " \u00fc.md"},
		{"both are there", entry("SKILL.md", nfc, nfd), true, "SKILL.md " + nfc + " " + nfd},
		{"not of the receipt", entry("o\u0308.md", "u\u0308.md"), true, "o\u0308.md \u00fc.md"},
	} {
		tt.scan.takeNamesIf(r, func(onDisk, recorded string) bool {
			if onDisk == recorded || norm.NFC.String(onDisk) != norm.NFC.String(recorded) {
				t.Errorf("%s: %q and %q are compared", tt.name, onDisk, recorded)
			}
			return tt.same
		})
		var got []string
		for _, e := range tt.scan.entries {
			got = append(got, e.Path)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The disk decides whether two forms of a name differ: two names are a difference, one is not.
func TestDriftOfNames(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, "x", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("SKILL.md", "---\nname: x\ndescription: Does a thing.\n---\n")
	write("re\u0301sume\u0301.md", "text\n")
	found, err := new(scanner).scanTree(filepath.Join(root, "x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Receipt{Name: "x", Files: map[string]File{}}
	for i, e := range found.entries {
		found.entries[i].Path = norm.NFC.String(e.Path)
		r.Files[found.entries[i].Path] = File{Mode: e.Kind, Size: e.Size, SHA256: e.SHA256}
	}
	r.Tree = bundle.TreeDigest(found.entries)
	_, err = os.Lstat(filepath.Join(root, "x", "r\u00e9sum\u00e9.md"))
	d, checkErr := Look{}.Check(root, "x", r)
	if checkErr != nil {
		t.Fatal(checkErr)
	}
	if d.Any() != (err != nil) {
		t.Errorf("a disk that finds the file by the other name: %t; drift %+v", err == nil, d)
	}
}
