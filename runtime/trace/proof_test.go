package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/net/html"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/graph"
)

// hostile are texts that would be more than text in a page that takes them for such. HOST is a server.
var hostile = []string{
	`<script>document.title='taken'</script>`,
	`</title></style><script src="HOST/x.js"></script>`,
	`<img src="HOST/i.png" onerror="document.title='taken'">`,
	`"><svg onload="document.title='taken'"><a href="javascript:document.title='taken'">x</a></svg>`,
	`</pre></details></table><iframe src="HOST/f"></iframe><form action="HOST"><input autofocus onfocus="document.title='taken'">`,
	`<link rel=stylesheet href="HOST/s.css"><style>@import url(HOST/t.css);body{display:none}</style>`,
	`<!--`, `]]>`, `<![CDATA[`, `</svg></div></main><base href="HOST"><meta http-equiv=refresh content="0;url=HOST">`,
	"\x1b]0;taken\x07\x1b[2J", "\u202egnp.exe", "{{.Title}}{{template \"proof\"}}", "expression(1);}</style>",
}

// hostileProof is a page about a run in which everything that can be a text is each of these texts.
func hostileProof(t *testing.T, host string) []byte {
	t.Helper()
	var all []string
	for _, h := range hostile {
		all = append(all, strings.ReplaceAll(h, "HOST", host))
	}
	source := "---\nname: demo\ndescription: Does a thing. Use when asked.\n---\n\n## Tree\n\n"
	for _, h := range all {
		line := strings.Join(strings.Fields(h), " ")
		source += "* Say " + line + "\n* IF << " + line + "\n  * ASK << " + line + " | " + line + " | No\n"
	}
	s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: []byte(source)}}, ".")
	if err != nil {
		t.Fatal(err)
	}
	p := trace.Proof{Status: "ok", Started: time.Unix(1_700_000_000, 0), Ended: time.Unix(1_700_000_009, 0), Picture: graph.SVG(s, graph.Options{Ops: true})}
	for i, h := range all {
		quoted, _ := json.Marshal(h)
		path := fmt.Sprint(i)
		p.Skill, p.Run, p.Args, p.Model, p.Digest, p.Journal, p.Version, p.Replay = h, h, h, h, h, h, h, h
		usage := &model.Usage{Calls: 1, InputTokens: 5}
		deed := &run.Deed{Leave: h, Unknown: h, Changed: []run.Change{{Path: h, What: h, Digest: h}}}
		for _, e := range []run.Event{
			{Kind: run.NodeStarted, Type: h, Text: h},
			{Kind: run.ModelCalled, Name: string(model.Condition), Text: h},
			{Kind: run.ModelReplied, Name: string(model.Condition), Model: h, Usage: usage, Value: json.RawMessage(`{"reason":` + string(quoted) + `}`)},
			{Kind: run.Decided, Type: h, Text: h, Value: quoted, How: "model"},
			{Kind: run.Decided, Type: h, Text: h, Value: quoted, How: "rule", Read: json.RawMessage(`{` + string(quoted) + `:` + string(quoted) + `}`)},
			{Kind: run.Decided, Text: h, Value: quoted, How: h},
			{Kind: run.PlanShown, Value: json.RawMessage(`[{"field":` + string(quoted) + `,"value":` + string(quoted) + `}]`)},
			{Kind: run.Asked, Text: h, Value: json.RawMessage(`[` + string(quoted) + `]`)},
			{Kind: run.Answered, Value: quoted, How: h},
			{Kind: run.Bound, Name: h, Value: quoted},
			{Kind: run.ToolCalled, Name: h, Call: 1, Value: json.RawMessage(`{"command":` + string(quoted) + `}`)},
			{Kind: run.ToolReplied, Name: h, Call: 1, Text: h, Status: run.Status(h), Did: deed},
			{Kind: run.ToolReplied, Name: h, Call: 2, Text: h, Status: run.Denied},
			{Kind: run.Acted, Name: h, Text: h, Status: run.OK, Did: deed},
			{Kind: run.Warned, Code: h, Text: h},
			{Kind: run.NodeDone, Type: h, Text: h, Status: run.OK},
		} {
			e.Path = path
			p.Events = append(p.Events, e)
		}
		odd := run.Event{Kind: run.NodeSkipped, Path: h, Node: h, Text: h}
		p.Events = append(p.Events, odd, run.Event{Kind: run.RunEnded, Status: run.Status(h), Text: h})
	}
	var out bytes.Buffer
	if err := trace.WriteProof(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestProofHostile holds that a page is made of its own elements alone, whatever its texts are.
func TestProofHostile(t *testing.T) {
	page := hostileProof(t, "https://elsewhere.example")
	for n, line := range strings.Split(string(page), "\n") {
		if diag.Printable(line) != line {
			t.Errorf("line %d has characters that a terminal obeys, or that hide text: %q", n+1, diag.Printable(line))
		}
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Fields("html head meta title style body main h1 h2 small p span section dl dt dd div svg rect path text circle g a ol li table thead tbody tr th td b br details summary pre code")
	count := map[string]int{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			if n.Type == html.CommentNode {
				t.Errorf("a comment: %q", n.Data)
			}
			continue
		}
		count[n.Data]++
		if !slices.Contains(own, n.Data) {
			t.Errorf("an element %s: %v", n.Data, n.Attr)
		}
		for _, a := range n.Attr {
			key := strings.ToLower(a.Key)
			switch {
			case strings.HasPrefix(key, "on"), key == "src", key == "action":
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			case strings.HasSuffix(key, "href") && !strings.HasPrefix(a.Val, "#"):
				t.Errorf("<%s %s=%q> leads out of the page", n.Data, a.Key, a.Val)
			}
		}
	}
	if count["style"] != 1 || count["title"] != 2 || count["meta"] != 5 { // a picture has a title
		t.Errorf("elements: %v", count)
	}
	for _, h := range hostile[:7] {
		want := html.EscapeString(strings.ReplaceAll(h, "HOST", "https://elsewhere.example"))
		if !bytes.Contains(bytes.ReplaceAll(page, []byte("&#43;"), []byte("+")), []byte(want)) {
			t.Errorf("the page does not show %q", h)
		}
	}
}

// TestProofBrowser opens such a page in a browser, in light and in dark: nothing of it runs or is fetched.
func TestProofBrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		if os.Getenv("SKL_TEST_REQUIRE") == "all" {
			t.Fatal("chromium is not installed, and SKL_TEST_REQUIRE=all wants no test skipped")
		}
		t.Skip("chromium is not installed")
	}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, hostileProof(t, server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(more ...string) []byte {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + filepath.Join(dir, "profile"), "--window-size=900,700"}, more...)
		cmd := exec.CommandContext(ctx, browser, append(args, "file://"+file)...)
		cmd.WaitDelay = 5 * time.Second
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", more, err, complaints.String())
		}
		return out
	}
	dom := open("--virtual-time-budget=2000", "--dump-dom")
	if bytes.Contains(dom, []byte("<title>taken</title>")) || bytes.Contains(dom, []byte("<iframe")) || !bytes.Contains(dom, []byte(`<section id="effects">`)) {
		t.Error("a text of the run was more than text")
	}
	for name, mode := range map[string]struct {
		scheme string
		bright bool
	}{"light": {"1", true}, "dark": {"0", false}} {
		shot := filepath.Join(dir, name+".png")
		open("--blink-settings=preferredColorScheme="+mode.scheme, "--screenshot="+shot)
		f, err := os.Open(shot)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if r, _, _, _ := picture.At(2, 2).RGBA(); (r > 0xc000) != mode.bright || (r < 0x4000) == mode.bright {
			t.Errorf("%s: the page has the ground %#x", name, r)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the page asked a server for %d things", n)
	}
}

// TestProofTells holds what a page says of runs that did not end, and of runs that were recorded before effects said whose leave they had.
func TestProofTells(t *testing.T) {
	var out bytes.Buffer
	p := trace.Proof{Skill: "demo", Status: "unfinished", Events: []run.Event{
		{Kind: run.NodeStarted, Path: "0", Text: "PARALLEL"},
		{Kind: run.ModelReplied, Path: "0/0", Name: "condition", Model: "one", Value: json.RawMessage(`{"reason":"first"}`)},
		{Kind: run.ModelReplied, Path: "0/1", Name: "condition", Model: "two", Value: json.RawMessage(`{"reason":"second"}`)},
		{Kind: run.Decided, Path: "0/0", Type: "IF", Text: "it is", Value: json.RawMessage("true"), How: "model"},
		{Kind: run.ToolCalled, Path: "0/0", Name: "Write", Call: 1, Value: json.RawMessage(`{"path":"a.txt"}`)},
		{Kind: run.ToolReplied, Path: "0/0", Name: "write", Call: 1, Status: run.OK},
		{Kind: run.ToolReplied, Path: "0/0", Name: "read", Call: 2, Status: run.OK},
		{Kind: run.ToolReplied, Path: "0/0", Name: "read", Call: 4, Status: run.Errored},
		{Kind: run.ToolCalled, Path: "0/1", Name: "write", Call: 1, Value: json.RawMessage(`{"path":"c.txt"}`)},
		{Kind: run.ToolCalled, Path: "0/1", Name: "Read", Call: 2, Value: json.RawMessage(`{"path":"d.txt"}`)},
		{Kind: run.Acted, Path: "1", Name: "script", Text: "old.sh", Status: run.OK},
		{Kind: run.ToolCalled, Path: "0/0", Name: "write", Call: 3, Value: json.RawMessage(`{"path":"b.txt"}`)},
		{Kind: run.ToolReplied, Path: "0/0", Name: "write", Call: 3, Status: run.Suspended, Text: "nobody agreed"},
		{Kind: run.ToolReplied, Path: "0/0", Name: "write", Call: 3, Status: run.OK, Did: &run.Deed{Leave: run.LeavePerson, Changed: []run.Change{{Path: "b.txt", What: run.Created}}}},
	}}
	if err := trace.WriteProof(&out, p); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"<dd>no: unfinished</dd>", "<td>model one<td>first", "<code>a.txt</code>", "<td>not recorded<td>", "<td>you, when it came to it<td><div>created b.txt, 0 B</div>", "1 decision: 1 by a model. 4 effects, 1 file changed, as far as it was recorded: the run did not end.",
		"<code>c.txt</code> <span class=\"soft\">not ended</span>", "More may have changed: nobody saw it end.", "script <code>old.sh</code> <span class=\"soft\">ok</span>\n<td>not recorded<td>", "Besides, 2 calls of tools that only read."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "nobody agreed") {
		t.Error("a call that waited and was made stands there twice")
	}
}
