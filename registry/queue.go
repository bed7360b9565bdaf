package registry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
)

// Reasons why a release waits.
const (
	ForSignature    = "signature"     // a draft whose namespace requires one
	ForDecision     = "decision"      // quarantined by policy, by the scan or by a person
	ForSecondPerson = "second-person" // quarantined, and its publisher may not approve it
	ForMirror       = "mirror"        // quarantined, and copied from another registry
)

// A Waiting is a release that waits.
type Waiting struct {
	meta.Release        // Updated is since when, Reason is why
	For          string // one of the words above
	Yours        bool   // who asks may decide, or publish what a signature is missing from
	Findings     []content.Finding
}

// Queue lists what waits in the namespaces where who sees drafts, the oldest first; namespace "" is all of them. Since and
// after are Updated and "namespace/name@version" of the last one of the page before. A namespace that who cannot read is
// like one that does not exist: code unknown_namespace.
func (g *Registry) Queue(ctx context.Context, who Caller, namespace string, since time.Time, after string, limit int) (list []Waiting, err error) {
	if who.Anonymous && !g.Open {
		return nil, unauthorized()
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		list = list[:0]
		if namespace != "" {
			if a, err := g.access(ctx, tx, who, namespace); err != nil {
				return err
			} else if !a.read {
				return g.noNamespace(who, namespace)
			}
		}
		seen := map[string]access{}
		for len(list) < limit {
			page, err := tx.Waiting(ctx, namespace, since, after, 200)
			if err != nil || len(page) == 0 {
				return err
			}
			for _, r := range page {
				since, after = r.Updated, r.Repo()+"@"+r.Version
				a, ok := seen[r.Namespace]
				if !ok {
					if a, err = g.access(ctx, tx, who, r.Namespace); err != nil {
						return err
					}
					seen[r.Namespace] = a
				}
				if !a.draft || len(list) >= limit {
					continue
				}
				w, err := g.waiting(ctx, tx, who, a.ns, r)
				if err != nil {
					return err
				}
				list = append(list, w)
			}
		}
		return nil
	})
	if err != nil {
		return list, err
	}
	for i := range list { // not in the transaction: there may be many
		w := &list[i]
		report, err := g.Report(ctx, w.Release)
		if err != nil && w.Release.Report != "" { // the others are listed all the same
			w.Reason = strings.TrimPrefix(w.Reason+"; "+err.Error(), "; ")
		}
		w.Findings = g.waitFor(report)
	}
	return list, nil
}

// waiting says what r waits for, and whether who can end that.
func (g *Registry) waiting(ctx context.Context, tx *meta.Tx, who Caller, ns meta.Namespace, r meta.Release) (Waiting, error) {
	w := Waiting{Release: r, For: ForDecision, Yours: g.Open || who.May(auth.Approve, r.Repo())}
	switch {
	case r.State == meta.Draft:
		w.For, w.Yours = ForSignature, g.Open || who.May(auth.Publish, r.Repo())
	case ns.Policy.SecondPerson:
		w.For = ForSecondPerson
		one, err := onePerson(ctx, tx, who.Account, r.Publisher)
		if err != nil {
			return Waiting{}, err
		}
		w.Yours = w.Yours && !one
	case r.MirroredURL != "":
		w.For = ForMirror
	}
	return w, nil
}

// secondPerson refuses to let who approve what they published themselves, where the namespace wants two.
func (g *Registry) secondPerson(ctx context.Context, tx *meta.Tx, who Caller, ns meta.Namespace, r meta.Release) error {
	if !ns.Policy.SecondPerson {
		return nil
	}
	one, err := onePerson(ctx, tx, who.Account, r.Publisher)
	if err != nil || !one {
		return err
	}
	return diag.New(diag.Refused, "second_person", "%s@%s was published by %s, and namespace %s wants a second person to approve it", r.Repo(), r.Version, diag.Printable(r.Publisher), ns.Name).
		Hint("another maintainer of %s can approve it: skl registry approve %s@%s", ns.Name, r.Repo(), r.Version)
}

// onePerson reports whether one of two accounts made the other, directly or not, or is it, or whether somebody made both: whoever can
// have a token for an account can act as it. Two that an admin of the registry made are two persons, for that one is trusted with all rules.
func onePerson(ctx context.Context, tx *meta.Tx, a, b string) (bool, error) {
	first, err := makers(ctx, tx, a)
	if err != nil {
		return false, err
	}
	second, err := makers(ctx, tx, b)
	if err != nil {
		return false, err
	}
	for _, account := range first {
		if !slices.Contains(second, account) {
			continue
		}
		grants, err := tx.Grants(ctx, account)
		if err != nil {
			return false, err
		}
		operates := slices.Contains(ofMachine, account) || slices.ContainsFunc(grants, func(gr meta.Grant) bool {
			return gr.Namespace == auth.Everywhere && auth.Allows(auth.Role(gr.Role), auth.Operate)
		})
		if account == a || account == b || !operates {
			return true, nil
		}
	}
	return false, nil
}

// makers are account, who made it, who made that one, and so on.
func makers(ctx context.Context, tx *meta.Tx, account string) (list []string, err error) {
	for range 100 { // an account is made once, so there is no circle; this bounds a chain
		list = append(list, account)
		owner, err := tx.AccountOwner(ctx, account)
		if errors.Is(err, meta.ErrNotFound) || err == nil && owner == account {
			break
		}
		if err != nil {
			return nil, err
		}
		account = owner
	}
	return list, nil
}

// mayRetract decides who may take back what blocked r. A reject of what was never served is taken back by whoever may
// approve; a block, and a reject of what was served, by whoever may block. Approve takes back rejects only: what was blocked
// was not refused for a decision about its release, so that is undone first.
func (g *Registry) mayRetract(ctx context.Context, tx *meta.Tx, who Caller, r meta.Release, a Action) error {
	if r.State != meta.Blocked {
		return nil
	}
	rejected, err := wasRejected(ctx, tx, r)
	if err != nil {
		return err
	}
	if a == Approve && !rejected {
		return g.wrongState(ctx, tx, r, a)
	}
	if rejected && r.LogIndex < 0 {
		return nil
	}
	_, err = g.writable(ctx, tx, who, r.Repo(), auth.Block)
	return err
}

// wasRejected reports whether what blocked r was a reject.
func wasRejected(ctx context.Context, tx *meta.Tx, r meta.Release) (bool, error) {
	last, err := tx.LastEvent(ctx, r.Repo()+"@"+r.Version, string(Reject), string(Block))
	if err != nil && !errors.Is(err, meta.ErrNotFound) {
		return false, err
	}
	return last.Action == string(Reject), nil
}

// wrongState refuses an action that does not follow from the state of r, and says what does and who may do it.
func (g *Registry) wrongState(ctx context.Context, tx *meta.Tx, r meta.Release, a Action) error {
	full := r.Repo() + "@" + r.Version
	e := diag.New(diag.Misuse, "wrong_state", "%s is %s, so one cannot %s it", full, r.State, a)
	next := map[meta.State]string{
		meta.Blocked:     "an admin of %s can undo the block: skl yank --block %s --undo",
		meta.Draft:       "a publisher of %s can sign it: skl sign %s --sign KEY",
		meta.Yanked:      "a maintainer of %s can undo that: skl yank %s --undo",
		meta.Quarantined: "a maintainer of %s can decide about it: skl registry approve %s",
	}[r.State]
	if r.State == meta.Blocked && r.LogIndex < 0 {
		if rejected, err := wasRejected(ctx, tx, r); err != nil {
			return err
		} else if rejected {
			next = "a maintainer of %s can take the reject back: skl registry approve %s"
		}
	}
	if next == "" {
		return e
	}
	return e.Hint(next, r.Namespace, full)
}
