package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/testdata/long"
)

// manyFiles makes n Go files of about 8 kB, each with a function of its own.
func manyFiles(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "package many\n\n// Only%d is what file %d is about.\nfunc Only%d() {}\n", i, i, i)
		for j := range 60 {
			fmt.Fprintf(&b, "\n// step%dx%d does one more thing, which takes its time.\nfunc step%dx%d(value int) (int, error) {\n\tif value > %d {\n\t\treturn value * %d, nil\n\t}\n\treturn step%dx%d(value + 1)\n}\n", i, j, i, j, j, j, i, j)
		}
		harness.WriteFile(t, filepath.Join(dir, fmt.Sprintf("d%02d", i%50), fmt.Sprintf("f%04d.go", i)), b.String())
	}
}

// Ctrl-C ends skl index at any moment with exit 130. What is left answers right, and the next index is whole.
func TestIndexInterrupted(t *testing.T) {
	long.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: there is no such signal on Windows")
	}
	const files = 1000
	p := harness.NewPlace(t)
	manyFiles(t, p.Project, files)
	interrupted := 0
	for i, after := range []time.Duration{80, 200, 400} {
		cmd := p.Command("index", "--anew")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after * time.Millisecond)
		cmd.Process.Signal(os.Interrupt)
		began := time.Now()
		cmd.Wait()
		if took := time.Since(began); took > long.Within(5*time.Second) {
			t.Errorf("it went on for %s", took)
		}
		switch status := cmd.ProcessState.ExitCode(); {
		case status == 130 && strings.Contains(out.String(), "skl: interrupted"):
			interrupted++
		case status == -1: // the signal came before there was anybody to hear it
		case status != 0 || !strings.Contains(out.String(), "✓"):
			t.Errorf("interrupted after %d ms: exit %d\n%s", after, status, out.String())
		}
		name := fmt.Sprintf("Only%d", i*100)
		if out := p.Must("query", "--symbol", name, "--kind", "definition", "--limit", "2"); !strings.Contains(out, "  "+name+"\n") && !strings.Contains(out, "not indexed yet") {
			t.Errorf("after an interrupt at %d ms, the query for %s says\n%s", after, name, out)
		}
		if out := p.Must("query", "--literal", "Only"+fmt.Sprint(i)+" is what", "--files"); strings.Count(out, ".go") != 1 {
			t.Errorf("after an interrupt at %d ms, the files are\n%s", after, out)
		}
	}
	if interrupted == 0 {
		t.Errorf("every index was done, or not begun, before it was interrupted")
	}
	p.Must("index")
	var status struct {
		Indexed int `json:"files_indexed"`
		Total   int `json:"files_total"`
	}
	if err := json.Unmarshal([]byte(p.Must("index", "status", "--json")), &status); err != nil || status.Indexed != files || status.Total != files {
		t.Errorf("after the last index: %+v, %v", status, err)
	}
}

// A query of a repository that is too large for its time starts what reads the rest, and ends meanwhile; unless that is not wanted.
func TestQueryGoesOnIndexing(t *testing.T) {
	long.Slow(t)
	const files = 4000
	p := harness.NewPlace(t)
	manyFiles(t, p.Project, files)
	covered := func() int {
		var status struct {
			Indexed int `json:"files_indexed"`
		}
		if err := json.Unmarshal([]byte(p.Must("index", "status", "--json")), &status); err != nil {
			t.Fatal(err)
		}
		return status.Indexed
	}
	if out := p.Must("query", "--symbol", "Only7"); !strings.Contains(out, "not indexed yet") || strings.Contains(out, "background") {
		t.Skipf("this machine indexes them at once: %s", out)
	}
	before := covered()
	time.Sleep(time.Second)
	if now := covered(); now != before {
		t.Errorf("%d files were indexed, now %d, although nothing is to go on", before, now)
	}
	cmd := p.Command("query", "--symbol", "Only7")
	cmd.Env = append(cmd.Env, "SKL_INDEX_BACKGROUND=on")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "indexing goes on in the background") {
		t.Fatalf("%v: %s", err, out)
	}
	for end := time.Now().Add(3 * time.Minute); covered() < files; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d files are indexed", covered(), files)
		}
	}
	p.Must("index") // waits until the other has ended
	if out := p.Must("query", "--symbol", "Only3999"); strings.Contains(out, "not indexed") || !strings.Contains(out, "f3999.go") {
		t.Errorf("in the end: %s", out)
	}
}

// Several skl share an index: they index at once, ask meanwhile, and nobody fails or gets a wrong answer.
func TestIndexTogether(t *testing.T) {
	long.Slow(t)
	p := harness.NewPlace(t)
	manyFiles(t, p.Project, 150)
	var wg sync.WaitGroup
	run := func(wants []string, args ...string) {
		wg.Go(func() {
			if status, out := p.Skl(args...); status != 0 || !slices.ContainsFunc(wants, func(want string) bool { return strings.Contains(out, want) }) {
				t.Errorf("skl %q: exit %d\n%s", args, status, out)
			}
		})
	}
	for i := range 4 {
		file := fmt.Sprintf("f%04d.go", i)
		run([]string{"✓ .: "}, "index", "--anew")
		run([]string{file + ":", " not indexed yet"}, "query", "--symbol", fmt.Sprintf("Only%d", i), "--kind", "definition") // it may have waited for the others too long
		run([]string{file + "\n"}, "query", "--literal", fmt.Sprintf("func Only%d()", i), "--files")
	}
	wg.Wait()
	if out := p.Must("index"); !strings.Contains(out, "0 new, 0 changed, 0 removed, 150 unchanged") {
		t.Errorf("in the end: %s", out)
	}
}

// TestIndexJSON holds what the commands of the index print against the program's own schemas.
func TestIndexJSON(t *testing.T) {
	long.Slow(t)
	m := harness.NewMachine(t)
	m.Write("src/auth.ts", []byte(controllerFile))
	m.Write("src/login.ts", []byte(loginFile))
	m.Write(filepath.Join("..", "home", ".agents", "skills", "pdf", "SKILL.md"), []byte("---\nname: pdf\ndescription: Fills forms. Use for PDF files.\n---\n# PDF\n"))
	found := m.Answer(0, "query", "--symbol", "login", "--kind", "definition")
	id := handles(t, found, "handles")[0]["id"].(string)
	for _, tt := range []struct{ command, args string }{
		{"query", "token"},
		{"query", "--symbol authenticate --kind reference"},
		{"query", "--regex . --expand-budget 100"},
		{"query", "--regex . --max-tokens 50"},
		{"query", "--skills forms"},
		{"query", "nothinglikethis"},
		{"evidence", "token"},
		{"evidence", "nothinglikethis"},
		{"evidence", "--skills forms"},
		{"expand", id},
		{"expand", id + " --max-tokens 5"},
		{"index", ""},
		{"index", "--skills"},
		{"index status", ""},
		{"index status", "--skills"},
		{"index feedback", ""},
		{"index drop", "--dry-run"},
		{"index drop", "src/**"},
		{"index drop", "--skills"},
		{"index drop", ""},
		{"cache dir", ""},
	} {
		m.AnswerAs(tt.command, 0, append(strings.Fields(tt.command), strings.Fields(tt.args)...)...)
	}
	for _, tt := range []struct {
		status  int
		code    string
		command string
		args    string
	}{
		{2, "query_parse", "query", ""},
		{2, "query_parse", "query", "--regex ("},
		{2, "glob_pattern", "query", "x --glob ["},
		{2, "invalid_request", "query", "x --limit 999"},
		{2, "usage", "query", "x --limit 0"},
		{2, "not_found", "query", "x --path nowhere"},
		{2, "not_a_directory", "query", "x --path src/auth.ts"},
		{2, "invalid_service_url", "query", "x --service ftp://127.0.0.1"},
		{1, "service_unreachable", "query", "x --service http://127.0.0.1:1"},
		{2, "handle_id", "expand", "x"},
		{1, "handle_not_found", "expand", "h000000000000000000000000"},
		{4, "address_needs_key", "index serve", "--addr 0.0.0.0:0"},
		{2, "invalid_address", "index serve", "--addr x"},
	} {
		out := m.AnswerAs(tt.command, tt.status, append(strings.Fields(tt.command), strings.Fields(tt.args)...)...)
		failure := harness.HasFields(t, "the error", harness.HasFields(t, "an error", out, "error")["error"], harness.ErrorFields)
		if failure["code"] != tt.code {
			t.Errorf("skl %s %s: code %v, want %s", tt.command, tt.args, failure["code"], tt.code)
		}
	}
}
