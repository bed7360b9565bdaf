#!/bin/sh
# Prints the size of the stripped program beside the last recorded one: testdata/bench/size.sh PROGRAM
# Growth refuses nothing. What is over 1 MB or a tenth is named; "go tool nm -size -sort size" shows what is new.
set -eu
cd "$(dirname "$0")"
size=$(stat -c %s "$1")
was=$(sed -n 's/.*"bytes": *\([0-9]*\).*/\1/p' weight.json)
[ -n "$was" ] || { echo 'weight.json does not say how many bytes the program had' >&2; exit 1; }
echo "the stripped program has $size bytes; $was when that was last recorded"
if [ "$size" -gt $((was + 1000000)) ] || [ "$size" -gt $((was + was / 10)) ]; then
	echo "warning: it has grown by $(((size - was) / 1000)) kB; look for a new import, or record the size in testdata/bench/weight.json"
fi
