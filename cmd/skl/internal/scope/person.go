package scope

import (
	"os/user"

	"github.com/skl-project/skl/spec/diag"
)

// Person is who runs this, as git names the author of a commit made here: "Name <address>"; where git does not know, the name of the
// account; "" where nobody does. It is what people say of themselves, and proves nothing.
func (sc *Scope) Person() string {
	if who := sc.Tracker.Author(sc.Base); who != "" {
		return diag.Printable(who)
	}
	if u, err := user.Current(); err == nil {
		return diag.Printable(u.Username)
	}
	return ""
}
