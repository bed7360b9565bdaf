package signature

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/resolver/source/registry"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// kept is the file that holds the signatures of a manifest.
func (a *Judge) kept(s lock.Skill) string {
	_, sum, _ := strings.Cut(string(s.Manifest), ":")
	if s.Source == "git" { // one commit has many skills, each with files of its own
		path := sha256.Sum256([]byte(s.Path))
		sum = string(s.Commit) + "-" + hex.EncodeToString(path[:6])
	}
	return filepath.Join(a.scope.Dirs.Data, "signatures", sum+".json")
}

// keepSignatures writes the bundles of a release, if there are any, where verify finds them without a network.
func (a *Judge) keepSignatures(s lock.Skill, bundles [][]byte) error {
	if len(bundles) == 0 {
		return nil
	}
	raw := make([]json.RawMessage, len(bundles))
	for i, b := range bundles {
		raw[i] = b
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	path := a.kept(s)
	if err := a.scope.MkdirPrivate(filepath.Dir(path)); err != nil {
		return err
	}
	// It is a copy that is verified whenever it is read; one that a crash tore is fetched again. So it is not synced.
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o600) // earlier versions of skl wrote it for everybody
}

// keptSignatures reads them back; nil if there are none that can be read.
func (a *Judge) keptSignatures(s lock.Skill) (out evidence, err error) {
	text, err := os.ReadFile(a.kept(s))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return out, err
	}
	var raw []json.RawMessage
	if json.Unmarshal(text, &raw) != nil {
		return out, nil
	}
	for _, b := range raw {
		out.bundles = append(out.bundles, b)
	}
	return out, nil
}

// Recheck verifies a locked release again: its signatures and the proof of its registry's log. It never
// trusts the lock alone. Signatures are those that were kept, and unless skl is offline those of the source where
// the kept ones do not do; with keep, they replace them.
func (a *Judge) Recheck(ctx context.Context, s lock.Skill, keep bool) (Found, error) {
	var unproven error // unless a signature proves it
	if s.Source == "registry" {
		err := a.scope.Registry.VerifyLog(ctx, s, keep && !a.scope.Offline())
		if errors.Is(err, diag.Code(registry.CodeUnproven)) {
			unproven = err
		} else if err != nil {
			return Found{}, err
		}
	}
	j, err := a.judge(s, func() (evidence, error) { return a.keptSignatures(s) })
	if err != nil {
		return Found{}, err
	}
	can, err := a.Signable(s)
	if err != nil {
		return Found{}, err
	}
	if can && (j.Verdict.State == attest.Unsigned || j.Verdict.State == attest.Failed || j.uncheckedChange(&s) != nil && !s.Unsigned) {
		if j, err = a.recheckSource(ctx, s, j, keep); err != nil {
			return Found{}, err
		}
	}
	if j.Verdict.State != attest.Verified && j.Bad(s) == nil {
		return j, unproven
	}
	if s.Signer == nil || j.Verdict.State != attest.Verified {
		return j, nil
	}
	if now := PinOf(j.Verdict); now != *s.Signer {
		same, changed := attest.Same(*s.Signer, now)
		if same {
			changed = fmt.Sprintf("the certificate says %q %q, the lock %q %q", now.Identity, now.Ref, s.Signer.Identity, s.Signer.Ref)
		}
		return j, diag.New(diag.Refused, CodeSignerChanged, "%s is signed by %s, not by whom skl.lock names: %s", release(&s), j.Verdict.Signer, changed)
	}
	return j, nil
}

// recheckSource judges s by what its source has now. kept is the verdict of what was kept, which was no good.
func (a *Judge) recheckSource(ctx context.Context, s lock.Skill, kept Found, keep bool) (Found, error) {
	none := kept.Verdict.State == attest.Unsigned && kept.Verdict.Code == attest.NoBundle || kept.Verdict.State == attest.Skipped && len(kept.Bundles) == 0
	if a.scope.Offline() {
		if none && kept.Bad(s) != nil {
			return Found{}, diag.New(diag.Refused, "signature_offline", "the signature of %s is not on this machine, and skl is offline", release(&s)).
				Hint("skl ci, once with a network, keeps it")
		}
		return kept, nil
	}
	now, err := a.judge(s, func() (evidence, error) { return a.attestations(ctx, s) })
	switch {
	case err != nil && none:
		return Found{}, err
	case err != nil:
		return kept, nil
	case keep && (now.Verdict.State == attest.Verified || now.Verdict.State == attest.Skipped && now.continues):
		err = a.keepSignatures(s, now.Bundles)
	}
	return now, err
}

// Bad is the refusal that follows from what Recheck found, nil if there is none. What the lock says of signers
// and decisions has to be what was found; where it says less, or more, it is refused.
func (j Found) Bad(s lock.Skill) error {
	what := release(&s)
	switch {
	case j.Verdict.State == attest.Failed:
		return j.Verdict.Err(what)
	case s.Unsigned && (j.Verdict.State == attest.Verified || s.Signer != nil):
		return diag.New(diag.Refused, codeUnsigned, "skl.lock says that %s was taken without a signature, and also or in truth it is signed", what).
			Hint("to choose it anew: skl lock --upgrade %s", s.Name)
	case s.Unsigned && !j.accepted:
		return diag.New(diag.Refused, codeUnsigned, "skl.lock says that somebody took %s without a signature; on this machine nobody did", what).
			Hint("to take it here, too: skl ci --allow-unsigned")
	case j.Verdict.State == attest.Unsigned && !s.Unsigned && (j.required || s.Signer != nil):
		return j.Verdict.Err(what)
	case j.Verdict.State == attest.Unsigned && !s.Unsigned && j.pin != nil && !j.accepted:
		err := j.Verdict.Err(what).(*diag.Error).Hint("if that is right: skl trust accept %s", s.Name)
		err.Message += sides(signerOf(j.pin), "no signature")
		return err
	case j.uncheckedChange(&s) != nil && !j.accepted:
		return j.uncheckedChange(&s).Hint("if that is right: skl trust accept %s", s.Name)
	case j.Verdict.State == attest.Verified && s.Signer == nil:
		return diag.New(diag.Refused, CodeSignerChanged, "%s is signed by %s, and skl.lock names no signer", what, j.Verdict.Signer).
			Hint("if nobody removed it, to record it: skl lock --upgrade %s", s.Name)
	case j.Verdict.State == attest.Verified && !j.continues:
		return changedSigner(&s, signerOf(j.pin), PinOf(j.Verdict), "the release first used on this machine").Hint("if that is right: skl trust accept %s", s.Name)
	}
	return nil
}

// codeUnsigned is the code of a lock that says of a release that somebody took it without a signature.
const codeUnsigned = "E_LOCK_UNSIGNED"

// Checking is how releases are checked that are about to be installed as they are locked.
type Checking struct {
	Keep          bool // write what was learned: signatures, the heads of logs
	AllowUnsigned bool // the person takes here what skl.lock says was taken without a signature
}

// CheckLocked is Recheck for releases that are about to be installed as they are locked. The errors are those of skills, in their order; the last
// one is of none of them.
func (a *Judge) CheckLocked(ctx context.Context, skills []lock.Skill, c Checking) ([]error, error) {
	var g errgroup.Group
	g.SetLimit(8)
	errs, taken, unchecked := make([]error, len(skills)), make([]bool, len(skills)), make([]bool, len(skills))
	for i, s := range skills {
		g.Go(func() error {
			j, err := a.Recheck(ctx, s, c.Keep)
			if errs[i] = err; err != nil {
				return nil
			}
			taken[i] = s.Unsigned && !j.accepted && c.AllowUnsigned
			j.accepted = j.accepted || taken[i]
			unchecked[i] = s.Signer != nil && j.Verdict.State == attest.Skipped
			a.claim(s, j)
			errs[i] = j.Bad(s)
			return nil
		})
	}
	if g.Wait(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var accept []lock.Skill
	for i, s := range skills {
		if errs[i] != nil {
			continue
		}
		if unchecked[i] {
			a.scope.Tell.Warn("the signer of %s was not checked: no signer is configured for %s", s.Name, NamespaceOf(s))
		}
		if taken[i] {
			accept = append(accept, s)
		}
	}
	if !c.Keep {
		return errs, nil
	}
	return errs, a.scope.AcceptUnsigned(accept)
}

// claim remembers what j found of s until its files were compared. It is called by several at a time.
func (a *Judge) claim(s lock.Skill, j Found) {
	a.trusts.mu.Lock()
	defer a.trusts.mu.Unlock()
	if a.signed == nil {
		a.signed = map[string]lock.Skill{}
	}
	delete(a.named, s.Name)
	switch {
	case len(j.claims) > 0:
		if a.named == nil {
			a.named = map[string]lock.Skill{}
		}
		delete(a.signed, s.Name)
		signer := j.claims[0].Lock()
		if j.pin != nil {
			signer = j.claims[max(j.claimed(), 0)].Lock()
		}
		s.Signer = &signer
		a.named[s.Name] = s
		return
	case j.Verdict.State == attest.Verified:
		signer := PinOf(j.Verdict)
		s.Signer = &signer
	case s.Unsigned:
		s.Signer = nil
	default:
		delete(a.signed, s.Name)
		return
	}
	a.signed[s.Name] = s
}
