// Package wellknown serves skills to clients that know no registry: the discovery
// indexes below /.well-known.
//
//		/{namespace}/.well-known/agent-skills/index.json   version 0.2 of the discovery RFC
//		/{namespace}/.well-known/skills/index.json         version 0.1, with its files beside it
//		/.well-known/…                                     skills of public namespaces with a unique name
//		/t/{token}/{namespace}/.well-known/…               the same for clients that send no credentials
//
//	  - An artifact is the zip archive made at publish, or SKILL.md alone when a skill is nothing else. Its URL
//	    names a version and is relative, so that it stays below a capability path or a proxy's prefix.
//	  - Entries that the clients in use would trip over are left out: version 0.1 clients drop
//	    the whole index for one of them, and build URLs from file names as they are.
//	  - A token in a path can only read: one that may do more is refused. Such answers are private and
//	    send no referrer; [gate.Redact] takes the token out of what is logged.
//	  - Indexes are kept in memory and built anew when the registry's generation has changed,
//	    for the skills that changed. A large one is not built more often than every twenty times its
//	    building time, and is served as it was meanwhile.
package wellknown

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/api"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// Core is what the gateway asks of a registry. *registry.Registry implements it.
type Core interface {
	Namespace(ctx context.Context, who registry.Caller, name string) (meta.Namespace, error)
	Skills(ctx context.Context, who registry.Caller, namespace, after string, limit int) ([]meta.Skill, error)
	UniqueSkills(ctx context.Context, after string, limit int) ([]meta.Skill, error)
	Release(ctx context.Context, who registry.Caller, namespace, name, version string) (meta.Release, error)
	Signatures(ctx context.Context, who registry.Caller, r meta.Release) ([]registry.Signature, error)
	OpenZip(ctx context.Context, r meta.Release) (blob.Content, error)
	CountDownload(namespace, name, version string)
}

// A Handler serves the indexes. Its fields are set before first use; Registry and Caller are needed.
type Handler struct {
	Registry  Core
	Caller    func(*http.Request) (registry.Caller, error)
	Token     func(r *http.Request, token string) (registry.Caller, error) // nil: there are no capability paths
	Challenge func(*http.Request) string
	// Generation changes with every change of the registry. Nil looks at the lists every time.
	Generation func(context.Context) (int64, error)
	URL        string // base, for the OCI names of skills; "" leaves them out
	LegacyOnly bool   // only version 0.1 is served, as older servers do

	mu      sync.Mutex
	indexes map[string]*index // by namespace; "" is the global one; at most maxIndexes
}

// maxIndexes bounds the indexes in memory.
const maxIndexes = 1000

// The two places of indexes.
const (
	wellKnown = ".well-known/"
	current   = "agent-skills"
	legacy    = "skills"
)

// Match reports whether path is one that this handler serves.
func Match(path string) bool {
	if strings.HasPrefix(path, "/t/") {
		return true
	}
	_, rest, ok := parse(path)
	return ok && rest != ""
}

// parse splits a path into namespace, "" for none, and what follows ".well-known/".
func parse(path string) (namespace, rest string, ok bool) {
	path = strings.TrimPrefix(path, "/")
	if rest, ok = strings.CutPrefix(path, wellKnown); ok {
		return "", rest, true
	}
	namespace, path, _ = strings.Cut(path, "/")
	rest, ok = strings.CutPrefix(path, wellKnown)
	return namespace, rest, ok && namespace != ""
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.serve(w, r); err != nil {
		p := api.Problem(err)
		if p.Status == http.StatusUnauthorized && h.Challenge != nil {
			w.Header().Set("WWW-Authenticate", h.Challenge(r))
		}
		api.WriteProblem(w, p)
	}
}

// A request is what was asked for, parsed.
type request struct {
	who       registry.Caller
	namespace string // "" is the global index
	kind      string // current or legacy
	tail      string // behind the kind
	private   bool   // its answer is not for shared caches
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return diag.New(diag.Misuse, "method_not_allowed", "this path can only be read")
	}
	q, err := h.request(w, r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if q.namespace != "" {
		ns, err := h.Registry.Namespace(ctx, q.who, q.namespace)
		if err != nil {
			return err
		}
		q.private = q.private || !ns.Public
	}
	if q.tail == "index.json" {
		ix, err := h.index(ctx, q.who, q.namespace)
		if err != nil {
			return err
		}
		return q.sendIndex(w, r, ix)
	}
	return h.artifact(w, r, q)
}

// request finds out what is asked for, and by whom.
func (h *Handler) request(w http.ResponseWriter, r *http.Request) (request, error) {
	q, path := request{}, r.URL.Path
	var err error
	if rest, ok := strings.CutPrefix(path, "/t/"); ok {
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "private")
		token, rest, _ := strings.Cut(rest, "/")
		if h.Token == nil {
			return request{}, notFound()
		}
		if q.who, err = h.Token(r, token); err != nil {
			return request{}, err
		}
		for _, g := range q.who.Grants {
			if g.Role != auth.Reader {
				return request{}, diag.New(diag.Refused, "denied", "a token in a path may be able to read only, this one is of role %s", g.Role).
					Hint("skl registry token create --role reader --namespace NAME")
			}
		}
		q.private, path = true, "/"+rest
	} else if q.who, err = h.Caller(r); err != nil {
		return request{}, err
	}
	namespace, rest, ok := parse(path)
	if !ok || q.private && namespace == "" {
		return request{}, notFound()
	}
	q.namespace = namespace
	q.kind, q.tail, _ = strings.Cut(rest, "/")
	if q.kind != legacy && (q.kind != current || h.LegacyOnly) || q.tail == "" {
		return request{}, notFound()
	}
	return q, nil
}

func notFound() error { return diag.New(diag.Misuse, "not_found", "there is nothing at this path") }
