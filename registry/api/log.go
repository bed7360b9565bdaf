package api

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/spec/diag"
)

func (h *Handler) checkpoint(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	note, err := h.Registry.Checkpoint(r.Context())
	if err != nil {
		return answer{}, err
	}
	return answer{raw: bytes.NewReader(note), media: "text/plain; charset=utf-8", etag: etag(note), cache: "no-cache"}, nil
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
	return diag.New(diag.Refused, "denied", "%s may not read the entries of the log", who.Account)
}
