package fs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/registry/blob"
)

// Each blob known to be damaged has a file below damaged/, so that a check and a server need not be the same process.
// The file holds the identity of the damaged file: one that was put in its place is another.

func (s *Store) marker(d blob.Digest) string {
	return filepath.Join(s.dir, "damaged", d.Algorithm()+"-"+d.Hex())
}

// found notes how a look at the content of d ended: with nil, or with ErrCorrupt for the file info describes. That a
// note cannot be written is no error: the next look finds the damage again.
func (s *Store) found(d blob.Digest, info fs.FileInfo, err error) {
	switch {
	case err == nil:
		s.healed(d)
	case errors.Is(err, blob.ErrCorrupt):
		file := s.marker(d)
		if os.MkdirAll(filepath.Dir(file), 0o700) == nil {
			_ = os.WriteFile(file, []byte(identify(info).String()), 0o600)
		}
	}
}

// healed forgets that d was damaged.
func (s *Store) healed(d blob.Digest) { _ = os.Remove(s.marker(d)) }

// damaged reports whether the file of d is known to be damaged.
func (s *Store) damaged(d blob.Digest, info fs.FileInfo) bool {
	text, err := os.ReadFile(s.marker(d))
	return err == nil && string(text) == identify(info).String()
}
