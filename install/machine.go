package install

import "github.com/skl-project/skl/spec/diag"

// Machine is the directory of the machine's administrator: /etc/skl, and on Windows skl below %ProgramData%, wherever that is
// by the system's word. It is an error, with code E_OWNER, if others than administrators own it or can write to it: below
// %ProgramData% anyone may make a directory. One that is not there decides nothing, and is no error.
func Machine() (string, error) {
	dir, problem, err := machine()
	if err != nil {
		return "", err
	}
	if problem != "" {
		return "", diag.New(diag.Refused, "E_OWNER", "%s is not used: %s", dir, problem).
			Hint("as an administrator, look at what it holds, then remove it; skl --scope managed makes it anew")
	}
	return dir, nil
}

// MakeMachine makes the directory that Machine names, and those above it. Everybody may read it, and administrators write to it.
func MakeMachine(dir string) error { return makeMachine(dir) }
