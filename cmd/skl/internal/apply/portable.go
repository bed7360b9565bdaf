package apply

import (
	"fmt"
	"maps"
	"slices"

	"github.com/skl-project/skl/spec/bundle"
)

// codePortable is the code of a skill that some systems cannot hold.
const codePortable = "W_PORTABLE"

// Unportable says which of the installed skills that names holds cannot be installed on every system, and why. It is no fault of what is here.
func (a *Applier) Unportable(names func(string) bool) (out []Uncarried) {
	receipts, _ := a.Scope.Site.Receipts() // those that cannot be used are said elsewhere
	for i := range receipts {
		r := &receipts[i]
		if !names(r.Name) {
			continue
		}
		why := bundle.Unportable(slices.Sorted(maps.Keys(r.Files)))
		if len(why) == 0 {
			continue
		}
		more := ""
		if n := len(why) - 1; n > 0 {
			more = fmt.Sprintf(", and %d more", n)
		}
		out = append(out, Uncarried{codePortable, fmt.Sprintf("%s cannot be installed on every system: %s%s", r.Name, why[0], more), "ask its author to rename what cannot lie everywhere"})
	}
	return out
}
