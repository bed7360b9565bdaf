package documents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

// picture implements: picture FILE WIDTH COMMAND…. It runs the command and wants FILE to be a picture of a terminal that
// shows the command and all that it prints; with -update, FILE is written. Lines of more than WIDTH columns are
// broken, as a terminal does.
func picture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: picture FILE WIDTH COMMAND…")
	}
	s := ts.Value(docShellKey{}).(*docShell)
	var width int
	fmt.Sscan(args[1], &width)
	command := strings.Join(args[2:], " ")
	output, exit := s.do(ts, docStep{command: command})
	if exit != 0 {
		ts.Fatalf("%s exits with %d\n%s", command, exit, strings.Join(output, "\n"))
	}
	want := svg(command, output, width)
	path := ts.MkAbs(args[0])
	if *harness.Update {
		ts.Check(os.WriteFile(path, want, 0o644))
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		ts.Fatalf("%s is not what skl prints (%v): go test ./cmd/skl/test/documents -run TestDocs/pages/readme -update\n%s", filepath.Base(path), err, strings.Join(output, "\n"))
	}
}

const (
	cellWidth, lineHeight = 8.0, 20
	margin, titleBar      = 20, 36
)

// svg draws a terminal. It needs no font but the viewer's monospaced one: textLength fixes the width of each line.
func svg(command string, output []string, width int) []byte {
	lines := []string{"$ " + command}
	for _, line := range output {
		lines = append(lines, broken(line, width)...)
	}
	longest := 0
	for _, line := range lines {
		longest = max(longest, utf8.RuneCountInString(line))
	}
	w, h := int(float64(longest)*cellWidth)+2*margin, titleBar+len(lines)*lineHeight+margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Output of %s">`+"\n", w, h, w, h, command)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#1b1f27"/>`+"\n", w, h)
	for i, colour := range []string{"#e0645c", "#e0b25c", "#6cbf6c"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="18" r="5" fill="%s"/>`+"\n", margin+5+i*18, colour)
	}
	b.WriteString(`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13" fill="#d5dae3">` + "\n")
	for i, line := range lines {
		if line == "" {
			continue
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%d" lengthAdjust="spacing">%s</text>`+"\n",
			margin, titleBar+14+i*lineHeight, int(float64(utf8.RuneCountInString(line))*cellWidth), coloured(line))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// broken cuts a line into pieces of at most width columns, at spaces where there are some.
func broken(line string, width int) []string {
	var out []string
	for utf8.RuneCountInString(line) > width {
		runes := []rune(line)
		cut := strings.LastIndex(string(runes[:width]), " ")
		if cut <= 0 {
			cut = len(string(runes[:width]))
		}
		out = append(out, line[:cut])
		line = "  " + strings.TrimLeft(line[cut:], " ")
	}
	return append(out, line)
}

// emphasis is what the picture colours: what a terminal shows in colour, and the words to look at.
var emphasis = []struct{ text, style string }{
	{"warning:", `fill="#e0b25c"`}, {"hint:", `fill="#8fb8de"`}, {"LOADS", `fill="#e0645c" font-weight="bold"`},
	{"[shadowed]", `fill="#8a93a3"`}, {"hidden", `fill="#8a93a3"`}, {"loads", `fill="#6cbf6c"`},
}

// coloured is a line of text as XML.
func coloured(line string) string {
	if rest, ok := strings.CutPrefix(line, "$ "); ok {
		return `<tspan fill="#6cbf6c">$</tspan> <tspan font-weight="bold">` + escapeXML(rest) + `</tspan>`
	}
	if strings.HasPrefix(line, "NAME ") {
		return `<tspan fill="#8a93a3">` + escapeXML(line) + `</tspan>`
	}
	prose := strings.HasPrefix(line, "skl:") || strings.HasPrefix(line, "  ") && !strings.Contains(line, "[shadowed]")
	line = escapeXML(line)
	for i, e := range emphasis {
		if prose && i > 1 {
			break
		}
		line = strings.Replace(line, e.text, `<tspan `+e.style+`>`+e.text+`</tspan>`, 1)
	}
	return line
}

// escapeXML writes spaces as non-breaking ones: others collapse.
func escapeXML(text string) string {
	return strings.NewReplacer(" ", "\u00a0", "&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}
