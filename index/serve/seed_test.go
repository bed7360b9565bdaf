package serve

import (
	"path/filepath"
	"strings"
	"testing"
)

// The advice to agents for using the tools well.
func TestReadmeAdvice(t *testing.T) {
	text := strings.Join(strings.Fields(readme), " ")
	for what, says := range map[string]string{
		"handles are cheap, text costs":                     "Ask for handles, which are cheap, then expand the few that matter.",
		"these tools come before a search of the shell":     "Use these tools before find, grep or rg",
		"a pack is where to begin":                          "1. `canopy_evidence_pack(",
		"a good pack is expanded":                           "`expand_then_answer`: expand the first `suggested_expand_count` ids of `expand_suggestion`, then answer.",
		"a poor one is refined once":                        "`refine_query`: ask once more, narrower (a symbol, a glob, rarer words), then expand.",
		"another search comes after the refined one":        "Only if that finds nothing of use either, search another way (find, grep, rg).",
		"repetition ends the search":                        "Stop when a new pack repeats the files of the last.",
		"text that is there is not expanded again":          "Do not expand ids listed in `expanded_handle_ids`.",
		"indexing by hand is not needed":                    "Nothing has to be indexed first.",
		"what was cut is narrowed, or the limit raised":     "`truncated: true` means that there is more: narrow the query or raise `limit`.",
		"a stale handle is asked for again":                 "A handle of changed text fails with `stale_index` or `handle_not_found`: query again.",
		"a definition by its name":                          "`symbol=\"AuthController\"`, with `kind=\"definition\"` for the exact name",
		"who uses it":                                       "`symbol=\"authenticate\", kind=\"reference\"`",
		"members":                                           "`parent=\"AuthController\"`, one of them: add `symbol`",
		"several texts":                                     "`patterns=[...]`, `match=\"all\"` or `\"any\"`",
		"headings":                                          "`section=\"Installation\"`",
		"only some files":                                   "`glob=\"src/**/*.ts\"`",
		"expressions are for combinations, with every form": "forms: " + strings.Join([]string{"grep", "literal", "regex", "code", "definition", "references", "section", "file", "children", "children-named", "in-file", "union", "intersect", "limit"}, ", "),
	} {
		if !strings.Contains(text, says) {
			t.Errorf("%s: the readme lacks %q", what, says)
		}
	}
}

// A repository that is added without a name has that of its directory.
func TestServiceNames(t *testing.T) {
	root := filepath.Join(realDir(t), "some-repo")
	put(t, root, ".git/HEAD", "ref: refs/heads/main\n")
	put(t, root, "a.go", "package a\n")
	w := start(t, ServiceOptions{Open: (&fakes{}).open})
	if status, answer := w.ask("POST", "/repos/add", map[string]any{"path": root}); status != 200 || answer["name"] != "some-repo" {
		t.Errorf("%d %v", status, answer)
	}
	if status, answer := w.ask("POST", "/repos/add", map[string]any{"path": root, "name": "mine"}); status != 200 || answer["name"] == "" {
		t.Errorf("%d %v", status, answer)
	}
}

// A generation that is given with a handle is compared; a handle alone is looked up in the files as they are.
func TestServiceGenerations(t *testing.T) {
	root := sample(t)
	w := start(t, ServiceOptions{Open: real(t)})
	id := w.add(root)
	before, _ := w.ask("GET", "/repos/"+id, nil)
	if before != 200 {
		t.Fatal(before)
	}
	generation := func() float64 {
		_, answer := w.ask("GET", "/repos/"+id, nil)
		n, _ := answer["generation"].(float64)
		return n
	}
	if n := generation(); n != 0 {
		t.Errorf("before it is indexed, the generation is %v", n)
	}
	w.index(id)
	first := generation()
	put(t, root, "more.go", "package pool\n\nfunc More() {}\n")
	w.index(id)
	if second := generation(); first == 0 || second <= first {
		t.Errorf("the generation was %v and is %v", first, second)
	}
}

// A search that finds nothing is no failure, and its lists are empty and not null.
func TestNothingIsAnEmptyList(t *testing.T) {
	c := connect(t, &Tools{Open: real(t), Roots: []string{sample(t)}}, nil)
	for _, tool := range []string{"canopy_query", "canopy_evidence_pack"} {
		text, structured, isError := invoke(t, c, tool, map[string]any{"pattern": "nowhereatall"})
		if list, ok := structured["handles"].([]any); isError || !ok || len(list) != 0 || structured["ref_handles"] != nil {
			t.Errorf("%s: %s", tool, text)
		}
	}
}
