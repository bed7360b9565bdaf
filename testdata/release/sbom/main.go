// Sbom writes the bill of materials of a program that Go built, in the form CycloneDX 1.6: the modules in it with their
// versions and checksums, the compiler, and the commit. All of it is read from the program itself.
//
//	sbom BINARY OUT
//
// There is no time and no random number in it: the same program has the same bill.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Scope      string     `json:"scope,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("sbom: ")
	if len(os.Args) != 3 {
		log.Fatal("usage: sbom BINARY OUT")
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	program, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	bill, err := billOf(filepath.Base(os.Args[1]), info, sha256.Sum256(program))
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.MarshalIndent(bill, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], append(text, '\n'), 0o644); err != nil {
		log.Fatal(err)
	}
}

// billOf describes the program name, whose bytes have the given sum.
func billOf(name string, info *debug.BuildInfo, sum [sha256.Size]byte) (document, error) {
	main := module(info.Main)
	main.Type, main.Name, main.Scope = "application", strings.TrimSuffix(name, ".exe"), ""
	main.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
	}
	compiler := component{Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), Scope: "required"}
	compiler.PURL = "pkg:golang/std@" + compiler.Version
	compiler.Ref = compiler.PURL
	d := document{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{main}, Components: []component{compiler}}
	on := dependency{Ref: main.Ref, DependsOn: []string{compiler.Ref}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := module(*m)
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil || len(sum) != sha256.Size {
			return document{}, fmt.Errorf("%s %s has no checksum", m.Path, m.Version)
		}
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
		c.Properties = []property{{"go:sum", m.Sum}}
		d.Components = append(d.Components, c)
		on.DependsOn = append(on.DependsOn, c.Ref)
	}
	d.Dependencies = []dependency{on}
	return d, nil
}

// module is a module as a component. The name of a component, and of its package URL, is the path of the module.
func module(m debug.Module) component {
	purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	return component{Ref: purl, Type: "library", Name: m.Path, Version: m.Version, Scope: "required", PURL: purl}
}
