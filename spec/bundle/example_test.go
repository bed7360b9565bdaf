package bundle_test

import (
	"bytes"
	"fmt"
	"io"
	"testing/fstest"

	"github.com/skl-project/skl/spec/bundle"
)

var notes = fstest.MapFS{
	"SKILL.md":       {Data: []byte("---\nname: notes\ndescription: Writes release notes.\n---\n"), Mode: 0o644},
	"scripts/log.sh": {Data: []byte("#!/bin/sh\ngit log\n"), Mode: 0o755},
}

// The tree digest of a folder.
func ExampleFromFS() {
	g := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := bundle.FromFS(notes, g); err != nil {
		fmt.Println(err)
		return
	}
	sum, err := g.Close()
	fmt.Println(sum.Tree.Short(), sum.Files, "files", sum.Bytes, "bytes", err)
	for _, e := range sum.Entries {
		fmt.Printf("%c %3d %s\n", e.Kind, e.Size, e.Path)
	}
	// Output:
	// fb3756d4f38a 2 files 73 bytes <nil>
	// -  55 SKILL.md
	// x  18 scripts/log.sh
}

// The digest is that of the folder, whatever the archive.
func ExamplePack() {
	var archive bytes.Buffer
	packed, err := bundle.Pack(&archive, notes)
	if err != nil {
		fmt.Println(err)
		return
	}
	format := bundle.Detect(archive.Bytes())
	g := bundle.NewGuard(nil, bundle.InstallLimits)
	if _, err := bundle.Unpack(bytes.NewReader(archive.Bytes()), int64(archive.Len()), format, g); err != nil {
		fmt.Println(err)
		return
	}
	unpacked, err := g.Close()
	fmt.Println(format, unpacked.Tree == packed.Tree, err)
	// Output: tar.gz true <nil>
}

// A Guard in front of a sink refuses what must not be stored.
func ExampleGuard() {
	g := bundle.NewGuard(stdout{}, bundle.PublishLimits)
	for _, path := range []string{"SKILL.md", "scripts/run.sh", "skill.md"} {
		if err := g.File(path, false, 0, bytes.NewReader(nil)); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// stored SKILL.md
	// stored scripts/run.sh
	// paths "SKILL.md" and "skill.md" are one name on some file systems
}

type stdout struct{}

func (stdout) File(path string, _ bool, _ int64, r io.Reader) error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	fmt.Println("stored", path)
	return nil
}

func (stdout) Link(path, target string) error { return nil }
