package api

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

func (h *Handler) checkpoint(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	note, err := h.Registry.Checkpoint(r.Context())
	if err != nil {
		return answer{}, err
	}
	return answer{raw: bytes.NewReader(note), media: "text/plain; charset=utf-8", etag: etag(note), cache: "no-cache"}, nil
}

func (h *Handler) states(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	text, err := h.Registry.States(r.Context())
	if err != nil {
		return answer{}, err
	}
	return answer{raw: bytes.NewReader(text), media: wire.MediaJSON, etag: etag(text), cache: "no-cache"}, nil
}

// advisories is the list of a namespace, of the one with this id alone if there is one.
func (h *Handler) advisories(r *http.Request, who registry.Caller, id string) (wire.Page[wire.Advisory], error) {
	all, err := h.Registry.Advisories(r.Context(), who, r.PathValue("namespace"))
	page := wire.Page[wire.Advisory]{Items: []wire.Advisory{}}
	for _, a := range all {
		if id == "" || a.ID == id {
			page.Items = append(page.Items, a)
		}
	}
	return page, err
}

func (h *Handler) listAdvisories(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	page, err := h.advisories(r, who, "")
	return answer{body: page}, err
}

func (h *Handler) addAdvisory(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var b wire.NewAdvisory
	if err := readJSON(w, r, &b); err != nil {
		return answer{}, err
	}
	a, err := h.Registry.AddAdvisory(r.Context(), who, meta.Advisory{ID: b.ID, Namespace: r.PathValue("namespace"), Name: b.Name, Versions: b.Versions, Digests: b.Digests,
		Severity: b.Severity, Summary: b.Summary, Fixed: b.Fixed})
	if err != nil {
		return answer{}, err
	}
	page, err := h.advisories(r, who, a.ID)
	return answer{status: http.StatusCreated, body: page}, err
}

func (h *Handler) withdrawAdvisory(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var b wire.AdvisoryChange
	if err := readJSON(w, r, &b); err != nil {
		return answer{}, err
	}
	if _, err := h.Registry.WithdrawAdvisory(r.Context(), who, r.PathValue("namespace"), r.PathValue("id"), b.Reason); err != nil {
		return answer{}, err
	}
	page, err := h.advisories(r, who, r.PathValue("id"))
	return answer{body: page}, err
}

func (h *Handler) tile(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	path := "tile/" + r.PathValue("path")
	cache := "public, max-age=31536000, immutable" // a tile never changes, nor does a part of one
	if strings.HasPrefix(path, "tile/entries/") {
		if !h.PublicLog {
			cache = "private, max-age=31536000, immutable"
			if err := h.mayAudit(who); err != nil {
				return answer{}, err
			}
		}
	}
	content, err := h.Registry.LogTile(r.Context(), path)
	if err != nil {
		return answer{}, err
	}
	return answer{raw: bytes.NewReader(content), media: "application/octet-stream", etag: etag(content), cache: cache}, nil
}

// mayAudit refuses who may not see the audit trail of the whole registry.
func (h *Handler) mayAudit(who registry.Caller) error {
	switch {
	case h.Open || who.May(auth.Audit, auth.Everywhere):
		return nil
	case who.Anonymous:
		return diag.New(diag.Failed, "unauthorized", "this needs a token").Hint("skl login URL")
	}
	return registry.Denied(who, auth.Audit, auth.Everywhere)
}
