package serve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
)

// mergeResults lays local over there: first what is here, then what the service says of files that are not dirty.
func mergeResults(local, there query.Result, dirty map[string]bool, q query.Query) query.Result {
	out := there
	handles := slices.Clone(local.Handles)
	dropped := 0
	for _, h := range there.Handles {
		if dirty[h.FilePath] {
			dropped++
			continue
		}
		handles = append(handles, h)
	}
	refs := slices.Clone(local.RefHandles)
	for _, h := range there.RefHandles {
		if dirty[h.FilePath] {
			dropped++
			continue
		}
		refs = append(refs, h)
	}
	// Matches that the service did not return may be in dirty files as well, which nobody here can count.
	out.AtLeast = there.AtLeast || local.AtLeast
	out.TotalMatches = max(there.TotalMatches-dropped, 0) + local.TotalMatches
	if name := symbolOf(q.Expr); name != "" {
		// Each side gave names that are like it if it had none that is it.
		other := func(h query.Handle) bool { return !strings.EqualFold(h.Name, name) }
		if all := len(handles); slices.ContainsFunc(handles, func(h query.Handle) bool { return !other(h) }) {
			handles = slices.DeleteFunc(handles, other)
			out.TotalMatches -= all - len(handles)
		}
	}
	limit := cmp.Or(q.Limit, query.DefaultLimit)
	out.Truncated = there.Truncated || local.Truncated || len(handles) > limit || len(refs) > limit
	out.Handles, out.RefHandles = handles[:min(len(handles), limit)], refs[:min(len(refs), limit)]
	out.TotalTokens, out.ExpandedHandleIDs = 0, nil
	for _, h := range out.Handles {
		out.TotalTokens += h.TokenCount
		if h.Content != "" {
			out.ExpandedHandleIDs = append(out.ExpandedHandleIDs, h.ID)
		}
	}
	out.ExpandedCount = len(out.ExpandedHandleIDs)
	out.AutoExpanded = out.ExpandedCount > 0 && out.ExpandedCount == len(out.Handles)
	out.ExpandNote = cmp.Or(local.ExpandNote, there.ExpandNote)
	// Words that are all in one file here are the better answer than some of them there.
	out.Relaxed = there.Relaxed && (len(local.Handles) == 0 || local.Relaxed)
	out.NotIndexed += local.NotIndexed
	out.NotRead = query.Languages(out.NotRead, local.NotRead)
	out.Behind = out.Behind || local.Behind
	out.Note = query.Notes(q.AlikeNote(out.Handles), q.Note(out.NotIndexed, out.NotRead, out.Behind, out.TotalMatches > 0))
	return out
}

// symbolOf is the name that a query for one symbol asks for, "" for other queries.
func symbolOf(e *query.Expr) string {
	for e != nil && (e.Op == query.InFile || e.Op == query.Limit) && len(e.Args) == 1 {
		e = e.Args[0]
	}
	if e == nil || e.Op != query.Code {
		return ""
	}
	return e.Text
}

// mergePacks does the same for packs. Packs of the service have had no word on what is not committed, so its guidance holds only
// while its handles do.
func mergePacks(local, there query.Pack, dirty map[string]bool, o rank.PackOptions) query.Pack {
	out := there
	most, perFile := cmp.Or(o.MaxHandles, 8), cmp.Or(o.MaxPerFile, 2)
	handles := slices.Clone(local.Handles)
	count := make(map[string]int)
	for _, h := range handles {
		count[h.FilePath]++
	}
	kept, dropped := 0, 0
	for _, h := range there.Handles {
		switch {
		case dirty[h.FilePath]:
			dropped++
		case len(handles) < most && count[h.FilePath] < perFile:
			handles = append(handles, h)
			count[h.FilePath]++
			kept++
		}
	}
	out.Handles = handles[:min(len(handles), most)]
	out.TotalMatches = max(there.TotalMatches-dropped, 0) + local.TotalMatches
	out.Truncated = there.Truncated || local.Truncated || kept+dropped < len(there.Handles)
	out.NotRead = query.Languages(out.NotRead, local.NotRead)
	out.Relaxed = there.Relaxed && (len(local.Handles) == 0 || local.Relaxed)
	out.NotIndexed += local.NotIndexed
	suggestions := append(slices.Clone(local.ExpandSuggestion), there.ExpandSuggestion...)
	if kept == 0 { // else the surer of both would be taken for what is likely of both
		out.Guidance = local.Guidance
	}
	settle(&out, suggestions)
	if len(out.Handles) == 0 {
		_, _, out.Guidance = rank.Pack(rank.Question{}, nil, 0, false, o)
	}
	return out
}
