package ship

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

// DefaultAlgorithm is how a key signs for which nothing else is asked.
const DefaultAlgorithm = string(attest.ECDSA)

// A Key is a key that signs releases.
type Key struct {
	Private     string `json:"private,omitempty"` // file
	Public      string `json:"public"`            // file, or the key itself for ShowKey
	Fingerprint string `json:"fingerprint"`
	Statement   string `json:"statement,omitempty"` // of a rotation, file
}

// A KeyRequest asks for a new key.
type KeyRequest struct {
	File       string // of the private half; the public one gets .pub
	Algorithm  string // ecdsa-p256 or ed25519
	Passphrase bool   // encrypt it, with SKL_KEY_PASSPHRASE or what a person says
	DryRun     bool
}

// NewKey creates a key pair. It overwrites nothing. A key is also encrypted, without a question, if SKL_KEY_PASSPHRASE is set.
func (s *Shipper) NewKey(r KeyRequest) (Key, error) {
	key, err := attest.NewKey(attest.Algorithm(r.Algorithm))
	if err != nil {
		return Key{}, err
	}
	passphrase := []byte(s.Scope.Getenv("SKL_KEY_PASSPHRASE"))
	if r.Passphrase && len(passphrase) == 0 {
		text, err := s.Secret("passphrase for the new key")
		if errors.Is(err, ask.ErrNobody) {
			return Key{}, diag.New(diag.NeedsInput, "key_passphrase", "a passphrase is needed, and nobody can be asked").Hint("set SKL_KEY_PASSPHRASE")
		}
		if err != nil {
			return Key{}, err
		}
		passphrase = []byte(text)
	}
	files, err := s.keyFiles(r.File, key, passphrase)
	if err != nil {
		return Key{}, err
	}
	if err := s.writeNew(files, r.DryRun); err != nil {
		return Key{}, err
	}
	return Key{Private: files[0].path, Public: files[1].path, Fingerprint: key.Public().Fingerprint()}, nil
}

// ShowKey reads the public half of a key from either file of it.
func (s *Shipper) ShowKey(path string) (Key, error) {
	text, err := os.ReadFile(scope.Absolute(s.Scope.Cwd, path))
	if err != nil {
		return Key{}, diag.New(diag.Misuse, "no_key", "the key cannot be read: %w", err)
	}
	public, err := attest.ParsePublic(text)
	if err != nil {
		key, _, err := s.PrivateKey(path)
		if err != nil {
			return Key{}, err
		}
		public = key.Public()
	}
	return Key{Public: string(public.PEM()), Fingerprint: public.Fingerprint()}, nil
}

// A RotateRequest asks for the successor of a key.
type RotateRequest struct {
	Old    string // file
	File   string // of the new private half
	Reason string
	DryRun bool
}

// RotateKey creates a key, and a statement in which the old one vouches for it. It overwrites nothing.
func (s *Shipper) RotateKey(r RotateRequest) (Key, error) {
	old, passphrase, err := s.PrivateKey(r.Old)
	if err != nil {
		return Key{}, err
	}
	if len(passphrase) == 0 {
		passphrase = []byte(s.Scope.Getenv("SKL_KEY_PASSPHRASE"))
	}
	next, err := attest.NewKey(algorithm(old.Public()))
	if err != nil {
		return Key{}, err
	}
	st, err := attest.Rotation(old.Public(), next.Public(), r.Reason)
	if err != nil {
		return Key{}, err
	}
	bundle, err := attest.Sign(old, st)
	if err != nil {
		return Key{}, err
	}
	files, err := s.keyFiles(r.File, next, passphrase)
	if err != nil {
		return Key{}, err
	}
	files = append(files, newFile{files[0].path + ".rotation.json", bundle, 0o644})
	if err := s.writeNew(files, r.DryRun); err != nil {
		return Key{}, err
	}
	return Key{Private: files[0].path, Public: files[1].path, Fingerprint: next.Public().Fingerprint(), Statement: files[2].path}, nil
}

// A newFile is one that must not exist yet.
type newFile struct {
	path string
	text []byte
	mode os.FileMode
}

// keyFiles are the files of a key.
func (s *Shipper) keyFiles(out string, key attest.PrivateKey, passphrase []byte) ([]newFile, error) {
	text, err := key.PEM(passphrase)
	if err != nil {
		return nil, err
	}
	path := scope.Absolute(s.Scope.Cwd, out)
	return []newFile{{path, text, 0o600}, {path + ".pub", key.Public().PEM(), 0o644}}, nil
}

// writeNew writes files after it has checked that none of them exists; a dry run only checks.
func (s *Shipper) writeNew(files []newFile, dry bool) error {
	for _, f := range files {
		if scope.Exists(f.path) {
			return diag.New(diag.Misuse, "exists", "%s exists already; a key is never overwritten", s.Scope.Short(f.path)).Hint("a successor, signed by it: skl key rotate OLD -o NEW")
		}
	}
	if dry {
		return nil
	}
	for _, f := range files {
		if err := durable.WriteFile(f.path, f.text, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// algorithm is how the successor of a key signs: as the key does, if skl makes such keys.
func algorithm(k attest.PublicKey) attest.Algorithm {
	if block, _ := pem.Decode(k.PEM()); block != nil {
		if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if _, ok := key.(ed25519.PublicKey); ok {
				return attest.Ed25519
			}
		}
	}
	return attest.ECDSA
}
