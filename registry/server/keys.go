package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// A secret is a key of the registry: that of its log, by which clients know it, or that of short-lived bearers. All processes that serve
// the registry have the same ones: in the database, where the directory is one of many, else in the directory.
type secret struct {
	name string                 // of its file in the directory, and in the database
	make func() ([]byte, error) // at the first start; nil for a process that only works on the data
	// known is for a key that is never replaced: the database has what it hashes to, and one that is lost, or another, is refused.
	known bool
}

func (s *Server) logSecret() secret {
	return secret{"log.key", func() ([]byte, error) {
		key, err := tlog.NewKey(s.logOrigin())
		return []byte(key.Secret() + "\n"), err
	}, true}
}

func (s *Server) bearerSecret() secret {
	return secret{"bearer.key", func() ([]byte, error) { return auth.NewBearerKey().Secret(), nil }, false}
}

// logKey is the key of the log. It is made if it may be.
func (s *Server) logKey(ctx context.Context, k secret) (tlog.Key, error) {
	text, err := s.secret(ctx, k)
	if err != nil {
		return tlog.Key{}, err
	}
	key, err := tlog.ParseKey(string(text))
	if err != nil {
		err = fmt.Errorf("%s: %w", k.name, err)
	}
	return key, err
}

// secret reads a key, or makes it.
func (s *Server) secret(ctx context.Context, k secret) (text []byte, err error) {
	own := filepath.Join(s.path("keys"), k.name)
	if s.shared {
		return s.sharedSecret(ctx, k, own)
	}
	text, err = os.ReadFile(own)
	if errors.Is(err, fs.ErrNotExist) && k.make != nil {
		if err := s.lostKey(ctx, k, own); err != nil {
			return nil, err
		}
		if text, err = k.make(); err == nil {
			err = durable.WriteFile(own, text, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	return text, s.knownKey(ctx, k, text)
}

// sharedSecret reads a key that is in the database, or puts it there: the one of the directory, if this was the only one until now.
func (s *Server) sharedSecret(ctx context.Context, k secret, own string) ([]byte, error) {
	return meta.KeepSetting(ctx, s.Registry.Meta, meta.SettingSecret+k.name, func() ([]byte, error) {
		text, err := os.ReadFile(own)
		if errors.Is(err, fs.ErrNotExist) && k.make != nil {
			return k.make()
		}
		return text, err
	})
}

// saveKeys writes the keys to a directory, for a registry that has them there.
func (s *Server) saveKeys(ctx context.Context, dir string) error {
	if !s.shared {
		return copyKeys(dir, s.path("keys"))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, k := range []secret{s.logSecret(), s.bearerSecret()} {
		k.make = nil
		text, err := s.secret(ctx, k)
		if err == nil {
			err = durable.WriteFile(filepath.Join(dir, k.name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lostKey refuses to make a key in the place of one that was there.
func (s *Server) lostKey(ctx context.Context, k secret, own string) error {
	if !k.known {
		return nil
	}
	_, err := s.keyHash(ctx, k, nil)
	switch {
	case errors.Is(err, meta.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return diag.New(diag.Refused, "lost_key", "%s is not there any more; with another key the registry would be another one to all clients", own).
		Hint("put it back from a backup: skl registry backup keeps it in keys/%s", k.name).
		Hint("without one, begin a new registry in another directory, and publish there: skl registry serve --data NEW")
}

// knownKey refuses another key than the one that was used before.
func (s *Server) knownKey(ctx context.Context, k secret, text []byte) error {
	if !k.known {
		return nil
	}
	sum := sha256.Sum256(text)
	now := hex.EncodeToString(sum[:])
	fresh := func() ([]byte, error) { return []byte(now), nil }
	if k.make == nil {
		fresh = nil
	}
	have, err := s.keyHash(ctx, k, fresh)
	switch {
	case errors.Is(err, meta.ErrNotFound): // no server noted one
		return nil
	case err == nil && string(have) != now:
		return diag.New(diag.Refused, "other_key", "%s is not the key that this registry had before; it would be another one to all clients", k.name).
			Hint("put back the one that it had")
	}
	return err
}

// keyHash is what the database says of a key, or fresh if that is nothing.
func (s *Server) keyHash(ctx context.Context, k secret, fresh func() ([]byte, error)) ([]byte, error) {
	return meta.KeepSetting(ctx, s.Registry.Meta, "hash of "+k.name, fresh)
}
