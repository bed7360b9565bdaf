#!/bin/sh
# Measures searches over the HTTP interface of a registry with many skills and prints a table for testdata/bench/README.md:
# testdata/bench/search.sh [-store postgres] [-skills 300000] [-searches 3000] DIRECTORY…
# The directories are clones of repositories of skills, of whose words the skills are made. It needs Go, and PostgreSQL for its store.
# Nothing else should run meanwhile; the load is printed below the table. Filling takes minutes: -data DIR keeps SQLite's.
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CGO_ENABLED=0
# The program as it is shipped.
go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$scratch/skl" ./cmd/skl
go build -buildvcs=false -o "$scratch/bench" ./registry/registrytest/searchbench
"$scratch/bench" -skl "$scratch/skl" -data "$scratch/data" "$@"
