package skillify

import (
	"strings"
	"testing"
)

// TestCheckSummary refuses what no sentence about a package needs.
func TestCheckSummary(t *testing.T) {
	long := strings.Repeat("word ", 70)
	for _, c := range []struct {
		text  string
		cites []string
		wrong string // "" is taken
	}{
		{"Queues keep jobs in their order.", []string{"push", "start"}, ""},
		{"`push` adds a job and `peek()` shows it.", []string{"push", "peek"}, ""},
		{"Use drop(q) at the end.", []string{"drop"}, ""},
		{"Use pop(q) at the end.", []string{"drop"}, "nothing called"},
		{"Use `queue::pop` at the end.", []string{"drop"}, "nothing called"},
		{"`push adds a job.", []string{"push"}, "not closed"},
		{"It does.", nil, "cites 0"},
		{"It does.", []string{"a", "b", "c", "d", "e", "f"}, "cites 6"},
		{"It does.", []string{"Push"}, "no id"},
		{"", []string{"push"}, "bytes"},
		{long, []string{"push"}, "bytes"},
		{"See [it](x).", []string{"push"}, "plain sentence"},
		{"See <b>it</b>.", []string{"push"}, "plain sentence"},
		{"See www.example.com.", []string{"push"}, "plain sentence"},
		{"One.\n\n## Tree", []string{"push"}, "plain sentence"},
		{"- one", []string{"push"}, "plain sentence"},
		{"Run !`id`.", []string{"push"}, "plain sentence"},
		{"Say $ARGUMENTS.", []string{"push"}, "plain sentence"},
		{"Read @notes.", []string{"push"}, "plain sentence"},
	} {
		err := CheckSummary(queue(), &Summary{"m", []Sentence{{c.text, c.cites}}})
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q citing %q: %v, want %q", c.text, c.cites, err, c.wrong)
		}
	}
	many := &Summary{By: "m"}
	for range maxSentences + 1 {
		many.Sentences = append(many.Sentences, Sentence{"Queues keep jobs.", []string{"push"}})
	}
	if CheckSummary(queue(), many) == nil || CheckSummary(queue(), &Summary{By: "m"}) == nil {
		t.Error("too many sentences, or none, are taken")
	}
	if _, err := Make(queue(), Options{Summary: many}); err == nil {
		t.Error("a skill is made with a summary that does not hold")
	}
}

// TestSummaryIsWritten has the sentences in the overview, with links to what they cite, and the model in the stamp.
func TestSummaryIsWritten(t *testing.T) {
	s, err := Make(queue(), Options{Version: "1.0.0", Summary: &Summary{"maker:one", []Sentence{{"Queues keep jobs in their order", []string{"start", "push"}}, {"What `peek` shows is the first job.", []string{"peek"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, s)
	text := string(s.File("SKILL.md"))
	for _, want := range []string{"## Overview\n\nWritten by maker:one from the entries that each sentence names.\n\nQueues keep jobs in their order ([`push`](references/api/push.md), [`start`](references/guides/start.md)).\nWhat `peek` shows is the first job ([`peek`](references/api/peek.md)).\n\n", `"summarized_by":"maker:one"`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if data := SummaryData(queue()); !strings.Contains(data, "guide start: Start. Headings: Start; First\n") || !strings.Contains(data, "function push on page push: Add a job.") || len(data) > promptBytes {
		t.Errorf("a model is told\n%s", data)
	}
}
