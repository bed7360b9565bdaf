package serve

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// readme is what canopy_agent_readme answers.
//
//go:embed readme.md
var readme string

// Tools are the seven canopy tools. Configure the fields before Add; Close when the server has ended.
type Tools struct {
	Open     OpenFunc  // of directories; [Client.Open] for those of a service
	Roots    []string  // directories that may be searched, absolute; nil refuses every path
	Feedback *Feedback // where queries and expansions are recorded; nil records nothing

	once    sync.Once
	indexes *indexes
}

// Add adds the tools to a server.
func (t *Tools) Add(s *mcp.Server) {
	t.start()
	add := func(tool *mcp.Tool, handle toolFunc) {
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, structured, err := handle(ctx, r.Params.Arguments, telling(ctx, r))
			if err != nil {
				return failed(err), nil
			}
			result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
			if structured != nil {
				result.StructuredContent = json.RawMessage(structured)
			}
			return result, nil
		})
	}
	handlers := map[string]toolFunc{
		"canopy_query": t.query, "canopy_evidence_pack": t.evidence, "canopy_expand": t.expand, "canopy_index": t.index,
		"canopy_status": t.status, "canopy_invalidate": t.invalidate, "canopy_agent_readme": t.readme,
	}
	for _, tool := range tools() {
		add(tool, handlers[tool.Name])
	}
}

func (t *Tools) start() {
	t.once.Do(func() { t.indexes = &indexes{open: t.Open, feedback: t.Feedback} })
}

// Close closes the indexes. Calls that come later are refused.
func (t *Tools) Close() error {
	t.start()
	return t.indexes.close()
}

// A toolFunc answers a call with text and JSON. progress is nil if nobody asked for it.
type toolFunc func(ctx context.Context, arguments json.RawMessage, progress diag.Progress) (text string, structured []byte, err error)

// telling sends progress to a client that asked for it.
func telling(ctx context.Context, r *mcp.CallToolRequest) diag.Progress {
	token := r.Params.GetProgressToken()
	if token == nil || r.Session == nil {
		return nil
	}
	var mu sync.Mutex
	last, sent := int64(-1), 0.0
	return func(e diag.Event) {
		mu.Lock()
		defer mu.Unlock()
		// Clients need numbers that grow, and not more than a hundred of them.
		if e.Total > 0 && e.Done < e.Total && last >= 0 && e.Done-last < max(e.Total/100, 1) {
			return
		}
		last = e.Done
		sent = max(sent+1, float64(e.Done))
		// A client that is gone is noticed by the call itself.
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Message: strings.TrimSpace(e.Stage + " " + diag.Printable(e.Name)), Progress: sent, Total: float64(e.Total),
		})
	}
}

func failed(err error) *mcp.CallToolResult {
	p, _ := problem(err)
	b := encode(p)
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}, StructuredContent: json.RawMessage(b)}
}

// at opens the index for a path.
func (t *Tools) at(ctx context.Context, path string, progress diag.Progress) (x Index, end func(), err error) {
	root, err := resolve(path, t.Roots)
	if err != nil {
		return nil, nil, err
	}
	o, err := t.indexes.of(ctx, root)
	if err != nil {
		return nil, nil, err
	}
	return o.x, o.listen(progress), nil
}

func (t *Tools) query(ctx context.Context, arguments json.RawMessage, progress diag.Progress) (string, []byte, error) {
	in, err := readQuestion(arguments, "path", false)
	if err != nil {
		return "", nil, err
	}
	q, err := in.Params.Compile()
	if err != nil {
		return "", nil, err
	}
	x, end, err := t.at(ctx, in.Where, progress)
	if err != nil {
		return "", nil, err
	}
	defer end()
	r, err := x.Query(ctx, q)
	if err != nil {
		return "", nil, err
	}
	r = r.Within(bounded(in.MaxTokens))
	t.Feedback.queried(x.Root(), q.Text, in.Params.Glob, r.Handles)
	b := encode(r)
	return string(b), b, nil
}

// source says where handles come from, unless they say so themselves.
func source(handles []query.Handle, refs []query.RefHandle, from, commit string, generation uint64) {
	for i := range handles {
		if h := &handles[i]; h.Source == "" {
			h.Source, h.CommitSHA, h.Generation = from, commit, cmp.Or(generation, h.Generation)
		}
	}
	for i := range refs {
		if h := &refs[i]; h.Source == "" {
			h.Source, h.CommitSHA, h.Generation = from, commit, cmp.Or(generation, h.Generation)
		}
	}
}

func (t *Tools) evidence(ctx context.Context, arguments json.RawMessage, progress diag.Progress) (string, []byte, error) {
	in, err := readQuestion(arguments, "path", true)
	if err != nil {
		return "", nil, err
	}
	if _, _, err := in.Compile(); err != nil {
		return "", nil, err
	}
	x, end, err := t.at(ctx, in.Where, progress)
	if err != nil {
		return "", nil, err
	}
	defer end()
	p, err := Evidence(ctx, x, in.EvidenceParams)
	if err != nil {
		return "", nil, err
	}
	fitPack(&p, bounded(in.MaxTokens))
	t.Feedback.queried(x.Root(), p.QueryText, in.Params.Glob, handlesOf(p.Handles))
	b := encode(p)
	return string(b), b, nil
}

// handlesOf is what feedback needs to know of the handles of a pack.
func handlesOf(pack []query.Evidence) []query.Handle {
	all := make([]query.Handle, len(pack))
	for i, e := range pack {
		all[i] = query.Handle{ID: e.ID, FilePath: e.FilePath, NodeType: e.NodeType, TokenCount: e.TokenCount}
	}
	return all
}

func (t *Tools) expand(ctx context.Context, arguments json.RawMessage, progress diag.Progress) (string, []byte, error) {
	var in struct {
		Path      string   `json:"path"`
		HandleIDs []string `json:"handle_ids"`
		MaxTokens int      `json:"max_tokens"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", nil, err
	}
	if err := checkIDs(in.HandleIDs); err != nil {
		return "", nil, err
	}
	x, end, err := t.at(ctx, in.Path, progress)
	if err != nil {
		return "", nil, err
	}
	defer end()
	e, err := x.Expand(ctx, in.HandleIDs, bounded(in.MaxTokens))
	if err != nil {
		return "", nil, err
	}
	if len(e.Contents) == 0 && len(e.FailedIDs) > 0 {
		return "", nil, handleProblem(e.FailedIDs)
	}
	if e.Contents == nil {
		e.Contents = []query.Content{}
	}
	t.Feedback.expanded(x.Root(), e.Contents)
	return expansionText(e), encode(e), nil
}

// expansionText is the answer of canopy_expand as agents know it: a line with the id, the content, an empty line.
func expansionText(e query.Expansion) string {
	var b strings.Builder
	for i, c := range e.Contents {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("// " + c.HandleID + "\n" + c.Content)
		if !strings.HasSuffix(c.Content, "\n") {
			b.WriteByte('\n')
		}
		if c.Cut {
			b.WriteString("// cut by max_tokens\n")
		}
	}
	if len(e.FailedIDs) > 0 {
		b.WriteString("\n// Failed to expand:\n")
		for _, f := range e.FailedIDs {
			b.WriteString("// " + f.HandleID + " " + f.Code + ": " + f.Message + "\n")
		}
	}
	if e.Truncated {
		b.WriteString("\n// max_tokens left something out\n")
	}
	return b.String()
}

// checkIDs refuses lists that cannot be expanded as a whole. Single ids that are wrong are for the index.
func checkIDs(ids []string) error {
	switch {
	case len(ids) == 0:
		return diag.New(diag.Misuse, codeInvalid, "no handles are given").Hint("take handle_ids from the answer of a query")
	case len(ids) > MaxIDs:
		return diag.New(diag.Misuse, codeInvalid, "%d handles are given; at most %d are expanded at once", len(ids), MaxIDs)
	}
	return nil
}

func (t *Tools) index(ctx context.Context, arguments json.RawMessage, progress diag.Progress) (string, []byte, error) {
	var in struct {
		Path      string `json:"path"`
		Glob      string `json:"glob"`
		MaxTokens int    `json:"max_tokens"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", nil, err
	}
	if in.Glob == "" {
		return "", nil, diag.New(diag.Misuse, codeInvalid, "glob is missing").Hint("use \"**\" for all files")
	}
	only, err := glob.Parse(in.Glob)
	if err != nil {
		return "", nil, err
	}
	x, end, err := t.at(ctx, in.Path, progress)
	if err != nil {
		return "", nil, err
	}
	defer end()
	report, err := x.Update(ctx, only, false)
	if err != nil {
		return "", nil, err
	}
	b := encode(report)
	return string(b), b, nil
}

func (t *Tools) status(ctx context.Context, arguments json.RawMessage, progress diag.Progress) (string, []byte, error) {
	var in struct {
		Path      string `json:"path"`
		MaxTokens int    `json:"max_tokens"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", nil, err
	}
	x, end, err := t.at(ctx, in.Path, progress)
	if err != nil {
		return "", nil, err
	}
	defer end()
	out := struct {
		query.Status
		Feedback *FeedbackMetrics `json:"feedback,omitempty"`
	}{}
	if out.Status, err = x.Status(ctx); err != nil {
		return "", nil, err
	}
	if m, err := t.Feedback.Metrics(ctx, x.Root(), 7); err == nil && m.SampleCount > 0 {
		out.Feedback = &m
	}
	b := encode(out)
	return string(b), b, nil
}

func (t *Tools) invalidate(ctx context.Context, arguments json.RawMessage, progress diag.Progress) (string, []byte, error) {
	var in struct {
		Path      string `json:"path"`
		Glob      string `json:"glob"`
		MaxTokens int    `json:"max_tokens"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", nil, err
	}
	only, err := glob.Parse(in.Glob)
	if err != nil {
		return "", nil, err
	}
	x, end, err := t.at(ctx, in.Path, progress)
	if err != nil {
		return "", nil, err
	}
	defer end()
	n, err := x.Invalidate(ctx, only)
	if err != nil {
		return "", nil, err
	}
	text := fmt.Sprintf("Invalidated %d files", n)
	return text, encode(map[string]any{"invalidated": n, "message": text}), nil
}

func (t *Tools) readme(_ context.Context, arguments json.RawMessage, _ diag.Progress) (string, []byte, error) {
	var in struct {
		MaxTokens int `json:"max_tokens"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", nil, err
	}
	text := readme
	if most := in.MaxTokens * 4; in.MaxTokens > 0 && len(text) > most {
		text = text[:strings.LastIndexByte(text[:most], '\n')+1]
	}
	return text, nil, nil
}
