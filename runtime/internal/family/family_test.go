package family

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// TestMain plays a program that starts another, which writes a file later, and waits.
func TestMain(m *testing.M) {
	at := os.Getenv("FAMILY_FILE")
	switch os.Getenv("FAMILY_ROLE") {
	case "parent":
		self, err := os.Executable()
		if err != nil {
			os.Exit(1)
		}
		child := exec.Command(self)
		child.Env = append(os.Environ(), "FAMILY_ROLE=child")
		if child.Start() != nil || os.WriteFile(at+".started", nil, 0o600) != nil {
			os.Exit(1)
		}
		time.Sleep(time.Minute)
	case "child":
		time.Sleep(2 * time.Second)
		if os.WriteFile(at, []byte("outlived"), 0o600) != nil {
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

// Programs started by a killed program end with its family.
func TestKill(t *testing.T) {
	long.Slow(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "FAMILY_ROLE=parent", "FAMILY_FILE="+file)
	own(cmd)
	f := Of(cmd)
	if err := f.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("before the start: %v", err)
	}
	f = Of(cmd)
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if _, err := os.Stat(file + ".started"); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := os.Stat(file + ".started"); err != nil {
		t.Fatal("the program did not start another: ", err)
	}
	if err := f.Kill(); err != nil {
		t.Error(err)
	}
	defer f.End()
	if err := cmd.Wait(); err == nil {
		t.Error("it ended by itself")
	}
	time.Sleep(3 * time.Second)
	if _, err := os.Stat(file); err == nil {
		t.Error("what it started outlived it")
	}
}

func TestStartMissing(t *testing.T) {
	if err := Of(exec.Command(filepath.Join(t.TempDir(), "none"))).Start(); err == nil {
		t.Error("a program that is not there was started")
	}
}
