package faulttest

import (
	"sync"
	"testing"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/testdata/long"
)

// TestOneOfManyPublishesWins: of 100 concurrent publishes of one version, by all ways, exactly
// one is created. The others are told so in the words of their protocol, and the log has one entry.
func TestOneOfManyPublishesWins(t *testing.T) {
	long.Slow(t)
	srv, admin := open(t, setup{})
	publisher, reader := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	const clients = 100
	releases := make([]*release, clients)
	for i := range releases {
		r := newRelease("pdf", "1.0.0", 100)
		releases[i] = r
		if mode(i%int(modes)) == byArchive {
			continue
		}
		for _, b := range r.built.Blobs {
			publisher.must(t, 201, "POST", "/v2/acme/pdf/blobs/uploads/?digest="+b.Digest.String(), b.Data, "Content-Type", "application/octet-stream")
		}
		publisher.must(t, 201, "PUT", r.v2("manifests", r.manifest()), r.built.Root.Data, "Content-Type", r.built.Root.MediaType)
	}
	answers := make([]answer, clients)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i, r := range releases {
		wg.Go(func() {
			<-start
			var err error
			switch mode(i % int(modes)) {
			case byTag:
				answers[i], err = publisher.do(t.Context(), "PUT", r.v2("manifests", r.version), r.built.Root.Data, "Content-Type", r.built.Root.MediaType)
			case byArchive:
				answers[i], err = publisher.do(t.Context(), "PUT", r.api(), r.archive, "Content-Type", wire.MediaZip)
			case byDigest:
				answers[i], err = publisher.do(t.Context(), "PUT", r.api(), asJSON(wire.PublishRequest{Manifest: r.manifest()}), "Content-Type", wire.MediaJSON)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	var winner *release
	for i, a := range answers {
		switch by := mode(i % int(modes)); {
		case a.status == 201 && winner == nil:
			winner = releases[i]
		case a.status == 409 && by != byTag && a.code() == "version_exists":
		case a.status == 403 && by == byTag && a.code() == "DENIED version_exists":
		default:
			t.Errorf("publish %d by way %d: %d %s", i, by, a.status, a.body)
		}
	}
	if winner == nil {
		t.Fatal("nobody won")
	}
	log := newLog()
	if err := log.follow(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	if log.size != 1 {
		t.Errorf("the log has %d entries", log.size)
	}
	if err := whole(t.Context(), reader, winner, log); err != nil {
		t.Error(err)
	}
	clean(t, srv)
}
