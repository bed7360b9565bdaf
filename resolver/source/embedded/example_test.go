package embedded_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/skl-project/skl/resolver/source/embedded"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/ref"
)

// One skill that comes with a program, found and fetched.
func ExampleSource() {
	ctx := context.Background()
	src := &embedded.Source{FS: fstest.MapFS{
		"notes/SKILL.md": {Data: []byte("---\nname: notes\ndescription: Takes notes.\nmetadata:\n  version: \"1.2.0\"\n---\n# Notes\n")},
	}}
	r, err := ref.Parse("skl:notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	releases, err := src.Versions(ctx, r)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := src.Skills(ctx, r, releases[0], nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range found {
		g := bundle.NewGuard(nil, bundle.InstallLimits)
		if err := src.Fetch(ctx, f.Lock, g); err != nil {
			fmt.Println(err)
			continue
		}
		sum, err := g.Close()
		fmt.Println(f.Lock.Name, f.Lock.Version, f.Lock.Source, sum.Files, err)
	}
	// Output: notes 1.2.0 embedded 1 <nil>
}
