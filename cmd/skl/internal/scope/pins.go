package scope

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"sort"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// States of a Pin.
const (
	Pinned   = "pinned"   // on first use
	Accepted = "accepted" // by this user, after a change
	Revoked  = "revoked"  // by this user: no signature of it counts
)

// A Pin is who signed the releases of one skill when this user first used one of them. What a lock says of a signer comes with its
// project, so it pins nothing on this machine.
type Pin struct {
	ID      string       `json:"id"`
	Skill   string       `json:"skill"`
	From    string       `json:"from"`    // where its releases come from
	Version string       `json:"version"` // that was looked at last
	State   string       `json:"state"`   // pinned, accepted, revoked
	Signer  PinnedSigner `json:"signer"`

	// Unchecked says that nobody was known here to check the signature with: Signer is whom the release names.
	Unchecked bool `json:"unchecked,omitempty"`
}

// A PinnedSigner is a lock.Signer as JSON has it.
type PinnedSigner struct {
	Kind       string `json:"kind,omitempty"`
	Issuer     string `json:"issuer,omitempty"`
	Identity   string `json:"identity,omitempty"`
	Repository string `json:"repository,omitempty"`
	Ref        string `json:"ref,omitempty"`
	Runner     string `json:"runner,omitempty"`
	Key        string `json:"key,omitempty"`
}

// pinFile is all pins, sorted by ID.
type pinFile struct {
	Version int   `json:"v"`
	Pins    []Pin `json:"pins"`
}

//go:noinline
func (sc *Scope) pinPath() string { return filepath.Join(sc.Dirs.State, "pins.json") }

// NewPin is the pin of s, which signer signed.
func NewPin(sc *Scope, s *lock.Skill, signer *lock.Signer) *Pin {
	from := strings.TrimSuffix(s.Source+" "+sc.Config.Canonical(s.URL)+" "+cmp.Or(s.RegistryName(), s.Path), " ")
	sum := sha256.Sum256([]byte(from))
	return &Pin{hex.EncodeToString(sum[:6]), s.Name, from, s.Version, Pinned, PinnedSigner(*signer), false}
}

// Pins are all pins of this user.
func Pins(sc *Scope) ([]Pin, error) {
	f := pinFile{Version: 1, Pins: []Pin{}}
	if err := ReadState(sc.pinPath(), &f); err != nil || f.Version != 1 {
		return nil, diag.New(diag.Refused, "pins_corrupt", "%s cannot be read, so the signers of installed skills are not known", sc.Short(sc.pinPath())).
			Hint("move it away; signers are then pinned again on first use")
	}
	return f.Pins, nil
}

// FindPin is the pin of s among all, nil if there is none.
func FindPin(sc *Scope, all []Pin, s *lock.Skill) *Pin {
	if len(all) == 0 {
		return nil
	}
	id := NewPin(sc, s, &lock.Signer{}).ID
	for i := range all {
		if all[i].ID == id {
			return &all[i]
		}
	}
	return nil
}

// SetPins replaces the pins with the ids of set, or adds them.
func SetPins(sc *Scope, set ...*Pin) error {
	if len(set) == 0 {
		return nil
	}
	return sc.ChangeState(sc.pinPath(), func() (any, error) {
		all, err := Pins(sc)
		if err != nil {
			return nil, err
		}
		for _, p := range set {
			at := 0
			for at < len(all) && all[at].ID != p.ID {
				at++
			}
			if at == len(all) {
				all = append(all, Pin{})
			}
			all[at] = *p
		}
		sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
		return &pinFile{1, all}, nil
	})
}
