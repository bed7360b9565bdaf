package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

func (h *Handler) listQueue(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	cursor, limit, err := paging(r)
	if err != nil {
		return answer{}, err
	}
	var since time.Time
	at, after, _ := strings.Cut(cursor, " ")
	if cursor != "" {
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return answer{}, diag.New(diag.Misuse, "invalid_request", "the cursor is not one of this registry")
		}
		since = time.UnixMicro(n)
	}
	all, err := h.Registry.Queue(r.Context(), who, r.URL.Query().Get("namespace"), since, after, limit+1)
	if err != nil {
		return answer{}, err
	}
	return pageOf(all, limit, func(w registry.Waiting) string {
		return strconv.FormatInt(w.Updated.UnixMicro(), 10) + " " + w.Repo() + "@" + w.Version
	}, wireWaiting), nil
}

// maxFindings bounds the findings of one release in a queue.
const maxFindings = 20

func wireWaiting(w registry.Waiting) wire.Waiting {
	full := w.Repo() + "@" + w.Version
	out := wire.Waiting{Namespace: w.Namespace, Name: w.Name, Version: w.Version, State: string(w.State), For: w.For, Reason: w.Reason, Publisher: w.Publisher,
		Since: w.Updated.UTC(), Mirrored: w.MirroredURL, Yours: w.Yours, Command: "skl registry approve " + full,
		Findings: w.Findings[:min(len(w.Findings), maxFindings)]}
	if w.State == meta.Draft {
		out.Command = "skl sign " + full + " --sign KEY"
	}
	return out
}
