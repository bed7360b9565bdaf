package ref

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// respelled is err, the error of s, with the command that s is likely to mean, where err does not say one.
func respelled(s string, err error) error {
	e, ok := diag.Own(err)
	if !ok || len(e.Hints) > 0 || len(s) > 2048 {
		return err
	}
	bare := unwrapped(s)
	if bare != s {
		if _, err := parseText(bare); err == nil {
			return e.Hint("skl install %s", quote(bare))
		}
	}
	words := strings.Fields(bare)
	if len(words) > 1 && words[0] == "skl" {
		words = words[1:]
	}
	if len(words) > 1 && (words[0] == "install" || words[0] == "add") {
		words = words[1:]
	}
	if len(words) == 0 || len(words) == 1 && words[0] == bare {
		return err
	}
	for i, w := range words {
		if _, err := parseText(w); err != nil && (i == 0 || !isName(w) || !IsWord(w)) {
			return e
		}
		words[i] = quote(w)
	}
	return e.Hint("skl install %s", strings.Join(words, " "))
}

// around are the characters that stand around an address in a text.
var around = []string{"<>", `""`, "''", "``", "()", "[]"}

// unwrapped is s without what a text or another program writes around a reference: blanks, brackets, quotes, and the "@" before the
// scope of an npm package.
func unwrapped(s string) string {
	for s = strings.TrimSpace(s); len(s) > 2; s = strings.TrimSpace(s[1 : len(s)-1]) {
		if !slices.Contains(around, s[:1]+s[len(s)-1:]) {
			break
		}
	}
	return strings.TrimPrefix(s, "@")
}

// ownerOnly refuses the name or page of an owner, which may have many repositories.
func ownerOnly(s, forge, owner string) error {
	of := forge + ":"
	if forge == "github" {
		of = ""
	}
	if owner == "" {
		return invalid(s, "it names no repository").Hint("skl install %sOWNER/REPO", of)
	}
	return invalid(s, "it names an owner, and no repository").Hint("skl install %s%s/REPO", of, owner).Hint("skl search %s", owner)
}

// notSupported refuses a package of another registry.
func notSupported(s, scheme, rest string) error {
	e := invalid(s, "%s packages are not supported; skl installs from git repositories, registries of skl and OCI registries", scheme)
	e.Code = "not_supported"
	if page, ok := hostFirst(rest); ok {
		if _, err := parseText(page); err == nil {
			return e.Hint("its repository: skl install %s", quote(rest))
		}
	}
	e.Hint("the repository of the package: skl install OWNER/REPO")
	name, _, _ := strings.Cut(strings.TrimPrefix(rest, "@"), "@")
	if word := name[strings.LastIndexByte(name, '/')+1:]; isName(word) {
		e.Hint("skl search %s", word)
	}
	return e
}

// FileURL refuses s, which begins with file:, with how that is written for a repository and for a folder, as far as there is one.
func FileURL(s string, repository, folder bool) error {
	e := invalid(s, "protocol \"file\" is written git+file:// for a repository; a folder is written as its path")
	rest := strings.TrimPrefix(s, "file:")
	path := strings.TrimPrefix(rest, "//")
	if path == rest || !strings.HasPrefix(path, "/") || len(path) < 2 {
		hintFile(e, path)
		return e
	}
	if repository {
		e.Hint("the commits of a repository: skl install %s", quote("git+"+s))
	}
	if folder {
		e.Hint("a folder as it is now: skl install %s", quote(path))
	}
	return e
}

// hintFile adds the URL of path to the error of one that has too few or too many slashes.
func hintFile(e *diag.Error, path string) {
	if path = strings.TrimLeft(path, "/"); path == "" {
		return
	}
	if text := "git+file:///" + path; parses(text) {
		e.Hint("an address of this machine has three slashes: skl install %s", quote(text))
	}
}

func parses(s string) bool {
	_, err := parseText(s)
	return err == nil
}
