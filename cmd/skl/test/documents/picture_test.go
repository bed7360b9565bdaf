package documents

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ui/vt"
	"github.com/skl-project/skl/cmd/skl/test/harness"
)

// pictured implements: pictured HEADING FILE WIDTH. It runs the next block below the heading of the page on a terminal of WIDTH columns, and
// wants FILE to be a picture of what that shows; with -update, FILE is written. Where there is no pseudo-terminal the block is run as
// others are.
func (d *docs) pictured(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: pictured HEADING FILE WIDTH")
	}
	s := ts.Value(docShellKey{}).(*docShell)
	var width int
	fmt.Sscan(args[2], &width)
	for _, b := range s.page.blocks {
		if b.section != args[0] || b.skip != "" || !b.commands() || b.used {
			continue
		}
		b.used = true
		master, slave, err := harness.OpenTerminal(width, 50)
		if err != nil {
			s.run(ts, b)
			return
		}
		master.Close()
		slave.Close()
		var rows [][]vt.Run
		for _, step := range b.steps() {
			shown, exit := s.onTerminal(ts, step, width)
			if exit != step.exit {
				ts.Fatalf("%s:%d: %s\nexits with %d, want %d\n%s", s.page.path, b.line, step.command, exit, step.exit, plain(shown))
			}
			rows = append(append(rows, prompted(step.command)), shown...)
		}
		d.compare(ts, args[1], svg(b.steps()[len(b.steps())-1].command, rows), plain(rows))
		return
	}
	ts.Fatalf("%s has no commands below %q", s.page.path, args[0])
}

// picture implements: picture FILE WIDTH COMMAND…, pictured for a command that no block has.
func (d *docs) picture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: picture FILE WIDTH COMMAND…")
	}
	var width int
	fmt.Sscan(args[1], &width)
	command := strings.Join(args[2:], " ")
	rows, exit := ts.Value(docShellKey{}).(*docShell).onTerminal(ts, docStep{command: command}, width)
	if exit != 0 {
		ts.Fatalf("%s exits with %d\n%s", command, exit, plain(rows))
	}
	rows = append([][]vt.Run{prompted(command)}, rows...)
	d.compare(ts, args[0], svg(command, rows), plain(rows))
}

// prompted is the row on which a command was typed.
func prompted(command string) []vt.Run {
	return []vt.Run{{Text: "$ ", Style: "32"}, {Text: command, Style: "1"}}
}

func (d *docs) compare(ts *testscript.TestScript, file string, want []byte, shown string) {
	path := ts.MkAbs(file)
	if *harness.Update {
		ts.Check(os.WriteFile(path, want, 0o644))
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		ts.Fatalf("%s is not what a terminal shows (%v): go test ./cmd/skl/test/documents -run TestDocs/pages/readme -update\n%s", filepath.Base(path), err, shown)
	}
}

// patience is how long a command of a picture may take.
const patience = time.Minute

// onTerminal carries out one command in the shell's directory on a terminal, and returns what that shows in the end, with a place for what differs from
// run to run.
func (s *docShell) onTerminal(ts *testscript.TestScript, step docStep, width int) ([][]vt.Run, int) {
	shown, exit := s.screen(ts, step, width)
	if shown.Wrapped > 0 {
		ts.Fatalf("%s: the terminal had to wrap %d rows\n%s", step.command, shown.Wrapped, shown.Text())
	}
	rows := shown.Runs()
	for _, row := range rows {
		for i := range row {
			row[i].Text = s.steady(row[i].Text)
		}
	}
	return rows, exit
}

// screen carries out one command in the shell's directory on a terminal, until it ends. A question is answered by Enter. A server is stopped once it
// says that it serves.
func (s *docShell) screen(ts *testscript.TestScript, step docStep, width int) (*vt.Screen, int) {
	master, slave, err := harness.OpenTerminal(width, 50)
	ts.Check(err)
	defer master.Close()
	pwd := filepath.Join(ts.Getenv("WORK"), ".pwd")
	command := s.real(step.command)
	if serves.MatchString(command) {
		command += " --addr 127.0.0.1:0"
	}
	cmd := exec.Command("sh", "-c", fmt.Sprintf("cd %q || exit 99\n%s\nstatus=$?\npwd >%q\nexit $status", s.dir, command, pwd))
	cmd.Env = append(harness.Environ(ts), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "PAGER=cat")
	harness.Controls(slave, cmd)
	ts.Check(cmd.Start())
	slave.Close()
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	shown := vt.Screen{Width: width}
	stopped, answered := false, ""
	for b := make([]byte, 4096); ; {
		n, err := master.Read(b)
		shown.Write(b[:n])
		if !stopped && strings.Contains(shown.Text(), "  serving  ") {
			stopped = true
			io.WriteString(master, "\x03")
		}
		if last := lastLine(shown.Text()); strings.HasPrefix(last, "? ") && last != answered {
			answered = last
			io.WriteString(master, "\r") // what somebody answers who only goes on
		}
		if err != nil {
			break // the last process closed it
		}
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		ts.Fatalf("%v", err)
	}
	if dir, err := os.ReadFile(pwd); err == nil {
		s.dir = strings.TrimSpace(string(dir))
	}
	exit := cmd.ProcessState.ExitCode()
	if stopped {
		exit = 0
	}
	return &shown, exit
}

// lastLine is the last line of text that has something.
func lastLine(text string) string {
	text = strings.TrimRight(text, " \n")
	return text[strings.LastIndex(text, "\n")+1:]
}

// steady is text of a screen as every run shows it, of the same width.
func (s *docShell) steady(text string) string {
	for _, one := range s.only {
		text = strings.ReplaceAll(text, one[0], one[1])
	}
	for _, v := range varying {
		text = v.is.ReplaceAllString(text, v.shown)
	}
	return text
}

// varying is what differs from run to run, and what pictures have in its place.
var varying = []struct {
	is    *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`\b\d{8}-\d{6}-[0-9a-f]{6}\b`), "20261128-101500-4c1f0a"},
	{regexp.MustCompile(`\bskl_[0-9A-Za-z]{40,}`), "skl_…"},
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+`), "127.0.0.1:5080"},
	{regexp.MustCompile(`/…/script-[a-z]+/`), "/home/you/"},
	{regexp.MustCompile(`^\d\d:\d\d:\d\d\b`), "10:15:00"},
}

// plain is the text of rows, for messages.
func plain(rows [][]vt.Run) string {
	var b strings.Builder
	for _, row := range rows {
		for _, run := range row {
			b.WriteString(run.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const (
	cellWidth, lineHeight = 8.0, 20
	margin, titleBar      = 20, 36
)

// svg draws a terminal. It needs no font but the viewer's monospaced one: textLength fixes the width of each run.
func svg(command string, rows [][]vt.Run) []byte {
	longest := 0
	for _, row := range rows {
		longest = max(longest, widthOf(row))
	}
	w, h := int(float64(longest)*cellWidth)+2*margin, titleBar+len(rows)*lineHeight+margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="A terminal after %s">`+"\n", w, h, w, h, escapeXML(command))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#1b1f27"/>`+"\n", w, h)
	for i, colour := range []string{"#e0645c", "#e0b25c", "#6cbf6c"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="18" r="5" fill="%s"/>`+"\n", margin+5+i*18, colour)
	}
	b.WriteString(`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13" fill="#d5dae3">` + "\n")
	for i, row := range rows {
		at := 0
		for _, run := range row {
			width := screen.Width(run.Text)
			if strings.TrimSpace(run.Text) != "" {
				fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%d" lengthAdjust="spacing"%s>%s</text>`+"\n",
					margin+int(float64(at)*cellWidth), titleBar+14+i*lineHeight, int(float64(width)*cellWidth), painted(run.Style), escapeXML(run.Text))
			}
			at += width
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

func widthOf(row []vt.Run) (n int) {
	for _, run := range row {
		n += screen.Width(run.Text)
	}
	return n
}

// paints are the colours of a terminal's styles.
var paints = map[string]string{
	"1": ` font-weight="bold"`, "2": ` fill="#8a93a3"`, "31": ` fill="#e0645c"`, "32": ` fill="#6cbf6c"`, "33": ` fill="#e0b25c"`, "36": ` fill="#8fb8de"`,
}

func painted(style string) (out string) {
	for one := range strings.SplitSeq(style, ";") {
		out += paints[one]
	}
	return out
}

// escapeXML writes spaces as non-breaking ones: others collapse.
func escapeXML(text string) string {
	return strings.NewReplacer(" ", "\u00a0", "&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}
