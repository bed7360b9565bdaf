package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/client"
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
	out := Clients{Registry: s.URL(), Clients: []ClientLines{}}
	for _, h := range clientHelps(exampleOf(ctx, s, r.Namespace)) {
		if r.For == "" || h.For == r.For {
			out.Clients = append(out.Clients, h)
		}
	}
	return out, nil
}

// An example is a release that the lines name.
type example struct{ url, host, namespace, name, version string }

func (e example) release() string { return e.namespace + "/" + e.name }

// image is where container engines find the release; it is there if it was published with --image.
func (e example) image() string { return e.host + "/" + e.release() + ":" + e.version + "-image" }

// Programs are those that Clients has lines for.
func Programs() []string {
	var names []string
	for _, h := range clientHelps(example{}) {
		names = append(names, h.For)
	}
	return names
}

// clientHelps is for clients that do not send credentials as for those that do: a private namespace is read
// through a path that holds a token.
func clientHelps(e example) []ClientLines {
	wellKnown := func(agent string) []string {
		return []string{
			fmt.Sprintf("npx skills add %s/%s --agent %s", e.url, e.namespace, agent),
			fmt.Sprintf("npx skills add %s/t/TOKEN/%s --agent %s", e.url, e.namespace, agent),
			fmt.Sprintf("skl install %s --host %s", e.release(), agent),
		}
	}
	const private = "the line with /t/TOKEN/ is for private namespaces, with a token of role reader: skl registry token create --namespace NAMESPACE"
	const image = "for releases that were published with --image"
	return []ClientLines{
		{For: "skl", Lines: []string{"skl login " + e.url + " --default", "skl install " + e.release(), "skl publish DIR " + e.release() + "@VERSION"}},
		{For: "claude-code", Note: private, Lines: wellKnown("claude-code")},
		{For: "npx", Note: private, Lines: []string{
			fmt.Sprintf("npx skills add %s/%s", e.url, e.namespace),
			fmt.Sprintf("npx skills add %s/t/TOKEN/%s", e.url, e.namespace),
		}},
		{For: "codex", Note: private, Lines: wellKnown("codex")},
		{For: "copilot", Note: private, Lines: wellKnown("github-copilot")},
		{For: "opencode", Note: "in opencode.json; the address ends with a slash", Lines: []string{
			fmt.Sprintf(`{ "skills": { "urls": ["%s/%s/.well-known/skills/"] } }`, e.url, e.namespace),
		}},
		{For: "docker", Note: image, Lines: []string{
			"docker login " + e.host + " --username skl --password-stdin < TOKEN_FILE",
			"docker pull " + e.image(),
			fmt.Sprintf("docker run --mount type=image,source=%s,target=/skills IMAGE", e.image()),
		}},
		{For: "kubernetes", Note: image + "; Kubernetes 1.33 and later", Lines: []string{
			"kubectl create secret docker-registry skl --docker-server=" + e.host + " --docker-username=skl --docker-password=\"$(cat TOKEN_FILE)\"",
			"volumes:",
			"- name: skills",
			"  image: { reference: " + e.image() + ", pullPolicy: IfNotPresent }",
		}},
		{For: "oras", Lines: []string{
			"oras login " + e.host + " --username skl --password-stdin < TOKEN_FILE",
			fmt.Sprintf("oras pull %s/%s:%s", e.host, e.release(), e.version),
			fmt.Sprintf("oras discover %s/%s:%s", e.host, e.release(), e.version),
		}},
		{For: "crane", Lines: []string{
			"crane auth login " + e.host + " --username skl --password-stdin < TOKEN_FILE",
			fmt.Sprintf("crane manifest %s/%s:%s", e.host, e.release(), e.version),
			fmt.Sprintf("crane export %s - | tar -x", e.image()),
		}},
	}
}

// exampleOf is a release that the registry has and the caller may read. A registry that says nothing, or has
// nothing, gets placeholders.
func exampleOf(ctx context.Context, s *site, namespace string) example {
	e := example{url: s.URL(), host: s.Host(), namespace: namespace, name: "NAME", version: "VERSION"}
	if found, err := s.Search(ctx, client.Query{Namespace: namespace, Limit: 1}); err == nil && len(found.Items) > 0 {
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
