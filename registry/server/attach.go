package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/registry"
	blobfs "github.com/skl-project/skl/registry/blob/fs"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// Attach opens the registry in data for Fsck, Scrub and Backup, also while another process serves it: it takes no
// lock and makes nothing. What it returns has no handler; the caller closes it. A directory
// that holds no registry is an error of class Misuse and code no_registry_data.
func Attach(ctx context.Context, data string) (*Server, error) {
	s := &Server{cfg: Config{Data: data}, logger: slog.New(slog.DiscardHandler), unlock: func() {}}
	if !HasData(data) {
		return nil, diag.New(diag.Misuse, "no_registry_data", "%s does not hold the data of a registry", data)
	}
	text, err := os.ReadFile(filepath.Join(s.path("keys"), "log.key"))
	if err != nil {
		return nil, err
	}
	g := &registry.Registry{Logger: s.logger}
	if g.Key, err = tlog.ParseKey(string(text)); err != nil {
		return nil, err
	}
	if g.Blobs, err = blobfs.Open(s.path("blobs")); err != nil {
		return nil, err
	}
	away, err := s.connect(ctx, 2)
	if err != nil {
		return nil, err
	}
	if g.Meta, err = s.openMeta(ctx, away, 2); err != nil {
		return nil, away.close(err)
	}
	s.Registry = g
	return s, nil
}
