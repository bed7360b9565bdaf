package scope

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/policy"
)

// Times of asking for the policy of an organisation.
const (
	policyWait = 10 * time.Second // for an answer
	policyNew  = time.Hour        // a copy is as good as a new one
	clockSlack = 5 * time.Minute  // a copy may seem to come from the future by
)

// SignatureSuffix is what the signature of a policy is called behind the policy's own address or name.
const SignatureSuffix = ".sigstore.json"

// maxPolicySignature is the largest signature that is read, in bytes.
const maxPolicySignature = 1 << 20

// A keptPolicy is the last policy of an organisation that was good. It is verified again whenever it is used.
type keptPolicy struct {
	Version   int       `json:"v"`
	URL       string    `json:"url"`
	At        time.Time `json:"at"` // when it was fetched
	Policy    string    `json:"policy"`
	Signature string    `json:"signature"`
}

// organisation is the policy that o names: the copy that was fetched within an hour, else a new one, else a copy that is not
// older than o allows. Everything else is refused: rules that cannot be had cannot be held.
func (sc *Scope) organisation(ctx context.Context, o config.Organisation) (*policy.File, error) {
	key, err := organisationKey(o)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(o.URL))
	path := filepath.Join(sc.Dirs.State, "policy-"+hex.EncodeToString(sum[:8])+".json")
	var have keptPolicy
	if err := ReadState(path, &have); err != nil || have.URL != o.URL {
		have = keptPolicy{} // damaged or another's: as if it were not there
	}
	old, oldErr := readOrganisation(o.URL, have, key)
	age := time.Since(have.At)
	usable := oldErr == nil && age > -clockSlack && age <= o.MaxAge
	if usable && age < policyNew {
		return old, nil
	}
	var cause error = diag.New(diag.Failed, "offline", "skl is offline")
	if !sc.Offline() {
		var now keptPolicy
		if now, cause = sc.fetchPolicy(ctx, o.URL); cause == nil {
			f, err := readOrganisation(o.URL, now, key)
			if err != nil {
				return nil, err
			}
			if oldErr == nil && f.Serial < old.Serial {
				return nil, diag.New(diag.Refused, "policy_rollback", "the policy at %s has serial %d, and one with %d was there before", o.URL, f.Serial, old.Serial).
					Hint("ask whoever signs it: serial only grows")
			}
			return f, sc.ChangeState(path, func() (any, error) { return now, nil })
		}
		if ctx.Err() != nil {
			return nil, cause
		}
	}
	if usable {
		sc.Tell.Detail("the policy of %s is that of %s: %s", o.URL, have.At.UTC().Format(time.RFC3339), cause)
		return old, nil
	}
	what := "no copy of it is here"
	switch {
	case oldErr == nil:
		what = "the copy that is here is of " + have.At.UTC().Format(time.RFC3339) + ", and may be " + o.MaxAge.String() + " old"
	case have.Policy != "":
		what = "the copy that is here is not valid: " + oldErr.Error()
	}
	return nil, diag.New(diag.Refused, "policy_stale", "the policy of the organisation at %s cannot be had: %w; %s", o.URL, cause, what).
		Hint("skl policy show, once with a network, fetches it").Hint("%s names it in [organisation]", o.File)
}

// organisationKey reads the key that o names, by a path relative to the file that says so.
func organisationKey(o config.Organisation) (attest.PublicKey, error) {
	text, err := os.ReadFile(Absolute(filepath.Dir(o.File), o.Key))
	var key attest.PublicKey
	if err == nil {
		key, err = attest.ParsePublic(text)
	}
	if err != nil {
		return key, diag.New(diag.Refused, "policy_key", "the key of the organisation's policy, which %s names, cannot be used: %w", o.File, err)
	}
	return key, nil
}

// readOrganisation verifies and parses a policy that was fetched.
func readOrganisation(url string, k keptPolicy, key attest.PublicKey) (*policy.File, error) {
	v, err := attest.NewVerifier(attest.Trust{Keys: []attest.PublicKey{key}})
	if err != nil {
		return nil, err
	}
	var bundles [][]byte
	if k.Signature != "" {
		bundles = append(bundles, []byte(k.Signature))
	}
	verdict := v.Verify(bundles, PolicySubject([]byte(k.Policy)))
	if verdict.State != attest.Verified {
		return nil, diag.New(diag.Refused, "policy_unsigned", "the policy at %s is not signed by %s: %s", url, key.Fingerprint(), verdict.Reason).
			Hint("skl policy sign FILE --sign KEY makes the signature, which belongs at %s", url+SignatureSuffix)
	}
	f, err := policy.Parse([]byte(k.Policy), url, policy.Organisation)
	if err == nil {
		err = f.Current(time.Now())
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// PolicySubject is what the signature of a policy is about: its bytes.
func PolicySubject(text []byte) attest.Subject {
	sum := sha256.Sum256(text)
	return attest.Subject{Digest: "sha256:" + hex.EncodeToString(sum[:])}
}

// fetchPolicy gets a policy and its signature. No signature is an empty one.
func (sc *Scope) fetchPolicy(ctx context.Context, url string) (keptPolicy, error) {
	ctx, cancel := context.WithTimeout(ctx, policyWait)
	defer cancel()
	k := keptPolicy{Version: 1, URL: url, At: time.Now().UTC()}
	text, status, err := sc.get(ctx, url, policy.MaxBytes)
	if err != nil || status != http.StatusOK {
		return k, unanswered(url, status, err)
	}
	signature, status, err := sc.get(ctx, url+SignatureSuffix, maxPolicySignature)
	if err != nil || status != http.StatusOK && status != http.StatusNotFound {
		return k, unanswered(url+SignatureSuffix, status, err)
	}
	k.Policy = string(text)
	if status == http.StatusOK {
		k.Signature = string(signature)
	}
	return k, nil
}

func unanswered(url string, status int, err error) error {
	if err != nil {
		return err
	}
	return diag.New(diag.Failed, "network", "%s answers %d %s", url, status, http.StatusText(status))
}

func (sc *Scope) get(ctx context.Context, url string, limit int64) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	resp, err := sc.HTTP.Do(req)
	if err != nil {
		return nil, 0, err
	}
	text, err := origin.ReadAll(resp, limit)
	return text, resp.StatusCode, err
}
