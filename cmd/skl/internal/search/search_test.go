package search_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/diag"
)

func open(b *scopetest.Bench) *search.Searcher {
	return &search.Searcher{Scope: b.Scope(), Version: "test"}
}

// bench is a project with code and a secret in it.
func bench(t *testing.T) *scopetest.Bench {
	b := scopetest.New(t)
	b.Write("retry.go", "package retry\n\n// Backoff waits longer after each attempt.\nfunc Backoff(attempt int) int { return 1 << attempt }\n")
	b.Write("main.go", "package main\n\nfunc main() { retry.Backoff(3) }\n")
	b.Write(".env", "BACKOFF_TOKEN=secret\n")
	return b
}

// TestCode indexes a directory, asks it, expands an answer and drops the index, without a command line.
func TestCode(t *testing.T) {
	ctx, b := context.Background(), bench(t)
	report, err := open(b).Index(ctx, search.IndexRequest{})
	if err != nil || report.Added != 2 || report.Name != "." || report.LeftOut.Secret != 1 {
		t.Fatalf("index: %+v, %v", report, err)
	}
	answer, err := open(b).Query(ctx, search.Question{Params: query.Params{Symbol: "Backoff", Kind: "definition"}})
	if err != nil || len(answer.Handles) != 1 || answer.Handles[0].FilePath != "retry.go" || answer.Cut {
		t.Fatalf("query: %+v, %v", answer, err)
	}
	if nothing, err := open(b).Query(ctx, search.Question{Params: query.Params{Literal: "BACKOFF_TOKEN"}}); err != nil || len(nothing.Handles) != 0 || nothing.LeftOut.Secret != 1 {
		t.Errorf("what is left out is told where nothing matches: %+v, %v", nothing, err)
	}
	covered := search.Place{LeftOut: []string{".env"}}
	if files, err := open(b).Files(ctx, search.Question{Place: covered, Params: query.Params{Literal: "BACKOFF_TOKEN"}}); err != nil || !slices.Equal(files.Files, []string{".env"}) {
		t.Errorf("files: %+v, %v", files, err)
	}
	evidence, err := open(b).Evidence(ctx, search.EvidenceQuestion{EvidenceParams: query.EvidenceParams{Params: query.Params{Pattern: "longer after each attempt"}}})
	if err != nil || len(evidence.Handles) == 0 || evidence.Handles[0].FilePath != "retry.go" {
		t.Errorf("evidence: %+v, %v", evidence.Handles, err)
	}
	text, lost, err := open(b).Expand(ctx, search.Place{}, []string{answer.Handles[0].ID}, 0)
	if err != nil || len(lost) != 0 || len(text.Contents) != 1 || !strings.Contains(text.Contents[0].Content, "1 << attempt") {
		t.Errorf("expand: %+v, %v, %v", text, lost, err)
	}
	_, lost, err = open(b).Expand(ctx, search.Place{}, []string{"h000000000000000000000000"}, 0)
	if err != nil || len(lost) != 1 || !errors.Is(lost[0], diag.Code("handle_not_found")) {
		t.Errorf("a handle of nothing: %v, %v", lost, err)
	}
	if s, err := open(b).Status(ctx, search.Place{}); err != nil || s.FilesIndexed != 2 {
		t.Errorf("status: %+v, %v", s, err)
	}
	if d, err := open(b).Drop(ctx, search.DropRequest{Whole: true, DryRun: true}); err != nil || d.Files != 2 {
		t.Errorf("a dry drop: %+v, %v", d, err)
	}
	if out, err := open(b).CollectGarbage(ctx, true); err != nil || out.Indexes != 0 {
		t.Errorf("gc: %+v, %v", out, err)
	}
	if out, err := open(b).CleanCache(false); err != nil || out.Entries == 0 {
		t.Errorf("clean: %+v, %v", out, err)
	}
	if _, err := os.Stat(open(b).IndexDir()); err == nil {
		t.Error("the index is still there")
	}
}

// TestSkills finds skills by a task, and searches their text.
func TestSkills(t *testing.T) {
	ctx, b := context.Background(), scopetest.New(t)
	b.Skill(".agents/skills", "pdf", "# Fill forms\n\nUse the zebra method.\n")
	if err := b.Scope().SetTrust(b.Project, true); err != nil {
		t.Fatal(err)
	}
	found, err := open(b).Skills(ctx, search.SkillsRequest{Words: "pdf"})
	if err != nil || len(found.Skills) == 0 || found.Skills[0].Name != "pdf" || !found.Skills[0].Installed {
		t.Fatalf("skills: %+v, %v", found, err)
	}
	if _, err := open(b).Skills(ctx, search.SkillsRequest{Words: "pdf", Registry: "nowhere"}); !errors.Is(err, diag.Code("unknown_registry")) {
		t.Errorf("a registry that is not configured: %v", err)
	}
	if a, err := open(b).Suggest(ctx, "pdf", 5); err != nil || len(a.Skills) == 0 || a.Skills[0].Name != "pdf" {
		t.Errorf("suggest: %+v, %v", a, err)
	}
	answer, err := open(b).Query(ctx, search.Question{Place: search.Place{Skills: true}, Params: query.Params{Literal: "zebra method"}})
	if err != nil || len(answer.Handles) != 1 || !strings.HasSuffix(answer.Handles[0].FilePath, "pdf/SKILL.md") {
		t.Errorf("query: %+v, %v", answer.Handles, err)
	}
}

// TestService serves indexes, and asks the service.
func TestService(t *testing.T) {
	b := bench(t)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- open(b).Serve(ctx, search.ServeRequest{Addr: "127.0.0.1:0", Log: slog.DiscardHandler, Ready: func(addr, _ string) error { address <- addr; return nil }})
	}()
	select {
	case addr := <-address:
		if r, err := http.Get("http://" + addr + "/"); err != nil || r.Body.Close() != nil {
			t.Errorf("the service does not answer: %v", err)
		}
	case err := <-ended:
		t.Fatalf("serve: %v", err)
	}
	if err := open(b).Serve(ctx, search.ServeRequest{Addr: "0.0.0.0:0"}); !errors.Is(err, diag.Code("address_needs_key")) {
		t.Errorf("without a key: %v", err)
	}
	place := search.Place{Service: "http://example.com"}
	if _, err := open(b).Query(ctx, search.Question{Place: place, Params: query.Params{Symbol: "Backoff"}}); !errors.Is(err, diag.Code("offline")) {
		t.Errorf("a service elsewhere, offline: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
	tools, end, err := open(b).Tools(context.Background(), nil, "")
	if err != nil || !slices.Equal(tools.Roots, []string{b.Project}) {
		t.Fatalf("tools: %+v, %v", tools, err)
	}
	end()
	tools.Close()
	if got, err := open(b).Feedback(context.Background(), "", 7); err != nil || got.Root != b.Project || got.Metrics.SampleCount != 0 {
		t.Errorf("feedback: %+v, %v", got, err)
	}
}

// With a service, which records what is expanded, the tools of agents record nothing here: nothing counts twice.
func TestToolsOfService(t *testing.T) {
	ctx, b := context.Background(), bench(t)
	for _, service := range []string{"", "http://127.0.0.1:1"} {
		tools, end, err := open(b).Tools(ctx, nil, service)
		if err != nil {
			t.Fatal(err)
		}
		if records := tools.Feedback != nil; records != (service == "") {
			t.Errorf("service %q: records here: %v", service, records)
		}
		end()
	}
}

// The command line, MCP and a service give one answer to a question, and its guidance.
func TestEvidenceIsOne(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	b := bench(t)
	for i := range 6 {
		b.Write(fmt.Sprintf("more/part%d.go", i), fmt.Sprintf("package more\n\nfunc attemptPart%d(n int) int {\n\treturn n + %d\n}\n", i, i))
	}
	if out, err := exec.Command("git", "init", "-q", b.Project).CombinedOutput(); err != nil {
		t.Fatalf("git: %v: %s", err, out)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	address, ended := make(chan string, 1), make(chan error, 1)
	var keyFile string // written before address
	go func() {
		ended <- open(b).Serve(ctx, search.ServeRequest{Addr: "127.0.0.1:0", Log: slog.DiscardHandler, Ready: func(addr, file string) error { keyFile = file; address <- addr; return nil }})
	}()
	var addr string
	select {
	case addr = <-address:
	case err := <-ended:
		t.Fatalf("serve: %v", err)
	}
	var own struct{ Key string }
	if text, err := os.ReadFile(keyFile); err != nil || json.Unmarshal(text, &own) != nil {
		t.Fatal(err)
	}
	post := func(path string, body, answer any) {
		t.Helper()
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequest("POST", "http://"+addr+path, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Api-Key", own.Key)
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(answer); err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, r.Status, err)
		}
	}
	var repo struct {
		ID string `json:"repo_id"`
	}
	post("/repos/add", map[string]string{"path": b.Project}, &repo)
	for _, words := range []string{"longer after each attempt", "where is the customer invoice attempt sent", "zebra", "zebra crossing", "environment variable BACKOFF_LIMIT"} {
		here, err := open(b).Evidence(ctx, search.EvidenceQuestion{EvidenceParams: query.EvidenceParams{Params: query.Params{Pattern: words}}})
		if err != nil {
			t.Fatal(err)
		}
		var there query.Pack
		post("/evidence_pack", map[string]string{"repo": repo.ID, "pattern": words}, &there)
		here.Guidance.Observed = there.Guidance.Observed // which is not served
		if here.Guidance != there.Guidance || !slices.Equal(here.ExpandSuggestion, there.ExpandSuggestion) || len(here.Handles) != len(there.Handles) || here.TotalMatches != there.TotalMatches {
			t.Errorf("%q: the command line says %+v of %d, the service %+v of %d", words, here.Guidance, len(here.Handles), there.Guidance, len(there.Handles))
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
}
