package roots

import (
	"path/filepath"
	"strings"
)

// States of a copy that skl made, beside the skill that it is a copy of.
const (
	CopyOK     = "ok"
	CopyEdited = "edited" // its content differs from its receipt
	CopyOther  = "other"  // it is as it was made, of another release
)

// nameCopies notes which records are copies that skl made of others: their receipts say so. A receipt is a claim, so
// the two have to be in one scope and of one name.
func nameCopies(records []*Record) {
	for group := range groups(records, byName) {
		for _, c := range group {
			if c.found.copyOf == "" {
				continue
			}
			suffix := string(filepath.Separator) + filepath.FromSlash(c.found.copyOf)
			for _, r := range group {
				if r == c || r.found.copyOf != "" || r.Scope != c.Scope || !strings.HasSuffix(r.Path, suffix) || !r.hasReceipt() {
					continue
				}
				c.CopyOf = r.Qualified
				r.Copies = append(r.Copies, CopyState{c.Path, c.against(r)})
				break
			}
		}
	}
}

func (r *Record) hasReceipt() bool { return r.found.receiptTree != "" }

// against is the state of the copy c of r.
func (c *Record) against(r *Record) string {
	switch {
	case !c.pinned():
		return CopyEdited
	case c.found.receiptTree != r.found.receiptTree:
		return CopyOther
	}
	return CopyOK
}
