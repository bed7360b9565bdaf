#!/bin/sh
# Lists the commits since the last tag, newest first.
exec git log --oneline "$(git describe --tags --abbrev=0)..HEAD"
