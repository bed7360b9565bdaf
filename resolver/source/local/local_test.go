package local

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

func skillText(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\nmetadata:\n  version: \"1.2.3\"\n---\n"
}

// write makes a folder: content by path, "x " in front for an executable, "-> " for a link.
func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for p, content := range files {
		at := filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err = os.Symlink(filepath.FromSlash(target), at); err != nil && runtime.GOOS == "windows" {
				t.Skip("no links for this user: ", err)
			}
		} else if rest, ok := strings.CutPrefix(content, "x "); ok {
			err = os.WriteFile(at, []byte(rest), 0o755)
		} else {
			err = os.WriteFile(at, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var theRelease source.Release // the one release of a place

func parse(t *testing.T, s string) ref.Ref {
	t.Helper()
	r, err := ref.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// show writes what was found, one skill a line: name, version, path.
func show(found []source.Found) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s %q", f.Lock.Name, f.Lock.Version, f.Lock.Path)
		if f.Invalid != nil {
			fmt.Fprintf(&b, " invalid")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestSkillsOfFolders(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		ref   string
		want  string
	}{
		{"a skill is itself, with what is below it", map[string]string{
			"notes/SKILL.md": skillText("notes"), "notes/skills/inner/SKILL.md": skillText("inner"),
		}, "./notes", `notes 1.2.3 ""`},
		{"the frontmatter names it, not the folder", map[string]string{"checkout/SKILL.md": skillText("notes")}, "./checkout", `notes 1.2.3 ""`},
		{"a folder of skills, best place first", map[string]string{
			"tests/c/SKILL.md": skillText("c"), "b/SKILL.md": skillText("b"), "skills/a/SKILL.md": skillText("a"),
			".git/x/SKILL.md": skillText("x"), "node_modules/y/SKILL.md": skillText("y"), "1/2/3/4/5/6/7/8/9/SKILL.md": skillText("deep"),
			"README.md": "",
		}, ".", "a 1.2.3 \"skills/a\"\nb 1.2.3 \"b\"\nc 1.2.3 \"tests/c\""},
		{"the eighth directory is looked at", map[string]string{"1/2/3/4/5/6/7/8/SKILL.md": skillText("deep")}, ".", `deep 1.2.3 "1/2/3/4/5/6/7/8"`},
		{"without a name the folder's counts", map[string]string{"pdf/SKILL.md": "---\ndescription: Reads.\n---\n"}, "./pdf", `pdf  ""`},
		{"what cannot be read is listed", map[string]string{"pdf/SKILL.md": "no frontmatter"}, "./pdf", `pdf  "" invalid`},
		{"a name that is not a directory", map[string]string{"pdf/SKILL.md": strings.ReplaceAll(skillText("pdf"), "pdf", "../pdf")}, "./pdf", `../pdf 1.2.3 ""`},
		{"a version that is not semantic", map[string]string{"pdf/SKILL.md": strings.ReplaceAll(skillText("pdf"), "1.2.3", "1.2")}, "./pdf", `pdf  ""`},
		{"a link as SKILL.md", map[string]string{"pdf/SKILL.md": "-> docs/main.md", "pdf/docs/main.md": skillText("pdf")}, "./pdf", `pdf 1.2.3 ""`},
		{"a link as SKILL.md that leads out", map[string]string{"pdf/SKILL.md": "-> ../secret.md", "secret.md": skillText("pdf")}, "./pdf", ""},
		{"links to directories are not followed", map[string]string{"all/pdf": "-> ../pdf", "pdf/SKILL.md": skillText("pdf")}, "./all", ""},
		{"nothing", map[string]string{"README.md": ""}, ".", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Source{Dir: write(t, tt.files)}
			r := parse(t, tt.ref)
			found, err := s.Skills(context.Background(), r, theRelease, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(show(found)); got != tt.want {
				t.Errorf("found\n%s\nwant\n%s", got, tt.want)
			}
			for _, f := range found {
				if f.Lock.Source != "local" || f.Lock.URL != r.Path || f.Lock.Artifact != "" || f.Invalid == nil && f.Description == "" {
					t.Errorf("found %+v", f)
				}
			}
			releases, err := s.Versions(context.Background(), r)
			if err != nil || len(releases) != 1 || releases[0].Kind != source.Folder {
				t.Fatalf("Versions = %+v, %v", releases, err)
			}
			if want := len(found) == 1 && found[0].Lock.Version != ""; (releases[0].Version != "") != want {
				t.Errorf("the release has version %q", releases[0].Version)
			}
		})
	}
}

// fetch returns the summary and the error of Fetch into a Guard.
func fetch(s *Source, l lock.Skill) (bundle.Summary, error) {
	g := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := s.Fetch(context.Background(), l, g); err != nil {
		return bundle.Summary{}, err
	}
	return g.Close()
}

func kinds(sum bundle.Summary) string {
	var b strings.Builder
	for _, e := range sum.Entries {
		fmt.Fprintf(&b, "%c %s\n", e.Kind, e.Path)
	}
	return strings.TrimSpace(b.String())
}

func TestFetchFolder(t *testing.T) {
	s := &Source{Dir: write(t, map[string]string{
		"skills/pdf/SKILL.md":           skillText("pdf"),
		"skills/pdf/scripts/run.sh":     "x #!/bin/sh\n",
		"skills/pdf/docs/latest.md":     "-> ../SKILL.md",
		"skills/pdf/__pycache__/x.pyc":  "",
		"skills/pdf/.git":               "gitdir: ../../.git",
		"skills/evil/SKILL.md":          skillText("evil"),
		"skills/evil/passwd":            "-> ../../secret",
		"skills/through/SKILL.md":       skillText("through"),
		"skills/through/secrets":        "-> ../../private",
		"secret":                        "secret",
		"private/key":                   "secret",
		"skills/pointer/SKILL.md":       skillText("pointer"),
		"skills/pointer/model.bin":      "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
		"out":                           "-> ../elsewhere",
		"linked":                        "-> skills/pdf",
		"skills/pdf/assets/empty.txt":   "",
		"skills/pdf/assets/.DS_Store":   "",
		"skills/pdf/assets/.gitignore":  "",
		"skills/pdf/references/long.md": strings.Repeat("line\n", 100_000),
	})}
	want := "- SKILL.md\n- assets/.gitignore\n- assets/empty.txt\nl docs/latest.md\n- references/long.md\nx scripts/run.sh"
	if runtime.GOOS == "windows" {
		want = strings.Replace(want, "x scripts", "- scripts", 1)
	}
	for _, l := range []lock.Skill{{URL: "./skills/pdf"}, {URL: ".", Path: "skills/pdf"}, {URL: s.Dir + "/skills/pdf"}, {URL: "./linked"}} {
		sum, err := fetch(s, l)
		if got := kinds(sum); err != nil || got != want {
			t.Errorf("%s //%s:\n%s\n%v", l.URL, l.Path, got, err)
		}
	}
	tests := []struct {
		url, path string
		class     diag.Class
		code      string
	}{
		{"./skills/evil", "", diag.Refused, bundle.CodeLinkEscape},
		{"./skills/through", "", diag.Refused, bundle.CodeLinkEscape},
		{".", "skills/through/secrets", diag.Refused, bundle.CodeNoSkillMD}, // inside ".", so it is read, and is no skill
		{"./skills/through", "secrets", diag.Failed, "unreadable"},
		{".", "out", diag.Failed, "unreadable"},
		{"./skills/pointer", "", diag.Refused, bundle.CodeLFSPointer},
		{".", "skills/gone", diag.Failed, "unknown_path"},
		{"./gone", "", diag.Failed, "unknown_path"},
		{".", "../x", diag.Refused, bundle.CodePathTraversal},
		{"./secret", "", diag.Misuse, "unknown_format"},
		{"./skills/pdf/SKILL.md", "", diag.Misuse, "unknown_format"},
	}
	for _, tt := range tests {
		sum, err := fetch(s, lock.Skill{URL: tt.url, Path: tt.path})
		if !errors.Is(err, diag.Code(tt.code)) || diag.ClassOf(err) != tt.class || sum.Tree != "" {
			t.Errorf("%s //%s: class %d, %v; want class %d, %s", tt.url, tt.path, diag.ClassOf(err), err, tt.class, tt.code)
		}
	}
}

func TestMissingPlace(t *testing.T) {
	s := &Source{Dir: t.TempDir()}
	for _, text := range []string{"./gone", "../gone.zip"} {
		_, err := s.Versions(context.Background(), parse(t, text))
		if diag.ClassOf(err) != diag.Misuse || !strings.Contains(err.Error(), "gone") {
			t.Errorf("Versions of %s: %v", text, err)
		}
		if _, err := s.Skills(context.Background(), parse(t, text), theRelease, nil); diag.ClassOf(err) != diag.Misuse {
			t.Errorf("Skills of %s: %v", text, err)
		}
	}
}

// pack writes an archive of a folder and returns its locked digest.
func pack(t *testing.T, dir, file string, how func(io.Writer, string) error) string {
	t.Helper()
	var buf bytes.Buffer
	if err := how(&buf, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(buf.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:])
}

func tarGz(w io.Writer, dir string) error { _, err := bundle.Pack(w, os.DirFS(dir)); return err }
func zipped(w io.Writer, dir string) error {
	_, err := bundle.PackZip(w, os.DirFS(dir))
	return err
}

// plainTar is what "tar c" gives for the parent of skills: no SKILL.md at the root.
func plainTar(w io.Writer, dir string) error {
	tw := tar.NewWriter(w)
	if err := tw.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return tw.Close()
}

func TestArchives(t *testing.T) {
	one := write(t, map[string]string{"SKILL.md": skillText("notes"), "run.sh": "x run"})
	many := write(t, map[string]string{"top/skills/a/SKILL.md": skillText("a"), "top/skills/a/x": "a", "top/skills/b/SKILL.md": skillText("b"), "top/README.md": ""})
	s := &Source{Dir: t.TempDir()}
	tests := []struct {
		file, dir string
		how       func(io.Writer, string) error
		want      string
		paths     string // of the first skill
	}{
		{"notes.skill", one, zipped, `notes 1.2.3 ""`, "- SKILL.md\nx run.sh"},
		{"notes2.skill", one, tarGz, `notes 1.2.3 ""`, "- SKILL.md\nx run.sh"},
		{"notes.tar.gz", one, tarGz, `notes 1.2.3 ""`, "- SKILL.md\nx run.sh"},
		{"misnamed.zip", one, tarGz, `notes 1.2.3 ""`, "- SKILL.md\nx run.sh"},
		{"many.tgz", many, plainTar, "a 1.2.3 \"skills/a\"\nb 1.2.3 \"skills/b\"", "- SKILL.md\n- x"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			at := filepath.Join(s.Dir, tt.file)
			artifact := pack(t, tt.dir, at, tt.how)
			found, err := s.Skills(context.Background(), parse(t, "./"+tt.file), theRelease, nil)
			if err != nil || strings.TrimSpace(show(found)) != tt.want {
				t.Fatalf("found %s, %v", show(found), err)
			}
			l := found[0].Lock
			if l.Artifact != ref.Digest(artifact) || l.URL != "./"+tt.file || l.Source != "local" {
				t.Errorf("locked %+v, want %s", l, artifact)
			}
			sum, err := fetch(s, l)
			if got := kinds(sum); err != nil || runtime.GOOS != "windows" && got != tt.paths {
				t.Errorf("fetched\n%s\n%v", got, err)
			}
			// Whoever changes the archive is noticed before the sink sees a byte.
			data, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 1
			if err := os.WriteFile(at, data, 0o644); err != nil {
				t.Fatal(err)
			}
			err = s.Fetch(context.Background(), l, untouched{t})
			if diag.ClassOf(err) != diag.Refused || !errors.Is(err, diag.Code("E_DIGEST")) {
				t.Errorf("changed: %v", err)
			}
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(at, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := s.Fetch(context.Background(), l, untouched{t}); !errors.Is(err, diag.Code("E_DIGEST")) {
				t.Errorf("a folder in its place: %v", err)
			}
		})
	}
}

// untouched is a Sink that must be given nothing.
type untouched struct{ t *testing.T }

func (u untouched) File(p string, _ bool, _ int64, _ io.Reader) error {
	u.t.Errorf("the sink was given %s", p)
	return nil
}

func (u untouched) Link(p, _ string) error { return u.File(p, false, 0, nil) }

func TestCancel(t *testing.T) {
	s := &Source{Dir: write(t, map[string]string{"pdf/SKILL.md": skillText("pdf"), "all/pdf/SKILL.md": skillText("pdf")})}
	pack(t, filepath.Join(s.Dir, "pdf"), filepath.Join(s.Dir, "pdf.skill"), zipped)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, url := range []string{"./pdf", "./pdf.skill"} {
		if err := s.Fetch(ctx, lock.Skill{URL: url}, untouched{t}); !errors.Is(err, context.Canceled) {
			t.Errorf("Fetch of %s: %v", url, err)
		}
	}
	for _, text := range []string{"./all", "./pdf.skill"} {
		if _, err := s.Skills(ctx, parse(t, text), theRelease, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Skills of %s: %v", text, err)
		}
	}
}

func TestDirectoryName(t *testing.T) {
	for _, tt := range []struct{ place, dir, want string }{
		{"/x/pdf", "", "pdf"}, {"/x/pdf.skill", "", "pdf"}, {"/x/pdf.tar.gz", "", "pdf"}, {"/x/all.zip", "skills/pdf", "pdf"},
	} {
		if got := directoryName(filepath.FromSlash(tt.place), tt.dir); got != tt.want {
			t.Errorf("directoryName(%q, %q) = %q, want %q", tt.place, tt.dir, got, tt.want)
		}
	}
}
