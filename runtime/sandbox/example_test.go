//go:build unix

package sandbox_test

import (
	"context"
	"fmt"
	"os"

	"github.com/skl-project/skl/runtime/sandbox"
)

func ExampleRun() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	r, err := sandbox.Run(context.Background(), sandbox.Command{
		Argv:   []string{"sh", "-c", "echo hello; exit 3"},
		Dir:    dir,
		Stdout: os.Stdout,
	})
	fmt.Println(r.ExitCode, err)
	// Output:
	// hello
	// 3 <nil>
}
