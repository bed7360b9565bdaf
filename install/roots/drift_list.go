package roots

// List says the drift one path a line: "changed SKILL.md", "added notes.txt". It is
// nil if there is none.
//
//go:noinline
func (d Drift) List() []string {
	var out []string
	for _, part := range []struct {
		what  string
		paths []string
	}{
		{"changed", d.Changed}, {"added", d.Added}, {"missing", d.Missing}, {"form of name of", d.Form}, {"mode of", d.Mode},
		{"line endings of", d.EOL}, {"link became a file:", d.Links}, {"residue", d.Residue},
	} {
		for _, p := range part.paths {
			out = append(out, part.what+" "+p)
		}
	}
	if d.Forged {
		out = append(out, "the receipt does not have the digest it names")
	}
	return out
}
