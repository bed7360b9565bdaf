package api

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
)

// document describes what a Handler serves. It is written
// by the test from the routes and the wire types: go test ./registry/api -update
//
//go:embed openapi.json
var document string

// Document is the OpenAPI 3.1 description of all routes, as JSON.
func Document() string { return document }

func (h *Handler) openapi(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	return answer{raw: strings.NewReader(document), media: wire.MediaJSON, etag: etag([]byte(document))}, nil
}
