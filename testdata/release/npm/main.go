// Npm writes the npm packages of a release, as "npm pack" would: one for each platform with the program, and one with
// a small launcher that depends on all of them optionally. npm installs the one whose fields "os" and "cpu" fit. No
// package has a script that runs at installation.
//
//	npm -version 1.4.2 -out DIR                                   the launcher
//	npm -version 1.4.2 -out DIR -platform linux/amd64 -binary skl  the package of one platform
//
// Platforms are named as Go does. The same input gives the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed launcher
var launcher embed.FS

const (
	scope      = "@skl-project/"
	repository = "https://github.com/skl-project/skl"
	summary    = "package manager, registry, runtime and search index for agent skills"
)

// platforms are those of the release, as Go names them.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

// node are the names that process.platform and process.arch have where they differ from Go's.
var node = map[string]string{"windows": "win32", "amd64": "x64"}

// A manifest is package.json.
type manifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Homepage             string            `json:"homepage"`
	Repository           map[string]string `json:"repository"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"` // yarn: a program in an archive cannot be started
	Bin                  map[string]string `json:"bin,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
	PublishConfig        map[string]string `json:"publishConfig"`
}

// A file of a package; mode is 0644 or 0755.
type file struct {
	name string
	mode int64
	data []byte
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("npm: ")
	version := flag.String("version", "", "`VERSION` of the packages")
	out := flag.String("out", "", "`DIR` to write to")
	platform := flag.String("platform", "", "`OS/ARCH` of the program")
	binary := flag.String("binary", "", "`FILE` with the program")
	licence := flag.String("license", "../../LICENSE", "`FILE` with the licence")
	flag.Parse()
	if *version == "" || *out == "" || flag.NArg() > 0 || (*platform == "") != (*binary == "") {
		flag.Usage()
		os.Exit(2)
	}
	path, err := run(*version, *out, *platform, *binary, *licence)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(path)
}

// run writes one package and returns its path.
func run(version, out, platform, binary, licence string) (string, error) {
	text, err := os.ReadFile(licence)
	if err != nil {
		return "", err
	}
	files := []file{{"LICENSE", 0o644, text}}
	m := manifest{
		Version: version, Description: summary, License: "Apache-2.0", Homepage: repository,
		Repository:    map[string]string{"type": "git", "url": "git+" + repository + ".git"},
		PublishConfig: map[string]string{"access": "public"},
	}
	if platform == "" {
		m.Name = scope + "skl"
		m.Bin = map[string]string{"skl": "bin/skl.js"}
		m.Engines = map[string]string{"node": ">=18"}
		m.OptionalDependencies = map[string]string{}
		for _, p := range platforms {
			m.OptionalDependencies[name(p)] = version
		}
		if files, err = addLauncher(files); err != nil {
			return "", err
		}
	} else {
		if !slices.Contains(platforms, platform) {
			return "", fmt.Errorf("no package for %s: the launcher knows %s", platform, strings.Join(platforms, ", "))
		}
		system, cpu, _ := strings.Cut(platform, "/")
		m.Name, m.Description = name(platform), "the program skl for "+platform+": install "+scope+"skl instead"
		m.OS, m.CPU, m.PreferUnplugged = []string{nodeName(system)}, []string{nodeName(cpu)}, true
		data, err := os.ReadFile(binary)
		if err != nil {
			return "", err
		}
		files = append(files, file{"bin/skl" + suffix(system), 0o755, data})
	}
	var description bytes.Buffer
	e := json.NewEncoder(&description)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return "", err
	}
	files = append(files, file{"package.json", 0o644, description.Bytes()})
	path := filepath.Join(out, strings.NewReplacer("@", "", "/", "-").Replace(m.Name)+"-"+version+".tgz")
	return path, errors.Join(os.MkdirAll(out, 0o755), pack(path, files))
}

// addLauncher adds the files of the launcher; those in bin are programs.
func addLauncher(files []file) ([]file, error) {
	err := fs.WalkDir(launcher, "launcher", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := launcher.ReadFile(path)
		short, mode := strings.TrimPrefix(path, "launcher/"), int64(0o644)
		if strings.HasPrefix(short, "bin/") {
			mode = 0o755
		}
		files = append(files, file{short, mode, data})
		return err
	})
	return files, err
}

func name(platform string) string {
	system, cpu, _ := strings.Cut(platform, "/")
	return scope + "skl-" + nodeName(system) + "-" + nodeName(cpu)
}

func nodeName(s string) string {
	if n := node[s]; n != "" {
		return n
	}
	return s
}

func suffix(system string) string {
	if system == "windows" {
		return ".exe"
	}
	return ""
}

// packed is the time of every file in a package: the one that npm itself writes.
var packed = time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC)

// pack writes a package to path: sorted, without owners and with a fixed time.
func pack(path string, files []file) error {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	small, err := gzip.NewWriterLevel(&b, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(small)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: "package/" + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: packed, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), small.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
