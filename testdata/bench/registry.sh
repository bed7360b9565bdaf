#!/bin/sh
# Compares skl's registry with that of the distribution project and prints a table for testdata/bench/README.md:
# testdata/bench/registry.sh [-clients 16] [-seconds 4] [-rounds 3]
# It needs Go and the modules of testdata/peers. Nothing else should run meanwhile; the load is printed
# below the table. Data is written below TMPDIR, whose file system is what is measured.
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CGO_ENABLED=0
# The program as it is shipped.
go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$scratch/skl" ./cmd/skl
go -C testdata/peers build -buildvcs=false -o "$scratch/distribution" github.com/distribution/distribution/v3/cmd/registry
go -C testdata/peers build -buildvcs=false -o "$scratch/bench" ./bench
"$scratch/bench" -skl "$scratch/skl" -distribution "$scratch/distribution" -dir "$scratch/work" "$@"
