package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// pages reads a list to its end. What is in it depends on who is asking.
func pages[T any](ctx context.Context, c *Client, query url.Values, path ...string) ([]T, error) {
	var all []T
	err := c.eachPage(ctx, query, path, func(items []byte) (int, error) {
		page := []T{}
		err := json.Unmarshal(items, &page)
		all = append(all, page...)
		return len(page), err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// eachPage gives take the items of each page of a list, a JSON array; take says how many they are.
func (c *Client) eachPage(ctx context.Context, query url.Values, path []string, take func(items []byte) (int, error)) error {
	if query == nil {
		query = url.Values{}
	}
	for total := 0; ; {
		var page struct {
			Items json.RawMessage `json:"items"`
			Next  string          `json:"next"`
		}
		if _, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query, named: true}, &page); err != nil {
			return err
		}
		n := 0
		if len(page.Items) > 0 {
			var err error
			if n, err = take(page.Items); err != nil {
				return diag.New(diag.Failed, "not_a_registry", "%s answers with something that is not the list that was asked for: %w", c.URL(), err)
			}
		}
		total += n
		switch {
		case page.Next == "":
			return nil
		case total > MaxList:
			return diag.New(diag.Failed, "too_large", "%s: a list of more than %d items", c.Host(), MaxList)
		case page.Next == query.Get("cursor") || n == 0:
			return diag.New(diag.Failed, "not_a_registry", "%s: a list that does not end", c.Host())
		}
		query.Set("cursor", page.Next)
	}
}

// About describes the registry.
func (c *Client) About(ctx context.Context) (wire.About, error) {
	var a wire.About
	err := c.get(ctx, &a)
	return a, err
}

// WhoAmI says who the registry takes the caller for.
func (c *Client) WhoAmI(ctx context.Context) (wire.WhoAmI, error) {
	var w wire.WhoAmI
	_, err := c.do(ctx, call{method: http.MethodGet, path: []string{"whoami"}, named: true}, &w)
	return w, err
}

// Namespaces lists the namespaces that the caller may read.
//
//go:noinline
func (c *Client) Namespaces(ctx context.Context) ([]wire.Namespace, error) {
	return pages[wire.Namespace](ctx, c, nil, "namespaces")
}

// Namespace returns one.
func (c *Client) Namespace(ctx context.Context, name string) (wire.Namespace, error) {
	var n wire.Namespace
	err := c.get(ctx, &n, "namespaces", name)
	return n, err
}

// HasNamespace reports whether the caller may read a namespace of that name. A registry that does not answer, or
// wants to know first who is asking, is an error and not a no.
func (c *Client) HasNamespace(ctx context.Context, name string) (bool, error) {
	_, err := c.Namespace(ctx, name)
	if e, ok := err.(*diag.Error); ok && (e.Code == "unknown_namespace" || e.Code == "not_found" || e.Code == "invalid_name") && e.Class == diag.Misuse {
		return false, nil
	}
	return err == nil, err
}

// CreateNamespace makes the caller its admin.
func (c *Client) CreateNamespace(ctx context.Context, n wire.NewNamespace) (wire.Namespace, error) {
	var made wire.Namespace
	_, err := c.do(ctx, call{method: http.MethodPost, path: []string{"namespaces"}, body: n}, &made)
	return made, err
}

// UpdateNamespace changes what is set in change.
func (c *Client) UpdateNamespace(ctx context.Context, name string, change wire.NamespaceChange) (wire.Namespace, error) {
	var n wire.Namespace
	_, err := c.do(ctx, call{method: http.MethodPatch, path: []string{"namespaces", name}, body: change}, &n)
	return n, err
}

// Grants lists who may do what in a namespace.
//
//go:noinline
func (c *Client) Grants(ctx context.Context, namespace string) ([]wire.Grant, error) {
	return pages[wire.Grant](ctx, c, nil, "namespaces", namespace, "grants")
}

// Grant gives an account a role, instead of the one it has.
func (c *Client) Grant(ctx context.Context, namespace string, g wire.Grant) error {
	g.Namespace = ""
	_, err := c.do(ctx, call{method: http.MethodPut, path: []string{"namespaces", namespace, "grants"}, body: g}, nil)
	return err
}

// Ungrant takes the role of an account away.
//
//go:noinline
func (c *Client) Ungrant(ctx context.Context, namespace, account string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: []string{"namespaces", namespace, "grants", account}}, nil)
	return err
}

// Call makes a request of the REST interface that has no method of its own: path is what follows /api/v1, body and out are what it takes and answers, nil for
// nothing.
//
//go:noinline
func (c *Client) Call(ctx context.Context, method string, body, out any, path ...string) error {
	_, err := c.do(ctx, call{method: method, path: path, body: body, named: method == http.MethodGet}, out)
	return err
}

// Skills lists skills that the caller may read, of one namespace or, for "", of all.
func (c *Client) Skills(ctx context.Context, namespace string) ([]wire.Skill, error) {
	query := url.Values{}
	if namespace != "" {
		query.Set("namespace", namespace)
	}
	return pages[wire.Skill](ctx, c, query, "skills")
}

// Skill returns the newest listed release of a name.
//
//go:noinline
func (c *Client) Skill(ctx context.Context, namespace, name string) (wire.Skill, error) {
	var s wire.Skill
	err := c.get(ctx, &s, "skills", namespace, name)
	return s, err
}

// Versions lists the releases of a skill, highest version first, yanked ones among them.
func (c *Client) Versions(ctx context.Context, namespace, name string) ([]wire.VersionSummary, error) {
	query := url.Values{}
	var all []wire.VersionSummary
	for {
		var page wire.Page[wire.VersionSummary]
		q := call{method: http.MethodGet, path: []string{"skills", namespace, name, "versions"}, query: query, cached: true}
		if _, err := c.do(ctx, q, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" || len(page.Items) == 0 || len(all) > MaxList {
			return all, nil
		}
		query = url.Values{"cursor": {page.Next}}
	}
}

// Version returns the whole record of a release.
func (c *Client) Version(ctx context.Context, namespace, name, version string) (wire.Version, error) {
	var v wire.Version
	err := c.get(ctx, &v, "skills", namespace, name, "versions", version)
	if err == nil && (v.Namespace != namespace || v.Name != name || v.Version != version) {
		return wire.Version{}, diag.New(diag.Refused, "wrong_record", "%s answers for %s/%s@%s with the record of %s/%s@%s", c.Host(),
			namespace, name, version, diag.Printable(v.Namespace), diag.Printable(v.Name), diag.Printable(v.Version))
	}
	return v, err
}

// KeptVersion is what Version answered last and was kept, of whoever asked then on this machine. Nobody is asked.
func (c *Client) KeptVersion(namespace, name, version string) (v wire.Version, ok bool) {
	address, err := c.address(call{path: []string{"skills", namespace, name, "versions", version}})
	if err != nil {
		return wire.Version{}, false
	}
	kept := c.recall(address)
	if len(kept.body) == 0 || json.Unmarshal(kept.body, &v) != nil || v.Namespace != namespace || v.Name != name || v.Version != version {
		return wire.Version{}, false
	}
	return v, true
}

// A Query asks for skills; see the API's search.
type Query struct {
	Text, Namespace, License, Sort string
	Signed                         *bool
	Offset, Limit                  int // Limit 0 means the registry's own
}

// Search finds skills.
func (c *Client) Search(ctx context.Context, q Query) (wire.SearchResult, error) {
	query := url.Values{}
	for key, value := range map[string]string{"q": q.Text, "namespace": q.Namespace, "license": q.License, "sort": q.Sort} {
		if value != "" {
			query.Set(key, value)
		}
	}
	if q.Signed != nil {
		query.Set("signed", strconv.FormatBool(*q.Signed))
	}
	if q.Offset > 0 {
		query.Set("offset", strconv.Itoa(q.Offset))
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var r wire.SearchResult
	_, err := c.do(ctx, call{method: http.MethodGet, path: []string{"search"}, query: query, named: true}, &r)
	return r, err
}

// Publish makes a manifest that was pushed by digest a version. Created is false when the
// same manifest has been that version already; another one is an error of code version_exists.
func (c *Client) Publish(ctx context.Context, namespace, name, version string, p wire.PublishRequest) (v wire.Version, created bool, err error) {
	return c.publish(ctx, call{path: []string{"skills", namespace, name, "versions", version}, body: p}, p.Manifest)
}

// PublishArchive publishes a tar.gz or zip of a skill, which the registry packs its own way.
// MediaType is wire.MediaGzip or wire.MediaZip.
//
//go:noinline
func (c *Client) PublishArchive(ctx context.Context, namespace, name, version, mediaType string, archive []byte) (v wire.Version, created bool, err error) {
	return c.publish(ctx, call{path: []string{"skills", namespace, name, "versions", version}, body: archive, media: mediaType}, "")
}

func (c *Client) publish(ctx context.Context, q call, manifest string) (v wire.Version, created bool, err error) {
	q.method, q.again = http.MethodPut, manifest != ""
	status, err := c.do(ctx, q, &v)
	e, ok := err.(*diag.Error)
	if manifest == "" || !ok || e.Code != "version_exists" && !e.Retryable {
		return v, status == http.StatusCreated, err
	}
	// It may be there because an earlier try, or this one, succeeded without its answer arriving.
	have, gerr := c.Version(ctx, q.path[1], q.path[2], q.path[4])
	if gerr != nil || have.Manifest != manifest {
		return wire.Version{}, false, err
	}
	return have, false, nil
}

// Act changes the state of a release: approve, reject, quarantine, deprecate, undeprecate,
// yank, unyank, block or unblock.
func (c *Client) Act(ctx context.Context, namespace, name, version string, a wire.Action) (wire.Version, error) {
	var v wire.Version
	_, err := c.do(ctx, call{method: http.MethodPost, path: []string{"skills", namespace, name, "versions", version, "actions"}, body: a}, &v)
	return v, err
}

// Files lists the files of a release.
//
//go:noinline
func (c *Client) Files(ctx context.Context, namespace, name, version string) ([]wire.File, error) {
	return pages[wire.File](ctx, c, nil, "skills", namespace, name, "versions", version, "files")
}

// File returns one file of a release, a slash path. It is as the registry says, not checked
// against a digest.
//
//go:noinline
func (c *Client) File(ctx context.Context, namespace, name, version, path string) ([]byte, error) {
	q := call{method: http.MethodGet, path: []string{"skills", namespace, name, "versions", version, "files"}, limit: 64 << 20}
	q.path = append(q.path, strings.Split(path, "/")...)
	_, body, err := c.raw(ctx, q)
	return body, err
}

// Diff compares two versions.
//
//go:noinline
func (c *Client) Diff(ctx context.Context, namespace, name, from, to string) (wire.Diff, error) {
	var d wire.Diff
	_, err := c.do(ctx, call{method: http.MethodGet, path: []string{"skills", namespace, name, "versions", from, "diff", to}}, &d)
	return d, err
}

// Downloads counts how often a skill was fetched.
//
//go:noinline
func (c *Client) Downloads(ctx context.Context, namespace, name string) (wire.Downloads, error) {
	var d wire.Downloads
	_, err := c.do(ctx, call{method: http.MethodGet, path: []string{"skills", namespace, name, "downloads"}}, &d)
	return d, err
}

// Queue lists what waits in a namespace or, for "", in all whose drafts the caller sees, the oldest first.
func (c *Client) Queue(ctx context.Context, namespace string) ([]wire.Waiting, error) {
	query := url.Values{}
	if namespace != "" {
		query.Set("namespace", namespace)
	}
	return pages[wire.Waiting](ctx, c, query, "queue")
}

// CreateToken returns a token with its text, which cannot be had again.
func (c *Client) CreateToken(ctx context.Context, t wire.NewToken) (wire.Token, error) {
	var made wire.Token
	_, err := c.do(ctx, call{method: http.MethodPost, path: []string{"tokens"}, body: t}, &made)
	return made, err
}

// Tokens lists the tokens that the caller may see.
//
//go:noinline
func (c *Client) Tokens(ctx context.Context) ([]wire.Token, error) {
	return pages[wire.Token](ctx, c, nil, "tokens")
}

// RevokeToken ends a token.
//
//go:noinline
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: []string{"tokens", id}}, nil)
	return err
}

// An AuditQuery selects events; empty fields select all.
type AuditQuery struct {
	Namespace, Account, Action string
	Before                     int64 // events with smaller ids; 0 starts at the newest
	Limit                      int   // 0 means the registry's own
}

// Audit returns one page of the audit trail, newest first.
func (c *Client) Audit(ctx context.Context, q AuditQuery) ([]wire.Event, error) {
	query := url.Values{}
	for key, value := range map[string]string{"namespace": q.Namespace, "account": q.Account, "action": q.Action} {
		if value != "" {
			query.Set(key, value)
		}
	}
	if q.Before > 0 {
		query.Set("before", strconv.FormatInt(q.Before, 10))
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var page wire.Page[wire.Event]
	_, err := c.do(ctx, call{method: http.MethodGet, path: []string{"audit"}, query: query}, &page)
	return page.Items, err
}
