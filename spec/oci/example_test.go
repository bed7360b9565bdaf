package oci_test

import (
	"fmt"
	"testing/fstest"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/oci"
)

func Example() {
	built, err := oci.Build(oci.Input{Version: "1.4.2", Files: fstest.MapFS{
		"SKILL.md": {Data: []byte("---\nname: pdf\ndescription: Fill PDF forms\n---\n")},
	}})
	if err != nil {
		panic(err)
	}
	// The other side has the manifest, and opens what it asks for.
	a, err := oci.Read(built.Root.MediaType, built.Root.Data)
	if err != nil {
		panic(err)
	}
	open := func(layer v1.Descriptor) (oci.Content, error) { return oci.Bytes(built.Blobs[0].Data), nil }
	_, _, sum, err := a.SkillFile(open, 1<<10, bundle.PublishLimits)
	if err != nil {
		panic(err)
	}
	fmt.Println(a.Layout, a.Facts.Name, a.Facts.Version, sum.Files, sum.Tree == built.Summary.Tree)
	// Output: arconia pdf 1.4.2 1 true
}

func ExampleTag() {
	tag, _ := oci.Tag("1.4.2+build.7")
	version, _ := oci.Version(tag)
	fmt.Println(tag, version)
	// Output: 1.4.2_build.7 1.4.2+build.7
}
