package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// A goreleaser is what TestReleaseConfiguration reads of .goreleaser.yaml.
type goreleaser struct {
	Env    []string
	Before struct{ Hooks []string }
	Builds []struct {
		Main         string
		Flags        []string
		Ldflags      []string
		Goos, Goarch []string
		ModTimestamp string `yaml:"mod_timestamp"`
		Hooks        struct{ Post []string }
	}
	Archives []struct{ Files []struct{ Src, Dst string } }
	Nfpms    []struct {
		Formats  []string
		Contents []struct{ Src, Dst string }
	}
	Signs    []struct{ Args []string }
	Checksum struct {
		ExtraFiles []struct{ Glob string } `yaml:"extra_files"`
	}
	Release struct {
		ExtraFiles []struct{ Glob string } `yaml:"extra_files"`
	}
}

// TestReleaseConfiguration holds what can be known of a release without building one; .ci/release builds it and looks into
// every file. The files and programs that the configuration names are there, its platforms are those of the npm packages, its
// programs need no cgo and have no path in them, and archives and packages have the manual and all completions.
func TestReleaseConfiguration(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c goreleaser
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Builds) != 1 || len(c.Archives) != 1 || len(c.Nfpms) != 1 || len(c.Signs) != 1 {
		t.Fatalf("one of each is wanted: %+v", c)
	}
	build := c.Builds[0]
	if !slices.Contains(c.Env, "CGO_ENABLED=0") || !slices.Contains(build.Flags, "-trimpath") || !slices.Contains(build.Flags, "-buildvcs=true") ||
		!slices.Equal(build.Ldflags, []string{"-s -w"}) || build.ModTimestamp != "{{ .CommitTimestamp }}" {
		t.Errorf("the build cannot be reproduced: env %q, %+v", c.Env, build)
	}
	if got, want := releasePlatforms(build.Goos, build.Goarch), npmPlatforms(t); !slices.Equal(got, want) {
		t.Errorf("programs are built for %q, npm packages for %q", got, want)
	}

	var sources, inArchive, inPackage []string
	for _, f := range c.Archives[0].Files {
		sources, inArchive = append(sources, f.Src), append(inArchive, f.Src)
	}
	for _, f := range c.Nfpms[0].Contents {
		sources, inPackage = append(sources, f.Src), append(inPackage, f.Src+" "+f.Dst)
	}
	for _, command := range slices.Concat(c.Before.Hooks, build.Hooks.Post, c.Signs[0].Args, []string{build.Main}) {
		sources = append(sources, regexp.MustCompile(`(?:\./)?(?:cmd|testdata|registry)/[a-z/]+(?:\.go)?`).FindAllString(command, -1)...)
	}
	if len(sources) < 12 {
		t.Errorf("only %d files were found in the configuration: %q", len(sources), sources)
	}
	// The files in .release are written by papers.go; their names are in its source.
	papers, err := os.ReadFile(filepath.Join("internal", "release", "papers.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if made, ok := strings.CutPrefix(source, ".release/"); ok {
			if dir, file, _ := strings.Cut(made, "/"); !strings.Contains(string(papers), `"`+dir+`"`) || file != "*" && !strings.Contains(string(papers), `"`+file+`"`) {
				t.Errorf("papers.go does not write %s", source)
			}
		} else if _, err := os.Stat(filepath.Join(repository, source)); err != nil {
			t.Errorf(".goreleaser.yaml names %s: %v", source, err)
		}
	}
	for _, want := range []string{"LICENSE", "README.md", ".release/completions/*", ".release/man/*"} {
		if !slices.Contains(inArchive, want) {
			t.Errorf("archives do not have %s", want)
		}
	}
	for _, want := range []string{
		"LICENSE /usr/share/doc/skl/copyright", ".release/man/* /usr/share/man/man1", ".release/completions/skl.bash /usr/share/bash-completion/completions/skl",
		".release/completions/_skl /usr/share/zsh/vendor-completions/_skl", ".release/completions/_skl /usr/share/zsh/site-functions/_skl",
		".release/completions/skl.fish /usr/share/fish/vendor_completions.d/skl.fish",
	} {
		if !slices.Contains(inPackage, want) {
			t.Errorf("packages do not have %s", want)
		}
	}
	if !slices.Equal(c.Nfpms[0].Formats, []string{"deb", "rpm", "apk"}) {
		t.Errorf("packages are made as %q", c.Nfpms[0].Formats)
	}
	if len(c.Checksum.ExtraFiles) != 1 || !slices.Equal(c.Checksum.ExtraFiles, c.Release.ExtraFiles) {
		t.Errorf("checksums cover %v, the release adds %v", c.Checksum.ExtraFiles, c.Release.ExtraFiles)
	}
}

func releasePlatforms(systems, architectures []string) (out []string) {
	for _, s := range systems {
		for _, a := range architectures {
			out = append(out, s+"/"+a)
		}
	}
	slices.Sort(out)
	return out
}

// npmPlatforms are the platforms in the source of the program that writes npm packages.
func npmPlatforms(t *testing.T) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "testdata", "release", "npm", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^var platforms = \[\]string\{(.*)\}$`).FindSubmatch(text)
	if list == nil || json.Unmarshal([]byte("["+string(list[1])+"]"), &out) != nil {
		t.Fatal("npm/main.go has no list of platforms")
	}
	slices.Sort(out)
	return out
}
