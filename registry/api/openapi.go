package api

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/packed"
)

// document describes what a Handler serves. It is written
// by the test from the routes and the wire types: go test ./registry/api -update
//
//go:embed openapi.json.gz
var document []byte

// Document is the OpenAPI 3.1 description of all routes, as JSON.
var Document = packed.Text(document)

func (h *Handler) openapi(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	return answer{raw: strings.NewReader(Document()), media: wire.MediaJSON, etag: etag(document)}, nil
}
