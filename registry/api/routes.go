package api

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// A route is one operation: what the handlers and openapi.json are both made from.
type route struct {
	Method, Path string // Path as OpenAPI writes it; "{path}" at the end takes the rest
	Name         string // operationId
	Summary      string
	Query        []param
	Body         any      // zero value of the JSON body, nil for none
	Media        []string // further media types of the body, as bytes
	Answer       any      // zero value of the JSON answer, nil for none
	Raw          []string // media types of an answer that is not JSON
	Status       int      // of success; 0 means 200
	Errors       []int    // besides those that every route may have: of rights, limits, and the forms of body and query
	open         bool     // for nobody too, also where the registry is read with a token only
	handle       func(*Handler, http.ResponseWriter, *http.Request, registry.Caller) (answer, error)
}

// A param is a parameter of a query.
type param struct{ Name, Type, What string }

// root is where the routes of the API are.
const root = "/api/v1"

// operations lists all operations, in the order of the document.
func operations() []route {
	const skill, version = root + "/skills/{namespace}/{name}", root + "/skills/{namespace}/{name}/versions/{version}"
	const namespace = root + "/namespaces/{namespace}"
	page := []param{{"cursor", "string", "Where the page begins: next of the page before."}, {"limit", "integer", "How many, 1 to 100; 50 if not given."}}
	return []route{
		{Method: "GET", Path: root, Name: "about", Summary: "The name and abilities of this registry.", Answer: wire.About{}, handle: (*Handler).about},
		{Method: "GET", Path: root + "/openapi.json", Name: "openapi", Summary: "This document.", Raw: []string{wire.MediaJSON}, handle: (*Handler).openapi},
		{Method: "GET", Path: root + "/whoami", Name: "whoAmI", Summary: "The caller, as the registry knows them.", Answer: wire.WhoAmI{}, handle: (*Handler).whoAmI},

		{Method: "GET", Path: root + "/namespaces", Name: "listNamespaces", Summary: "Namespaces that the caller may read, by name.", Query: page, Answer: wire.Page[wire.Namespace]{}, handle: (*Handler).listNamespaces},
		{Method: "POST", Path: root + "/namespaces", Name: "createNamespace", Summary: "Make a namespace; the caller becomes its admin.", Body: wire.NewNamespace{}, Answer: wire.Namespace{}, Status: 201, Errors: []int{409}, handle: (*Handler).createNamespace},
		{Method: "GET", Path: namespace, Name: "getNamespace", Summary: "One namespace with its policy.", Answer: wire.Namespace{}, handle: (*Handler).getNamespace},
		{Method: "PATCH", Path: namespace, Name: "updateNamespace", Summary: "Change who may read it and what it accepts.", Body: wire.NamespaceChange{}, Answer: wire.Namespace{}, handle: (*Handler).updateNamespace},
		{Method: "GET", Path: namespace + "/grants", Name: "listGrants", Summary: "Accounts and their roles.", Answer: wire.Page[wire.Grant]{}, handle: (*Handler).listGrants},
		{Method: "PUT", Path: namespace + "/grants", Name: "putGrant", Summary: "Give an account a role, in place of the one it has.", Body: wire.Grant{}, Answer: wire.Grant{}, handle: (*Handler).putGrant},
		{Method: "DELETE", Path: namespace + "/grants/{account}", Name: "deleteGrant", Summary: "Take an account's role away.", Status: 204, handle: (*Handler).deleteGrant},
		{Method: "GET", Path: namespace + "/signers", Name: "listSigners", Summary: "Signers of releases.", Answer: wire.Page[wire.Signer]{}, handle: (*Handler).listSigners},
		{Method: "PUT", Path: namespace + "/signers", Name: "putSigners", Summary: "Set the signers of releases: this list, and nobody else.", Body: wire.Page[wire.Signer]{}, Answer: wire.Page[wire.Signer]{}, handle: (*Handler).putSigners},

		{Method: "GET", Path: namespace + "/publishers", Name: "listPublishers", Summary: "Jobs of a CI that publish with identity tokens.", Answer: wire.Page[wire.Publisher]{}, handle: (*Handler).listPublishers},
		{Method: "POST", Path: namespace + "/publishers", Name: "addPublisher", Summary: "Let a job of a CI publish, by its issuer and claims.", Body: wire.Publisher{}, Answer: wire.Page[wire.Publisher]{}, Status: 201, Errors: []int{409}, handle: (*Handler).addPublisher},
		{Method: "DELETE", Path: namespace + "/publishers/{id}", Name: "removePublisher", Summary: "Take that back.", Status: 204, handle: (*Handler).removePublisher},
		{Method: "POST", Path: namespace + "/exchange", Name: "exchangeToken", Summary: "Exchange the identity token of a publisher, which is for the address of this registry, for a token of 15 minutes. It is good for once.", Body: wire.Exchange{}, Answer: wire.Token{}, Status: 201, Errors: []int{503}, open: true, handle: (*Handler).exchange},

		{Method: "GET", Path: namespace + "/advisories", Name: "listAdvisories", Summary: "Warnings about releases, as OSV has them; clients read the signed feed in /log/states.", Answer: wire.Page[wire.Advisory]{}, handle: (*Handler).listAdvisories},
		{Method: "POST", Path: namespace + "/advisories", Name: "addAdvisory", Summary: "Warn of releases of a skill.", Body: wire.NewAdvisory{}, Answer: wire.Page[wire.Advisory]{}, Status: 201, Errors: []int{409}, handle: (*Handler).addAdvisory},
		{Method: "POST", Path: namespace + "/advisories/{id}/withdraw", Name: "withdrawAdvisory", Summary: "Take a warning back; it stays in the feed, marked.", Body: wire.AdvisoryChange{}, Answer: wire.Page[wire.Advisory]{}, Errors: []int{409}, handle: (*Handler).withdrawAdvisory},

		{Method: "GET", Path: root + "/skills", Name: "listSkills", Summary: "Skills that the caller may read, by namespace and name.", Query: append([]param{{"namespace", "string", "Only of this namespace."}}, page...), Answer: wire.Page[wire.Skill]{}, handle: (*Handler).listSkills},
		{Method: "GET", Path: skill, Name: "getSkill", Summary: "One skill, as its newest listed release shows it.", Answer: wire.Skill{}, handle: (*Handler).getSkill},
		{Method: "GET", Path: skill + "/downloads", Name: "getDownloads", Summary: "How often its versions were fetched.", Answer: wire.Downloads{}, handle: (*Handler).getDownloads},
		{Method: "GET", Path: skill + "/versions", Name: "listVersions", Summary: "All versions the caller may see, highest first; yanked ones are marked by their state.", Answer: wire.Page[wire.VersionSummary]{}, handle: (*Handler).listVersions},
		{Method: "GET", Path: version, Name: "getVersion", Summary: "The whole record of a release with its signatures and its proof of the log.", Answer: wire.Version{}, Errors: []int{410}, handle: (*Handler).getVersion},
		{Method: "PUT", Path: version, Name: "publishVersion", Summary: "Publish a manifest that was pushed by digest, or an archive of the skill. Versions never change.", Body: wire.PublishRequest{}, Media: []string{wire.MediaGzip, wire.MediaZip, "application/octet-stream"}, Answer: wire.Version{}, Status: 201, Errors: []int{409, 507}, handle: (*Handler).publishVersion},
		{Method: "POST", Path: version + "/actions", Name: "actOnVersion", Summary: "Change the state of a release.", Body: wire.Action{}, Answer: wire.Version{}, Errors: []int{409}, handle: (*Handler).actOnVersion},
		{Method: "GET", Path: version + "/download", Name: "downloadVersion", Summary: "The zip archive of its files; counted as a download.", Raw: []string{wire.MediaZip}, Errors: []int{410}, handle: (*Handler).downloadVersion},
		{Method: "GET", Path: version + "/files", Name: "listFiles", Summary: "Its files, by path.", Answer: wire.Page[wire.File]{}, Errors: []int{410}, handle: (*Handler).listFiles},
		{Method: "GET", Path: version + "/files/{path}", Name: "getFile", Summary: "The bytes of one file; the path may hold slashes.", Raw: []string{"text/plain; charset=utf-8", "application/octet-stream"}, Errors: []int{410}, handle: (*Handler).getFile},
		{Method: "GET", Path: version + "/report", Name: "getReport", Summary: "The report of the audit when it was published: findings, permissions, files read.", Answer: wire.Report{}, Errors: []int{410}, handle: (*Handler).getReport},
		{Method: "GET", Path: version + "/diff/{other}", Name: "diffVersions", Summary: "The changes that another version makes.", Answer: wire.Diff{}, Errors: []int{410}, handle: (*Handler).diffVersions},

		{Method: "GET", Path: root + "/search", Name: "search", Summary: "Skills whose words begin with all words of q, best first, with facets; if there are none, or q is a sentence, those with the words that tell most.", Query: []param{
			{"q", "string", "Words; each matches as a prefix."}, {"namespace", "string", "Facet."}, {"license", "string", "Facet."}, {"signed", "boolean", "Facet."},
			{"sort", "string", "relevance, updated, downloads or name."}, {"offset", "integer", "How many to skip, at most 10000."}, {"limit", "integer", "How many, 1 to 100; 20 if not given."},
		}, Answer: wire.SearchResult{}, handle: (*Handler).search},

		{Method: "GET", Path: root + "/tokens", Name: "listTokens", Summary: "Tokens the caller may see, without their text.", Query: page, Answer: wire.Page[wire.Token]{}, handle: (*Handler).listTokens},
		{Method: "POST", Path: root + "/tokens", Name: "createToken", Summary: "Make a token. Its text is in this answer and nowhere else.", Body: wire.NewToken{}, Answer: wire.Token{}, Status: 201, handle: (*Handler).createToken},
		{Method: "DELETE", Path: root + "/tokens/{id}", Name: "revokeToken", Summary: "End a token.", Status: 204, handle: (*Handler).revokeToken},
		{Method: "GET", Path: root + "/queue", Name: "listQueue", Summary: "Releases that wait for a signature or a decision in the namespaces whose drafts the caller sees, the oldest first.", Query: append([]param{{"namespace", "string", "Only of this namespace."}}, page...), Answer: wire.Page[wire.Waiting]{}, handle: (*Handler).listQueue},
		{Method: "GET", Path: root + "/audit", Name: "listEvents", Summary: "The audit trail, newest first.", Query: []param{
			{"namespace", "string", "Of the target."}, {"account", "string", "Who did it."}, {"action", "string", "What was done."},
			{"before", "integer", "Events with smaller ids: next of the page before."}, {"limit", "integer", "How many, 1 to 100; 50 if not given."},
		}, Answer: wire.Page[wire.Event]{}, handle: (*Handler).listEvents},

		{Method: "GET", Path: root + "/log/checkpoint", Name: "getCheckpoint", Summary: "The signed head of the transparency log.", Raw: []string{"text/plain; charset=utf-8"}, handle: (*Handler).checkpoint},
		{Method: "GET", Path: root + "/log/states", Name: "getStates", Summary: "The releases that were taken back after they had been served, by manifest; the checkpoint has the digest of these bytes.", Answer: wire.States{}, handle: (*Handler).states},
		{Method: "GET", Path: root + "/log/tile/{path}", Name: "getTile", Summary: "A tile of the transparency log, as C2SP tlog-tiles names it; entries need the right to see the audit trail.", Raw: []string{"application/octet-stream"}, handle: (*Handler).tile},
		{Method: "GET", Path: "/log/checkpoint", Name: "getRootCheckpoint", Summary: "The same as /api/v1/log/checkpoint.", Raw: []string{"text/plain; charset=utf-8"}, handle: (*Handler).checkpoint},
		{Method: "GET", Path: "/log/states", Name: "getRootStates", Summary: "The same as /api/v1/log/states.", Answer: wire.States{}, handle: (*Handler).states},
		{Method: "GET", Path: "/log/tile/{path}", Name: "getRootTile", Summary: "The same as /api/v1/log/tile.", Raw: []string{"application/octet-stream"}, handle: (*Handler).tile},
	}
}

// strict reports whether the route refuses parameters that it does not have. Routes of bytes are opened by browsers, and /log
// is read by monitors of logs: these may add some.
func (rt route) strict() bool {
	return rt.Raw == nil && (rt.Path == root || strings.HasPrefix(rt.Path, root+"/"))
}

// checkQuery refuses a parameter that the route does not have, one that is there twice, and a query that cannot be read:
// else a list would be another one than was asked for.
func (rt route) checkQuery(raw string) error {
	if raw == "" || !rt.strict() {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return diag.New(diag.Misuse, "invalid_request", "the query is malformed: %s", printable(err.Error()))
	}
	var known []string
	for _, p := range rt.Query {
		known = append(known, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !slices.Contains(known, name):
			e := diag.New(diag.Misuse, "invalid_request", "%s has no parameter %q", rt.Path, printable(name))
			if len(known) == 0 {
				return e.Hint("it takes no parameters")
			}
			return e.Hint("parameters: %s", strings.Join(known, ", "))
		case len(query[name]) > 1:
			return diag.New(diag.Misuse, "invalid_request", "the parameter %s is given twice", name)
		}
	}
	return nil
}

// pattern is the path for a ServeMux.
func pattern(path string) string {
	if rest, ok := strings.CutSuffix(path, "{path}"); ok {
		return rest + "{path...}"
	}
	return path
}

// allow is the value of an Allow header.
func allow(methods map[string]route) string {
	var names []string
	for m := range methods {
		names = append(names, m)
		if m == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
