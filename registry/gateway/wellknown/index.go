package wellknown

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/skill"
)

// schema02 names version 0.2 of the index to clients.
const schema02 = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

// An index is what is served for one namespace, or for the registry.
type index struct {
	busy chan struct{} // holds one value while somebody builds
	now  *built        // guarded by Handler.mu; nil before the first build
}

// built is an index at one generation. It is never changed.
type built struct {
	generation int64
	at         time.Time
	took       time.Duration
	bodies     map[string][]byte // by kind
	tags       map[string]string // their ETags
	entries    map[string]entry  // by name
}

// An entry is one skill as it is listed. It holds for one state of that skill.
type entry struct {
	namespace, version string
	updated            time.Time
	current, legacy    []byte // JSON, part of the bodies; nil if it is left out
}

// quick is a building time that is no burden.
const quick = 50 * time.Millisecond

// fresh reports whether b need not be built again.
func (b *built) fresh(generation int64, counted bool, now time.Time) bool {
	if b == nil {
		return false
	}
	return counted && b.generation == generation || b.took > quick && now.Sub(b.at) < 20*b.took
}

// index returns the index of a namespace that who may read.
func (h *Handler) index(ctx context.Context, who registry.Caller, namespace string) (*built, error) {
	var generation int64
	if h.Generation != nil {
		var err error
		if generation, err = h.Generation(ctx); err != nil {
			return nil, err
		}
	}
	ix, b := h.cached(namespace)
	if b.fresh(generation, h.Generation != nil, time.Now()) {
		return b, nil
	}
	select {
	case ix.busy <- struct{}{}:
		defer func() { <-ix.busy }()
	default:
		if b != nil && b.took > quick {
			return b, nil // somebody builds it
		}
		select {
		case ix.busy <- struct{}{}:
			defer func() { <-ix.busy }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	h.mu.Lock()
	b = ix.now
	h.mu.Unlock()
	if b.fresh(generation, h.Generation != nil, time.Now()) {
		return b, nil
	}
	next, err := h.build(ctx, who, namespace, b)
	if err != nil {
		return nil, err
	}
	next.generation = generation // taken before the lists were read: a change meanwhile is seen next time
	h.mu.Lock()
	ix.now = next
	h.mu.Unlock()
	return next, nil
}

// cached returns the place of an index and what is there.
func (h *Handler) cached(namespace string) (*index, *built) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ix := h.indexes[namespace]
	if ix == nil {
		if h.indexes == nil {
			h.indexes = make(map[string]*index)
		}
		if len(h.indexes) >= maxIndexes {
			for name := range h.indexes { // any one; the next reader builds it again
				if name != "" {
					delete(h.indexes, name)
					break
				}
			}
		}
		ix = &index{busy: make(chan struct{}, 1)}
		h.indexes[namespace] = ix
	}
	return ix, ix.now
}

// build lists the skills, and reads the releases of those that old does not have as they are.
func (h *Handler) build(ctx context.Context, who registry.Caller, namespace string, old *built) (*built, error) {
	began := time.Now()
	b := &built{at: began, entries: make(map[string]entry)}
	var names []string
	const page = 1000
	for after := ""; ; {
		var skills []meta.Skill
		var err error
		if namespace == "" {
			skills, err = h.Registry.UniqueSkills(ctx, after, page)
		} else {
			skills, err = h.Registry.Skills(ctx, who, namespace, after, page)
		}
		if err != nil {
			return nil, err
		}
		for _, s := range skills {
			if after = s.Name; namespace != "" {
				after = s.Namespace + "/" + s.Name
			}
			e, err := h.entry(ctx, who, namespace, s, old)
			if err != nil {
				return nil, err
			}
			names = append(names, s.Name)
			b.entries[s.Name] = e
		}
		if len(skills) < page {
			break
		}
	}
	slices.Sort(names)
	b.bodies = map[string][]byte{
		current: join(`{"$schema":"`+schema02+`","skills":[`, names, b.entries, func(e *entry) *[]byte { return &e.current }),
		legacy:  join(`{"skills":[`, names, b.entries, func(e *entry) *[]byte { return &e.legacy }),
	}
	b.tags = make(map[string]string)
	for kind, body := range b.bodies {
		sum := sha256.Sum256(body)
		b.tags[kind] = `"` + hex.EncodeToString(sum[:16]) + `"`
	}
	b.took = time.Since(began)
	return b, nil
}

// join writes a body and lets the entries point into it, so that they take no room of their own.
func join(head string, names []string, entries map[string]entry, part func(*entry) *[]byte) []byte {
	size := len(head) + 3
	for _, name := range names {
		e := entries[name]
		size += len(*part(&e)) + 1
	}
	body := append(make([]byte, 0, size), head...)
	first := true
	for _, name := range names {
		e := entries[name]
		text := part(&e)
		if *text == nil {
			continue
		}
		if !first {
			body = append(body, ',')
		}
		first = false
		at := len(body)
		body = append(body, *text...)
		*text = body[at:len(body):len(body)]
		entries[name] = e
	}
	return append(body, "]}\n"...)
}

// entry is how s is listed, as in old if nothing happened to it.
func (h *Handler) entry(ctx context.Context, who registry.Caller, namespace string, s meta.Skill, old *built) (entry, error) {
	if old != nil {
		if e, ok := old.entries[s.Name]; ok && e.namespace == s.Namespace && e.version == s.Latest && e.updated.Equal(s.Updated) {
			return e, nil
		}
	}
	r, err := h.Registry.Release(ctx, who, s.Namespace, s.Name, s.Latest)
	if isMissing(err) {
		return entry{}, nil // it went away after it was listed
	}
	if err != nil {
		return entry{}, err
	}
	e := entry{namespace: s.Namespace, version: s.Latest, updated: s.Updated}
	if r.Description == "" || skill.CheckName(r.Name, "") != nil {
		return e, nil
	}
	prefix := ""
	if namespace == "" {
		prefix = "../../" + url.PathEscape(r.Namespace) + "/" + wellKnown + current + "/"
	}
	if e.current, err = h.currentEntry(r, prefix); err != nil {
		return entry{}, err
	}
	e.legacy, err = legacyEntry(r)
	return e, err
}

// currentEntry is an entry of version 0.2, with further keys that clients ignore.
func (h *Handler) currentEntry(r meta.Release, prefix string) ([]byte, error) {
	at := prefix + r.Name + "/" + url.PathEscape(r.Version) + "/"
	out := struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Description string `json:"description"`
		URL         string `json:"url"`
		Digest      string `json:"digest"`
		Version     string `json:"version"`
		OCI         string `json:"oci,omitempty"`
		Bundle      string `json:"bundle,omitempty"`
	}{Name: r.Name, Type: "archive", Description: clip(r.Description, 1024), URL: at + r.Name + ".zip", Digest: r.Zip, Version: r.Version}
	if len(r.Files) == 1 {
		out.Type, out.URL, out.Digest = "skill-md", at+skill.FileName, cmp.Or(r.SkillMD, "sha256:"+r.Files[0].SHA256)
	}
	if !strings.HasPrefix(out.Digest, "sha256:") {
		return nil, nil // the format knows no other
	}
	if _, host, ok := strings.Cut(h.URL, "://"); ok {
		out.OCI = "oci://" + host + "/" + r.Repo() + ":" + strings.ReplaceAll(r.Version, "+", "_")
	}
	if r.Signed {
		out.Bundle = at + bundleFile
	}
	return marshal(out)
}

// legacyEntry is an entry of version 0.1, nil for a skill that such a client cannot fetch.
func legacyEntry(r meta.Release) ([]byte, error) {
	out := struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Files       []string `json:"files"`
	}{Name: r.Name, Description: r.Description}
	for _, f := range r.Files {
		// The client refuses "..", and does not escape what a URL would read otherwise.
		if strings.Contains(f.Path, "..") || strings.ContainsAny(f.Path, "?#%\\") {
			return nil, nil
		}
		out.Files = append(out.Files, f.Path)
	}
	if !slices.Contains(out.Files, skill.FileName) {
		return nil, nil
	}
	return marshal(out)
}

// marshal is JSON without the escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// clip cuts s to n characters as the clients count them, in UTF-16.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i, r := range s {
		if count += max(utf16.RuneLen(r), 1); count > n {
			return s[:i]
		}
	}
	return s
}

// sendIndex writes the index.
func (q request) sendIndex(w http.ResponseWriter, r *http.Request, b *built) error {
	head := w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("ETag", b.tags[q.kind])
	q.cache(head, "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.bodies[q.kind]))
	return nil
}

// cache sets Cache-Control.
func (q request) cache(head http.Header, how string) {
	if q.private {
		head.Set("Cache-Control", "private, "+how)
	} else {
		head.Set("Cache-Control", "public, "+how)
	}
	head.Add("Vary", "Authorization")
}
