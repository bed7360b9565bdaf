package admin

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// Clients is what to paste for programs that use a registry.
type Clients struct {
	Registry string        `json:"registry"`
	Clients  []ClientLines `json:"clients"`
}

// A ClientLines is what to type, or to write into a file, so that a program uses the registry.
type ClientLines struct {
	For   string   `json:"for"`
	Note  string   `json:"note,omitempty"`
	Lines []string `json:"lines"`
}

// A ClientsRequest asks for what to paste.
type ClientsRequest struct {
	Site      Site
	For       string // one of Programs; "" is all of them
	Namespace string // for skills of this; "" takes one that the registry has
}

// Clients returns lines for programs that use a registry, with a release that it has.
func (a *Admin) Clients(ctx context.Context, r ClientsRequest) (Clients, error) {
	if r.For != "" && !slices.Contains(Programs(), r.For) {
		return Clients{}, diag.New(diag.Misuse, "unknown_client", "there are no lines for %q", r.For).Meant(Programs()...)
	}
	s, err := a.open(ctx, r.Site)
	if err != nil {
		return Clients{}, err
	}
	defer s.close()
	if r.Namespace != "" {
		if _, err := s.client.Namespace(ctx, r.Namespace); errors.Is(err, diag.Code("unknown_namespace")) {
			return Clients{}, err
		}
	}
	out := Clients{Registry: s.client.URL(), Clients: []ClientLines{}}
	for _, h := range clientHelps(exampleOf(ctx, s, r.Namespace)) {
		if r.For == "" || h.For == r.For {
			out.Clients = append(out.Clients, h)
		}
	}
	return out, nil
}

// An example is a release that the lines name.
type example struct {
	url, host, namespace, name, version string
	plain, insecure                     string // flags that oras and crane need where there is no TLS, with a space before
}

// Programs are those that Clients has lines for.
func Programs() []string {
	var names []string
	for _, h := range clientHelps(example{}) {
		names = append(names, h.For)
	}
	return names
}

// clientText has for each program its name, with a note behind a tab, and the lines to paste. It is for clients that do not send credentials
// as for those that do: a private namespace is read through a path that holds a token.
const clientText = `skl
skl login {url} --default
skl install {release}
skl publish DIR {release}@VERSION

claude-code	{private}
npx skills add {url}/{namespace} --agent claude-code
npx skills add {url}/t/TOKEN/{namespace} --agent claude-code
skl install {release} --host claude-code

npx	{private}
npx skills add {url}/{namespace}
npx skills add {url}/t/TOKEN/{namespace}

codex	{private}
npx skills add {url}/{namespace} --agent codex
npx skills add {url}/t/TOKEN/{namespace} --agent codex
skl install {release} --host codex

copilot	{private}
npx skills add {url}/{namespace} --agent github-copilot
npx skills add {url}/t/TOKEN/{namespace} --agent github-copilot
skl install {release} --host github-copilot

opencode	in opencode.json; the address ends with a slash
{ "skills": { "urls": ["{url}/{namespace}/.well-known/skills/"] } }

docker	{with-image}
docker login {host} --username skl --password-stdin < TOKEN_FILE
docker pull {image}
docker run --mount type=image,source={image},target=/skills IMAGE

kubernetes	{with-image}; Kubernetes 1.33 and later
kubectl create secret docker-registry skl --docker-server={host} --docker-username=skl --docker-password="$(cat TOKEN_FILE)"
volumes:
- name: skills
  image: { reference: {image}, pullPolicy: IfNotPresent }

oras
oras login {host} --username skl --password-stdin{plain} < TOKEN_FILE
oras pull {host}/{release}:{version}{plain} && tar -xzf {name}.tar.gz
oras discover {host}/{release}:{version}{plain}

crane	export is {with-image}
crane auth login {host} --username skl --password-stdin{insecure} < TOKEN_FILE
crane manifest {host}/{release}:{version}{insecure}
crane export {image} -{insecure} | tar -x`

func clientHelps(e example) (all []ClientLines) {
	release := e.namespace + "/" + e.name
	fill := strings.NewReplacer("{url}", e.url, "{host}", e.host, "{namespace}", e.namespace, "{name}", e.name, "{release}", release, "{version}", e.version,
		"{plain}", e.plain, "{insecure}", e.insecure, "{image}", e.host+"/"+release+":"+e.version+"-image", // there if it was published with --image
		"{private}", "the line with /t/TOKEN/ is for private namespaces, with a token of role reader: skl registry token create --namespace NAMESPACE",
		"{with-image}", "for releases that were published with --image")
	for _, block := range strings.Split(clientText, "\n\n") {
		lines := strings.Split(fill.Replace(block), "\n")
		name, note, _ := strings.Cut(lines[0], "\t")
		all = append(all, ClientLines{For: name, Note: note, Lines: lines[1:]})
	}
	return all
}

// exampleOf is a release that the registry has and the caller may read. A registry that says nothing, or has
// nothing, gets placeholders.
func exampleOf(ctx context.Context, s *site, namespace string) example {
	e := example{url: s.client.URL(), host: s.client.Host(), namespace: namespace, name: "NAME", version: "VERSION"}
	if strings.HasPrefix(e.url, "http://") {
		if name, _, _ := strings.Cut(e.host, ":"); name != "localhost" { // the one that oras takes for plain by itself
			e.plain = " --plain-http"
		}
		if !origin.Loopback(e.host) {
			e.insecure = " --insecure"
		}
	}
	if found, err := s.client.Search(ctx, client.Query{Namespace: namespace, Limit: 1}); err == nil && len(found.Items) > 0 {
		first := found.Items[0]
		if _, _, _, err := exactRelease(first.Namespace + "/" + first.Name + "@" + first.Latest); err == nil {
			e.namespace, e.name, e.version = first.Namespace, first.Name, strings.ReplaceAll(first.Latest, "+", "_")
		}
	}
	if e.namespace == "" {
		e.namespace = "NAMESPACE"
	}
	return e
}
