package oci_test

import (
	"context"
	"errors"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/oci"
)

// failing is a registry whose blobs cannot be read to their end.
type failing struct{ oci.Registry }

func (f failing) OpenBlob(ctx context.Context, who registry.Caller, repo string, d blob.Digest) (blob.Content, error) {
	c, err := f.Registry.OpenBlob(ctx, who, repo, d)
	if err != nil {
		return nil, err
	}
	return &half{Content: c, left: c.Size() / 2}, nil
}

// half ends with an error in the middle.
type half struct {
	blob.Content
	left int64
}

var errMedium = errors.New("the disk cannot be read")

func (h *half) Read(p []byte) (int, error) {
	if h.left == 0 {
		return 0, errMedium
	}
	n, err := h.Content.Read(p[:min(int64(len(p)), h.left)])
	h.left -= int64(n)
	return n, err
}
