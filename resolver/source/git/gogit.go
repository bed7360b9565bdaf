package git

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
)

// maxHistory bounds the content of a repository that is fetched with its history, in bytes.
const maxHistory = 256 << 20

// gogit is the rung for machines without git and servers without filters: go-git's
// transports, http through Doer and ssh with the running agent. It fetches
// a commit with all its files or, if whole, everything that branches and tags reach.
type gogit struct {
	http    Doer
	url     string
	whole   bool
	maxPack int64
}

// session starts a conversation; advertised refs are good for one request.
func (g *gogit) session(ctx context.Context) (transport.UploadPackSession, *packp.AdvRefs, error) {
	endpoint, err := transport.NewEndpoint(g.url)
	if err != nil {
		return nil, nil, err
	}
	client := ssh.DefaultClient
	if endpoint.Protocol != "ssh" {
		client = githttp.NewClient(&http.Client{Transport: roundTripper{g.http}})
		endpoint.User = ""
	}
	s, err := client.NewUploadPackSession(endpoint, nil)
	if err != nil {
		return nil, nil, g.explain(err)
	}
	adv, err := s.AdvertisedReferencesContext(ctx)
	if err != nil {
		s.Close()
		return nil, nil, g.explain(err)
	}
	return s, adv, nil
}

// roundTripper lets go-git use a Doer, which follows redirects itself.
type roundTripper struct{ Doer }

func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return t.Do(req) }

func (g *gogit) explain(err error) error {
	switch {
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed),
		errors.Is(err, transport.ErrInvalidAuthMethod), strings.Contains(err.Error(), "unable to authenticate"),
		strings.Contains(err.Error(), "SSH agent"), strings.Contains(err.Error(), "knownhosts:"):
		return authError(g.url)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return notFoundError(g.url)
	}
	return err
}

func (g *gogit) refs(ctx context.Context) ([]advert, error) {
	s, adv, err := g.session(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var refs []advert
	if adv.Head != nil {
		head := advert{name: "HEAD", id: *adv.Head}
		for _, v := range adv.Capabilities.Get(capability.SymRef) {
			if to, ok := strings.CutPrefix(v, "HEAD:"); ok {
				head.symref = to
			}
		}
		refs = append(refs, head)
	}
	for name, id := range adv.References {
		a := advert{name: name, id: id}
		if peeled, ok := adv.Peeled[name]; ok {
			a.tag, a.id = id, peeled
		}
		if wanted(name) {
			refs = append(refs, a)
		}
	}
	return refs, nil
}

func (g *gogit) objects(ctx context.Context, commit plumbing.Hash, to *objectSet) error {
	s, adv, err := g.session(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	req := packp.NewUploadPackRequestFromCapabilities(adv.Capabilities)
	set := to
	if g.whole {
		set = newObjectSet(maxHistory)
		for _, id := range adv.References {
			req.Wants = append(req.Wants, id)
		}
	} else {
		if !adv.Capabilities.Supports(capability.Shallow) {
			return &unsupported{"the server cannot leave out history"}
		}
		req.Wants = []plumbing.Hash{commit}
		req.Depth = packp.DepthCommits(1)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return err
		}
	}
	resp, err := s.UploadPack(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !g.whole {
			return &unreached{}
		}
		return g.explain(err)
	}
	defer resp.Close()
	var pack io.Reader = resp
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		pack = sideband.NewDemuxer(sideband.Sideband64k, resp)
	case req.Capabilities.Supports(capability.Sideband):
		pack = sideband.NewDemuxer(sideband.Sideband, resp)
	}
	if err := readPack(pack, g.maxPack, set); err != nil || !g.whole {
		return err
	}
	if _, ok := set.get(commit, plumbing.CommitObject); !ok {
		return &unreached{final: true}
	}
	return to.addReachable(set, commit)
}

// blobs fetches the commit again with all its files: this rung gets there only if another one failed half-way.
func (g *gogit) blobs(ctx context.Context, commit plumbing.Hash, _ []plumbing.Hash, to *objectSet) error {
	return g.objects(ctx, commit, to)
}

func (g *gogit) tag(ctx context.Context, id plumbing.Hash, to *objectSet) error {
	if g.whole {
		return &unreached{final: true} // the rung before it asked for the same tip
	}
	return g.objects(ctx, id, to)
}
