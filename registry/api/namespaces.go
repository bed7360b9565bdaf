package api

import (
	"net/http"
	"strconv"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

func (h *Handler) whoAmI(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	if err := h.Registry.SignedIn(r.Context(), who); err != nil && h.Logger != nil { // which is no reason to turn anybody away
		h.Logger.WarnContext(r.Context(), "a sign-in was not noted", "error", err)
	}
	out := wire.WhoAmI{Account: who.Account, TokenID: who.TokenID, Anonymous: who.Anonymous, Open: h.Open, Grants: []wire.Grant{}}
	for _, g := range who.Grants {
		out.Grants = append(out.Grants, wire.Grant{Account: who.Account, Namespace: g.Namespace, Role: string(g.Role)})
	}
	return answer{body: out}, nil
}

func (h *Handler) wireNamespace(n meta.Namespace, who registry.Caller) wire.Namespace {
	out := wire.Namespace{Name: n.Name, Public: n.Public, Policy: wirePolicy(n.Policy), Created: n.Created.UTC()}
	for _, g := range who.Grants {
		if g.Namespace == n.Name || g.Namespace == "*" && out.Role == "" {
			out.Role = string(g.Role)
		}
	}
	return out
}

func (h *Handler) listNamespaces(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	after, limit, err := paging(r)
	if err != nil {
		return answer{}, err
	}
	all, err := h.Registry.Namespaces(r.Context(), who, after, limit+1)
	if err != nil {
		return answer{}, err
	}
	return pageOf(all, limit, func(n meta.Namespace) string { return n.Name }, func(n meta.Namespace) wire.Namespace { return h.wireNamespace(n, who) }), nil
}

func (h *Handler) getNamespace(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	n, err := h.Registry.Namespace(r.Context(), who, r.PathValue("namespace"))
	if err != nil {
		return answer{}, err
	}
	return answer{body: h.wireNamespace(n, who)}, nil
}

func (h *Handler) createNamespace(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var body wire.NewNamespace
	if err := readJSON(w, r, &body); err != nil {
		return answer{}, err
	}
	policy, err := metaPolicy(body.Policy)
	if err != nil {
		return answer{}, err
	}
	if err := h.Registry.CreateNamespace(r.Context(), who, meta.Namespace{Name: body.Name, Public: body.Public, Policy: policy}); err != nil {
		return answer{}, err
	}
	n, err := h.Registry.Namespace(r.Context(), who, body.Name)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: h.wireNamespace(n, who), location: root + "/namespaces/" + n.Name}, nil
}

func (h *Handler) updateNamespace(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var body wire.NamespaceChange
	if err := readJSON(w, r, &body); err != nil {
		return answer{}, err
	}
	update := h.Registry.UpdateNamespace
	if body.DryRun {
		update = h.Registry.TryNamespace
	}
	n, err := update(r.Context(), who, r.PathValue("namespace"), func(n *meta.Namespace) error {
		if body.Public != nil {
			n.Public = *body.Public
		}
		if body.Policy != nil {
			policy, err := metaPolicy(*body.Policy)
			if err != nil {
				return err
			}
			policy.Publishers = n.Policy.Publishers // which have paths of their own
			n.Policy = policy
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return answer{body: h.wireNamespace(n, who)}, nil
}

func (h *Handler) listSigners(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	n, err := h.Registry.Namespace(r.Context(), who, r.PathValue("namespace"))
	if err != nil {
		return answer{}, err
	}
	return everything(n.Policy.Signers, wireSigner), nil
}

func (h *Handler) putSigners(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var body wire.Page[wire.Signer]
	if err := readJSON(w, r, &body); err != nil {
		return answer{}, err
	}
	signers, err := metaSigners(body.Items)
	if err != nil {
		return answer{}, err
	}
	n, err := h.Registry.UpdateNamespace(r.Context(), who, r.PathValue("namespace"), func(n *meta.Namespace) error {
		n.Policy.Signers = signers
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return everything(n.Policy.Signers, wireSigner), nil
}

func (h *Handler) listPublishers(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	all, err := h.Registry.Publishers(r.Context(), who, r.PathValue("namespace"))
	if err != nil {
		return answer{}, err
	}
	return answer{body: wire.Page[wire.Publisher]{Items: append([]wire.Publisher{}, all...)}}, nil
}

func (h *Handler) addPublisher(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var body wire.Publisher
	if err := readJSON(w, r, &body); err != nil {
		return answer{}, err
	}
	if body.ID != "" || body.Account != "" || body.Pinned != nil || !body.Created.IsZero() {
		return answer{}, diag.New(diag.Misuse, "invalid_request", "a publisher is described by issuer and claims alone")
	}
	p, err := h.Registry.AddPublisher(r.Context(), who, r.PathValue("namespace"), body)
	return answer{status: http.StatusCreated, body: wire.Page[wire.Publisher]{Items: []wire.Publisher{p}}, location: r.URL.EscapedPath() + "/" + p.ID}, err
}

func (h *Handler) removePublisher(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	return answer{}, h.Registry.RemovePublisher(r.Context(), who, r.PathValue("namespace"), r.PathValue("id"))
}

// exchange is for who has no token yet.
func (h *Handler) exchange(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var body wire.Exchange
	if err := readJSON(w, r, &body); err != nil {
		return answer{}, err
	}
	audience := ""
	if h.Audience != nil {
		audience = h.Audience(r)
	}
	text, t, err := h.Registry.Exchange(r.Context(), who.Remote, r.PathValue("namespace"), body.Token, audience)
	if err != nil {
		return answer{}, err
	}
	out := wireToken(t)
	out.Text = text
	return answer{status: http.StatusCreated, body: out}, nil
}

// maxSigners bounds the signers of one namespace.
const maxSigners = 100

func metaPolicy(p wire.Policy) (meta.Policy, error) {
	signers, err := metaSigners(p.Signers)
	if err != nil {
		return meta.Policy{}, err
	}
	if p.KeepDrafts < 0 || p.KeepDrafts > 3650 {
		return meta.Policy{}, diag.New(diag.Misuse, "invalid_request", "keep_drafts is a number of days from 0 to 3650")
	}
	return meta.Policy{AcceptAny: p.AcceptAny, ManualApproval: p.ManualApproval, RequireSignature: p.RequireSignature, Signers: signers, KeepDrafts: p.KeepDrafts,
		SecondPerson: p.SecondPerson, NearNames: p.NearNames, Managed: p.Managed}, nil
}

// metaSigners refuses what a policy does not keep; the core looks at what it does.
func metaSigners(all []wire.Signer) ([]meta.Signer, error) {
	if len(all) > maxSigners {
		return nil, diag.New(diag.Misuse, "invalid_request", "a namespace has at most %d signers", maxSigners)
	}
	var out []meta.Signer
	for i, s := range all {
		if s.Repository != "" || s.Ref != "" || s.Runner != "" {
			return nil, diag.New(diag.Misuse, "invalid_request", "signer %d is described by key, or by issuer and identity, alone", i+1)
		}
		out = append(out, meta.Signer{Key: s.Key, Issuer: s.Issuer, Identity: s.Identity})
	}
	return out, nil
}

func (h *Handler) listGrants(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	all, err := h.Registry.Grants(r.Context(), who, r.PathValue("namespace"))
	if err != nil {
		return answer{}, err
	}
	return everything(all, wireGrant), nil
}

func (h *Handler) putGrant(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var body wire.Grant
	if err := readJSON(w, r, &body); err != nil {
		return answer{}, err
	}
	namespace := r.PathValue("namespace")
	if body.Namespace != "" && body.Namespace != namespace || !body.Created.IsZero() {
		return answer{}, diag.New(diag.Misuse, "invalid_request", "the path says the namespace, and the registry the time")
	}
	g := meta.Grant{Account: body.Account, Namespace: namespace, Role: body.Role}
	if err := h.Registry.Grant(r.Context(), who, g); err != nil {
		return answer{}, err
	}
	return answer{body: wire.Grant{Account: g.Account, Namespace: g.Namespace, Role: g.Role}}, nil
}

func (h *Handler) deleteGrant(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	return answer{}, h.Registry.Ungrant(r.Context(), who, r.PathValue("account"), r.PathValue("namespace"))
}

func (h *Handler) listTokens(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	after, limit, err := paging(r)
	if err != nil {
		return answer{}, err
	}
	all, err := h.Registry.Tokens(r.Context(), who, after, limit+1)
	if err != nil {
		return answer{}, err
	}
	return pageOf(all, limit, func(t meta.Token) string { return t.ID }, wireToken), nil
}

func (h *Handler) createToken(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	var body wire.NewToken
	if err := readJSON(w, r, &body); err != nil {
		return answer{}, err
	}
	if body.Account == "" {
		body.Account = who.Account
	}
	text, t, err := h.Registry.CreateToken(r.Context(), who, body.Account, body.Namespace, body.Role, body.Expires)
	if err != nil {
		return answer{}, err
	}
	out := wireToken(t)
	out.Text = text
	return answer{status: http.StatusCreated, body: out, location: root + "/tokens/" + t.ID}, nil
}

func (h *Handler) revokeToken(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	return answer{}, h.Registry.RevokeToken(r.Context(), who, r.PathValue("id"))
}

func (h *Handler) listEvents(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	q := r.URL.Query()
	limit, err := number(q, "limit", defaultLimit, 1, maxLimit)
	if err != nil {
		return answer{}, err
	}
	query := meta.AuditQuery{Namespace: q.Get("namespace"), Account: q.Get("account"), Action: q.Get("action"), Limit: limit + 1}
	if text := q.Get("before"); text != "" {
		if query.Before, err = strconv.ParseInt(text, 10, 64); err != nil || query.Before < 1 {
			return answer{}, diag.New(diag.Misuse, "invalid_request", "before is the id of an event")
		}
	}
	all, err := h.Registry.Events(r.Context(), who, query)
	if err != nil {
		return answer{}, err
	}
	page := wire.Page[wire.Event]{Items: []wire.Event{}}
	if len(all) > limit {
		all = all[:limit]
		page.Next = strconv.FormatInt(all[limit-1].ID, 10)
	}
	for _, e := range all {
		page.Items = append(page.Items, wireEvent(e))
	}
	return answer{body: page, next: page.Next, cursor: "before"}, nil
}
