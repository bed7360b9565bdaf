package api

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

func (h *Handler) about(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	about := h.About
	if about.URL == "" {
		about.URL = h.base(r)
	}
	if about.Features == nil {
		about.Features = []string{}
	}
	return answer{body: about}, nil
}

// base is the URL before every path of an answer.
func (h *Handler) base(r *http.Request) string {
	if h.URL != "" {
		return h.URL
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

func (h *Handler) listSkills(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	after, limit, err := paging(r)
	if err != nil {
		return answer{}, err
	}
	found, err := h.Registry.Skills(r.Context(), who, r.URL.Query().Get("namespace"), after, limit+1)
	if err != nil {
		return answer{}, err
	}
	return pageOf(found, limit, func(s meta.Skill) string { return s.Namespace + "/" + s.Name }, wireSkill), nil
}

func (h *Handler) getSkill(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	s, err := h.Registry.Skill(r.Context(), who, r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return answer{}, err
	}
	return answer{body: wireSkill(s)}, nil
}

func wireSkill(s meta.Skill) wire.Skill {
	return wire.Skill{Namespace: s.Namespace, Name: s.Name, Latest: s.Latest, Description: s.Description, License: s.License, Keywords: s.Keywords,
		Signed: s.Signed, State: string(s.State), Versions: s.Versions, Downloads: s.Downloads, Updated: s.Updated.UTC()}
}

func (h *Handler) search(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	q := r.URL.Query()
	s := meta.Search{Text: q.Get("q"), Namespace: q.Get("namespace"), License: q.Get("license"), Sort: q.Get("sort")}
	var err error
	if s.Offset, err = number(q, "offset", 0, 0, maxOffset); err != nil {
		return answer{}, err
	}
	if s.Limit, err = number(q, "limit", 20, 1, maxLimit); err != nil {
		return answer{}, err
	}
	if len(s.Text) > 1000 {
		return answer{}, diag.New(diag.Misuse, "invalid_request", "q has at most 1000 bytes")
	}
	if !slices.Contains([]string{"", "relevance", "updated", "downloads", "name"}, s.Sort) {
		return answer{}, diag.New(diag.Misuse, "invalid_request", "sort is relevance, updated, downloads or name")
	}
	switch q.Get("signed") {
	case "":
	case "true", "false":
		signed := q.Get("signed") == "true"
		s.Signed = &signed
	default:
		return answer{}, diag.New(diag.Misuse, "invalid_request", "signed is true or false")
	}
	m, err := h.Registry.Search(r.Context(), who, s)
	if err != nil {
		return answer{}, err
	}
	out := wire.SearchResult{Items: []wire.Skill{}, Total: m.Total, Offset: s.Offset, Facets: m.Facets, Relaxed: m.Relaxed}
	if out.Facets == nil {
		out.Facets = map[string]map[string]int{}
	}
	for i, found := range m.Skills {
		one := wireSkill(found)
		if i < len(m.Scores) {
			one.Score = m.Scores[i]
		}
		out.Items = append(out.Items, one)
	}
	return answer{body: out}, nil
}

func (h *Handler) listVersions(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	all, err := h.Registry.Releases(r.Context(), who, r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return answer{}, err
	}
	return everything(all, func(v meta.Release) wire.VersionSummary {
		return wire.VersionSummary{Version: v.Version, State: string(v.State), Reason: v.Reason, Manifest: v.Manifest, Signed: v.Signed, Published: v.Published.UTC(), Downloads: v.Downloads}
	}), nil
}

func (h *Handler) getDownloads(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	all, err := h.Registry.Releases(r.Context(), who, r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return answer{}, err
	}
	days, err := h.Registry.Downloads(r.Context(), who, r.PathValue("namespace"), r.PathValue("name"), 30)
	if err != nil {
		return answer{}, err
	}
	out := wire.Downloads{Versions: map[string]int64{}, Days: map[string]int64{}}
	maps.Copy(out.Days, days)
	for _, v := range all {
		out.Versions[v.Version] = v.Downloads
		out.Total += v.Downloads
	}
	return answer{body: out}, nil
}

func (h *Handler) getVersion(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	v, err := h.release(r, who, "version")
	if err != nil {
		return answer{}, err
	}
	return h.version(r, who, v)
}

// release finds the release of the path. A blocked one is an error with its reason, but
// for those who may see what is not served.
func (h *Handler) release(r *http.Request, who registry.Caller, version string) (meta.Release, error) {
	v, err := h.Registry.Release(r.Context(), who, r.PathValue("namespace"), r.PathValue("name"), r.PathValue(version))
	if err != nil {
		return meta.Release{}, err
	}
	if v.State == meta.Blocked && !h.Open && !who.May(auth.ReadDraft, v.Namespace) {
		return meta.Release{}, Blocked(v)
	}
	return v, nil
}

// content is release for those who want its bytes: nobody gets those of a blocked one.
func (h *Handler) content(r *http.Request, who registry.Caller, version string) (meta.Release, error) {
	v, err := h.release(r, who, version)
	if err == nil && v.State == meta.Blocked {
		return meta.Release{}, Blocked(v)
	}
	return v, err
}

// Blocked is the error of who wants a blocked release.
func Blocked(v meta.Release) error {
	if v.Reason == "" {
		return diag.New(diag.Refused, "blocked", "%s@%s is blocked", v.Repo(), v.Version)
	}
	return diag.New(diag.Refused, "blocked", "%s@%s is blocked: %s", v.Repo(), v.Version, v.Reason)
}

// version is the answer with the record of v.
func (h *Handler) version(r *http.Request, who registry.Caller, v meta.Release) (answer, error) {
	ctx := r.Context()
	signatures, err := h.Registry.Signatures(ctx, who, v)
	if err != nil {
		return answer{}, err
	}
	record, err := wireVersion(v, signatures)
	if err != nil {
		return answer{}, err
	}
	record.URLs = h.urls(r, v)
	same := record // what makes it another record for a cache
	same.Downloads = 0
	if v.LogIndex >= 0 {
		proof, err := h.Registry.LogProof(ctx, v)
		if err != nil {
			return answer{}, err
		}
		record.Log = wireProof(proof)
		same.Log = &wire.LogProof{Origin: record.Log.Origin, Index: record.Log.Index}
	}
	return answer{body: record, same: same}, nil
}

func (h *Handler) urls(r *http.Request, v meta.Release) wire.URLs {
	base := h.base(r)
	_, host, _ := strings.Cut(base, "://")
	at := base + root + "/skills/" + v.Namespace + "/" + v.Name + "/versions/" + v.Version
	out := wire.URLs{
		OCI:      "oci://" + host + "/" + v.Repo() + ":" + strings.ReplaceAll(v.Version, "+", "_"),
		Download: at + "/download",
		Files:    at + "/files",
	}
	if v.Report != "" {
		out.Report = at + "/report"
	}
	return out
}

func (h *Handler) getReport(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	v, err := h.release(r, who, "version")
	if err != nil {
		return answer{}, err
	}
	report, err := h.Registry.Report(r.Context(), v)
	return answer{body: report}, err
}

func (h *Handler) actOnVersion(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var body wire.Action
	if err := readJSON(w, r, &body); err != nil {
		return answer{}, err
	}
	v, err := h.Registry.Act(r.Context(), who, r.PathValue("namespace"), r.PathValue("name"), r.PathValue("version"), registry.Action(body.Action), body.Reason)
	if err != nil {
		return answer{}, err
	}
	out, err := h.version(r, who, v)
	if err = registry.Explain(err); errors.Is(err, diag.Code("unavailable")) {
		e := diag.New(diag.Failed, "unavailable", "%s@%s is %s, and the log does not show that yet: %w", v.Repo(), v.Version, v.State, err)
		e.Retryable = true
		err = e
	}
	return out, err
}
