package scope

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"strings"

	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/diag"
)

// Person is who runs this, as git names the author of a commit made here: "Name <address>"; where git does not know, the name of the
// account; "" where nobody does. It is what people say of themselves, and proves nothing.
func (sc *Scope) Person(ctx context.Context) string {
	if program, err := exec.LookPath("git"); err == nil {
		var args []string
		if w, err := git.OpenWorkTree(sc.Base); err == nil {
			name, email := w.Author()
			for key, value := range map[string]string{"user.name": name, "user.email": email} {
				if value != "" {
					args = append(args, "-c", key+"="+value)
				}
			}
		}
		cmd := exec.CommandContext(ctx, program, append(args, "var", "GIT_AUTHOR_IDENT")...)
		cmd.Env = append(sc.Environ[:len(sc.Environ):len(sc.Environ)], "GIT_DIR="+os.DevNull) // of no repository is anything else read
		if out, err := cmd.Output(); err == nil {
			if name, _, ok := strings.Cut(string(out), ">"); ok { // behind it is the time
				return diag.Printable(name + ">")
			}
		}
	}
	if u, err := user.Current(); err == nil {
		return diag.Printable(u.Username)
	}
	return ""
}
