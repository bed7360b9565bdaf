package harness

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// rule LINE…: makes a rule with the id r and these keys the user's only one. Without lines there is no policy.
func rule(ts *testscript.TestScript, neg bool, args []string) {
	path := filepath.Join(ts.Getenv("HOME"), ".config", "skl", "policy.toml")
	if neg {
		ts.Fatalf("usage: rule LINE…")
	}
	if len(args) == 0 {
		ts.Check(os.RemoveAll(path))
		return
	}
	ts.Check(os.WriteFile(path, []byte("[[rule]]\nid = \"r\"\n"+strings.Join(args, "\n")+"\n"), 0o644))
}

// files DIR: serves the files of DIR on loopback, at $FILES_URL, until the script ends.
func serveFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: files DIR")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	server := &http.Server{Handler: http.FileServer(http.Dir(ts.MkAbs(args[0]))), ReadTimeout: time.Minute}
	go server.Serve(l)
	ts.Defer(func() { server.Close() })
	setenv(ts, "FILES_URL", "http://"+l.Addr().String())
}
