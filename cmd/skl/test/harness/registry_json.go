package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"time"
)

// Serve starts a registry with its data beside the machine's project, and returns its address and the
// file of its admin token.
func (m *Machine) Serve(args ...string) (ready ReadyLine) {
	m.T.Helper()
	cmd := exec.Command(m.Skl, append([]string{"registry", "serve", "--addr", "127.0.0.1:0", "--json"}, args...)...)
	cmd.Dir, cmd.Env = m.Project, m.Env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.T.Fatal(err)
	}
	m.T.Cleanup(func() {
		kill := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		defer kill.Stop()
		if cmd.Process.Signal(os.Interrupt) != nil {
			cmd.Process.Kill()
		}
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), &ready)
	}
	if err != nil {
		m.T.Fatalf("the registry does not start: %v\n%s", err, errs.String())
	}
	return ready
}
