// Package goroot finds the sources of Go, which tests read and search.
package goroot

import (
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Dir is the directory of the Go that runs the tests. What is built with -trimpath does not know it, and asks the go command. "" if nobody says.
var Dir = sync.OnceValue(func() string {
	if build.Default.GOROOT != "" {
		return build.Default.GOROOT
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
})

// Src is the directory of the sources. Every machine that runs the tests with the go command has them; elsewhere the test is skipped.
func Src(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(Dir(), "src")
	if _, err := os.Stat(filepath.Join(dir, "fmt")); err != nil {
		t.Skip("the sources of Go are not there")
	}
	return dir
}
