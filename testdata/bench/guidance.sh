#!/usr/bin/env bash
# How far can agents believe the guidance of evidence packs, and how well is found what is there? It asks the program over skl mcp, skl
# index serve and on the command line some thousand questions about the repositories of repositories.txt, of which half have no answer, and prints a
# table for those that were tuned on and one for those that were held out. It takes half an hour, and fetches what is missing.
#
#   testdata/bench/guidance.sh [--held] [--update]
#
#   --held                  only what is held out
#   --update                write guidance.json
#   SKL_TEST_REPOSITORIES   where what was fetched is kept; a temporary directory
#   SKL_TEST_PROGRAM        the program; it is built from this checkout
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
export SKL_TEST_RETRIEVAL=guidance-all
update=()
for option; do
	case $option in
	--held) SKL_TEST_RETRIEVAL=guidance ;;
	--update) update=(-update) ;;
	*)
		echo "guidance.sh: unknown option $option" >&2
		exit 2
		;;
	esac
done
exec go test ./index/retrieval -count=1 -timeout=4h -v -run '^TestServedGuidance$' "${update[@]}"
