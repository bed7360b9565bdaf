#!/bin/sh
# Measures skl and prints a table for testdata/bench/README.md: testdata/bench/run.sh [-runs 7] [-only WORD]
# It needs Go, git and, for three of the rows, ../shared/data/awesome-copilot.bundle
# beside the repository. Nothing else should run meanwhile; the load is printed below the table.
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CGO_ENABLED=0
go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$scratch/skl" ./cmd/skl
go -C testdata/bench build -buildvcs=false -o "$scratch/bench" .
"$scratch/bench" -skl "$scratch/skl" -dir "$scratch/work" "$@"
