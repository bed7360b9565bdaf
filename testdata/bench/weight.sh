#!/bin/sh
# Compares the program with that of an earlier commit: testdata/bench/weight.sh COMMIT [-runs 41]
# Both are built with an empty build cache, which takes some ten minutes on two cores; modules have to be there.
set -eu
cd "$(dirname "$0")/../.."
commit=$1
shift
scratch=$(mktemp -d)
trap 'git worktree remove --force "$scratch/before" 2>/dev/null || true; rm -rf "$scratch"' EXIT
git worktree add --quiet --detach "$scratch/before" "$commit"
export CGO_ENABLED=0
# build DIR OUT: the CPU seconds that a cold build takes.
build() {
	mkdir "$scratch/cache"
	(cd "$1" && GOCACHE=$scratch/cache bash -c 'TIMEFORMAT="%U %S"; time go build -buildvcs=false -trimpath -ldflags "-s -w" -o "$0" ./cmd/skl' "$2") 2>&1 |
		awk 'NF == 2 { printf "%d", $1 + $2 }'
	rm -rf "$scratch/cache"
}
now=$(build . "$scratch/skl")
before=$(build "$scratch/before" "$scratch/skl-before")
go -C testdata/bench build -buildvcs=false -o "$scratch/bench" .
"$scratch/bench" -skl "$scratch/skl" -before "$scratch/skl-before" -cold "$now $before" -only weight -dir "$scratch/work" "$@"
