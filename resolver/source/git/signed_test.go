package git

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// Each way to a repository finds the signed commit and the signed tags of a version that stand for it, and no others.
func TestSigned(t *testing.T) {
	dir := gittest.Init(t, "acme")
	plain := gittest.Commit(t, dir, gittest.Files{"SKILL.md": "---\nname: pdf\ndescription: Fills forms.\n---\n"})
	// The armour is not verified here, so any will do.
	armour := "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"
	text := gittest.Git(t, dir, "cat-file", "commit", plain)
	at := strings.Index(text, "\n\n")
	signed := gittest.Input(t, dir, []byte(text[:at]+"\ngpgsig "+strings.TrimSuffix(strings.ReplaceAll(armour, "\n", "\n "), "\n ")+text[at:]+"\n"), "hash-object", "-t", "commit", "-w", "--stdin")
	gittest.Git(t, dir, "update-ref", "refs/heads/main", signed)
	tag := func(name, of, end string) {
		id := gittest.Input(t, dir, []byte("object "+of+"\ntype commit\ntag "+name+"\ntagger Test <test@example.com> 1700000000 +0000\n\nm\n"+end), "mktag")
		gittest.Git(t, dir, "update-ref", "refs/tags/"+name, id)
	}
	tag("v1.0.0", signed, armour)
	tag("pdf-v1.0.0", signed, armour)
	tag("v1.0.1", signed, armour)
	tag("1.0.0", signed, "")
	tag("pdf@1.0.0", plain, armour)
	gittest.Git(t, dir, "update-ref", "refs/tags/pdf@v1.0.0", signed)

	want := []string{"commit", "tag v1.0.0", "tag pdf-v1.0.0"}
	for _, way := range []struct {
		name string
		opt  gittest.Options
		git  string
		file bool
	}{
		{name: "protocol 2", git: "-"}, {name: "protocol 0", opt: gittest.Options{V0: true}, git: "-"}, {name: "go-git", opt: gittest.Options{NoFilter: true}, git: "-"},
		{name: "git without filter", opt: gittest.Options{NoFilter: true}}, {name: "file", file: true},
	} {
		t.Run(way.name, func(t *testing.T) {
			url := "file://" + filepath.ToSlash(dir)
			if !way.file {
				url = gittest.NewServer(t, way.opt, dir).URL + "/acme.git"
			}
			s := &Source{HTTP: http.DefaultClient, CacheDir: t.TempDir(), Environ: append(gittest.Environ(t.TempDir()), "PATH="+os.Getenv("PATH")), Git: way.git}
			found, err := s.Signed(context.Background(), lock.Skill{Name: "pdf", URL: url, Commit: ref.Commit(signed)}, TagsOf("pdf", "1.0.0"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range found {
				var is struct {
					Git    string
					Object []byte
				}
				if err := json.Unmarshal(e, &is); err != nil {
					t.Fatal(err)
				}
				if is.Git == "tag" {
					_, name, _ := strings.Cut(string(is.Object), "\ntag ")
					name, _, _ = strings.Cut(name, "\n")
					is.Git += " " + name
				}
				got = append(got, is.Git)
			}
			if strings.Join(got, ", ") != strings.Join(want, ", ") {
				t.Errorf("%q, want %q", got, want)
			}
			if found, err = s.Signed(context.Background(), lock.Skill{Name: "pdf", URL: url, Commit: ref.Commit(plain)}, nil); err != nil || len(found) > 0 {
				t.Errorf("of an unsigned commit: %s %v", found, err)
			}
			for _, name := range TagsOf("pdf", "1.0.0") {
				if skill, version := tagVersion(name); version != "1.0.0" || skill != "" && skill != "pdf" {
					t.Errorf("tag %s is version %q of %q", name, version, skill)
				}
			}
		})
	}
}
