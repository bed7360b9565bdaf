package registry

import (
	"context"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
)

// Published is when the registry says that it made the locked release visible.
func (s *Source) Published(ctx context.Context, l lock.Skill) (time.Time, error) {
	p, target, err := s.target(l)
	if err != nil {
		return time.Time{}, err
	}
	namespace, name, _ := strings.Cut(target.Repo, "/")
	rec := p.record(ctx, namespace, name, l.Version)
	switch {
	case rec.err != nil:
		return time.Time{}, rec.err
	case ref.Digest(rec.Manifest) != l.Manifest:
		return time.Time{}, diag.New(diag.Refused, oci.CodeDigest, "%s: the registry now has another manifest as version %s than was locked", l.Name, l.Version)
	}
	return rec.Version.Published, nil
}
