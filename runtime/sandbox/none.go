//go:build !linux && !darwin

package sandbox

import (
	"context"
	"io/fs"
	"runtime"
)

func probe() Report { return reportFor(None) }

func reportFor(Tier) Report {
	return Report{Missing: []string{"there is no sandbox for " + runtime.GOOS + " yet: programs can do what you can do"}}
}

func confined(ctx context.Context, j *job) (int, error) { return plain(ctx, j, j.program, j.Argv) }

func ChangeTime(fs.FileInfo) int64 { return 0 }

func guard() {}
