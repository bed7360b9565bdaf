package audit

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
)

// An unseen is a file that may be run and that no scanner reads.
type unseen struct {
	path string
	sum  [sha256.Size]byte
	long bool // a text that was not read for its length alone
}

// onlyLong reports whether all that is not known of a release is in texts that are too long to be read.
func (f *Found) onlyLong() bool {
	return len(f.unseen) > 0 && f.Scripts == len(f.unseen) && !slices.ContainsFunc(f.unseen, func(u unseen) bool { return !u.long })
}

// unread notes a file of code that is not read. Of its text, what is written out counts: addresses, and names of variables in
// the usual idioms. Comments are left out where they fill a line.
func (a *auditor) unread(f File) {
	a.add(Dynamic, "", 1)
	sum := f.Sum
	if sum == [sha256.Size]byte{} {
		sum = sha256.Sum256(f.Data)
	}
	of := a.found[Permission{Kind: Dynamic}]
	of.unseen = append(of.unseen, unseen{f.Path, sum, len(f.Data) > MaxFileBytes})
	if len(f.Data) > MaxFileBytes || bytes.IndexByte(f.Data, 0) >= 0 {
		return
	}
	number := 0
	for line := range strings.Lines(string(f.Data)) {
		number++
		text := strings.TrimSpace(line)
		if slices.ContainsFunc([]string{"#", "--", "//", ";", "*", "::", "rem ", "REM "}, func(mark string) bool { return strings.HasPrefix(text, mark) }) {
			continue
		}
		for _, url := range literals.get().FindAllString(text, -1) {
			a.net(url, false, number)
		}
		for _, m := range getters.get().FindAllStringSubmatch(text, -1) {
			name := m[1] + m[2] + m[3] + m[4]
			if name == "" {
				name = "*"
			}
			a.env(name, number)
		}
	}
}

const identifier = `([A-Za-z_]\w*)`

var (
	literals = pattern{text: "(?i)\\b(?:https?|wss?|ftp)://[^\\s\"'`<>]+"}
	getters  = pattern{text: `(?i:getenv|get_env|lookup_?env|env\.fetch|environment\.get|env::var(?:s|_os)?|environmentvariables?[aw]?|getenvvarowned)!?` +
		`(?:\(\s*\)|[\s(]\s*(?:[A-Za-z_.]+,\s*)?[@L]?["']` + identifier + `["'])|\b(?:option_)?env!?\(\s*["']` + identifier + `["']` +
		`|\$?(?:\bENV|\b_ENV|\b_SERVER|environ|environment|env)\s*[\[{]\s*["']?` + identifier + `["']?\s*[\]}]` +
		`|%` + identifier + `%`}
)

// Unseen are the files of r that may be run, that no scanner reads and whose bytes are not among those of old.
func (r Report) Unseen(old Report) (places []Place) {
	known := map[[sha256.Size]byte]bool{}
	for i := range old {
		for _, f := range old[i].unseen {
			known[f.sum] = true
		}
	}
	for i := range r {
		for _, f := range r[i].unseen {
			if !known[f.sum] {
				places = append(places, Place{f.path, 1})
			}
		}
	}
	return places
}

// Granted is the set of r as far as it covers next: dynamic-exec of files that no scanner reads is that of their bytes, and
// says nothing of others.
func (r Report) Granted(next Report) Set {
	set := r.Set()
	if len(next.Unseen(r)) > 0 {
		set = slices.DeleteFunc(set, func(p Permission) bool { return p.Kind == Dynamic })
	}
	return set
}

// Gained are the places at which r has p and old has not: all, or the files of [Report.Unseen].
func (r Report) Gained(old Report, p Permission) []Place {
	if p.Kind == Dynamic && old.At(p) != nil {
		if list := r.Unseen(old); len(list) > 0 {
			return list[:min(len(list), MaxPlaces)]
		}
	}
	return r.At(p)
}
