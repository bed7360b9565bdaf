package local_test

import (
	"context"
	"fmt"

	"github.com/skl-project/skl/resolver/source/local"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/ref"
)

// A folder of two skills, listed and fetched.
func ExampleSource() {
	ctx := context.Background()
	src := &local.Source{Dir: "testdata"}
	r, err := ref.Parse("./skills")
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
		fmt.Println(f.Lock.Name, f.Lock.Version, f.Lock.URL, f.Lock.Path, sum.Files, err)
	}
	// Output:
	// notes 1.2.0 ./skills notes 1 <nil>
	// tags  ./skills tags 1 <nil>
}
