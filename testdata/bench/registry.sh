#!/bin/sh
# Compares skl's registry, one node and two replicas, with that of the distribution project and prints tables for testdata/bench/README.md:
# testdata/bench/registry.sh [-clients 16] [-seconds 4] [-rounds 3] [-before PROGRAM] [-replicas=false]
# testdata/bench/registry.sh -soak 30m keeps one node and two replicas under load instead, and looks at their memory and what they keep.
# It needs Go, the modules of testdata/peers, and PostgreSQL for the replicas. Nothing else should run meanwhile; the load is printed
# below the tables. Data is written below TMPDIR, whose file system is what is measured.
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 711 "$scratch" # PostgreSQL does not run as root
export CGO_ENABLED=0
# The program as it is shipped.
go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$scratch/skl" ./cmd/skl
go -C testdata/peers build -buildvcs=false -o "$scratch/distribution" github.com/distribution/distribution/v3/cmd/registry
go build -buildvcs=false -o "$scratch/bench" ./registry/registrytest/servebench
"$scratch/bench" -skl "$scratch/skl" -distribution "$scratch/distribution" -dir "$scratch/work" "$@"
