package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/lock"
)

// A verifiedSkill is one line of "skl verify".
type verifiedSkill struct {
	Name      string   `json:"name"`
	Path      string   `json:"path"`
	State     string   `json:"state"` // ok, drift, missing, eol, link, unlocked
	Digest    string   `json:"digest"`
	Expected  string   `json:"expected"`
	Signature string   `json:"signature"`        // verified, unsigned, failed, skipped
	Signer    string   `json:"signer,omitempty"` // identity, or fingerprint of the key
	Reason    string   `json:"reason,omitempty"` // why the signature is not verified
	Logged    bool     `json:"logged"`           // skl.lock proves that the registry's log has the release
	Drift     []string `json:"drift"`
}

type verifyResult struct {
	OK     bool            `json:"ok"`
	Skills []verifiedSkill `json:"skills"`

	refused error // the first signature or log proof that is bad
}

func verifyCommand() command {
	return command{name: "verify", args: "[NAME…]", group: "Trust", usage: "re-hash installed skills and compare them with skl.lock", output: verifyResult{}, complete: "skill",
		example: "skl verify\nskl verify pdf\nskl verify -g",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			out, err := w.verify(ctx, c.Args().Slice())
			if err != nil {
				return err
			}
			if w.ui.JSON {
				if err := w.ui.Result(out); err != nil {
					return err
				}
			} else {
				w.printVerify(out)
			}
			switch {
			case out.refused != nil && w.ui.JSON:
				return shown{out.refused}
			case out.refused != nil:
				return out.refused
			}
			if !out.OK {
				return unmet("drift")
			}
			return nil
		}}
}

// verify re-hashes every file of the named skills, or of all that the lock or a receipt names.
func (w *world) verify(ctx context.Context, names []string) (verifyResult, error) {
	if err := w.settled(); err != nil {
		return verifyResult{}, err
	}
	f, err := w.load()
	if err != nil {
		return verifyResult{}, err
	}
	receipts, bad := roots.Receipts(w.root)
	if len(bad) > 0 {
		return verifyResult{}, bad[0]
	}
	for _, name := range names {
		_, locked := f.lock.Skill(name)
		if !locked && !slices.ContainsFunc(receipts, func(r roots.Receipt) bool { return r.Name == name }) {
			return verifyResult{}, w.notInManifest(name, f)
		}
	}
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	receipts = slices.DeleteFunc(receipts, func(r roots.Receipt) bool { return !wanted(r.Name) })
	drifts, err := w.here.CheckAll(ctx, receipts, true)
	if err != nil {
		return verifyResult{}, err
	}
	out := verifyResult{OK: true, Skills: []verifiedSkill{}}
	for i, r := range receipts {
		one := w.verifyOne(r, drifts[i], f.lock)
		if err := w.verifySignature(ctx, &one, f.lock); err != nil && out.refused == nil {
			out.refused = err
		}
		out.Skills = append(out.Skills, one)
	}
	for _, s := range f.lock.Skills {
		if wanted(s.Name) && !slices.ContainsFunc(receipts, func(r roots.Receipt) bool { return r.Name == s.Name }) {
			out.Skills = append(out.Skills, verifiedSkill{Name: s.Name, Path: filepath.Join(w.root, s.Name), State: "missing", Expected: string(s.Tree), Drift: []string{}})
		}
	}
	out.OK = out.refused == nil && !slices.ContainsFunc(out.Skills, func(s verifiedSkill) bool { return s.State != "ok" })
	return out, nil
}

func (w *world) verifyOne(r roots.Receipt, d roots.Drift, l *lock.Lock) verifiedSkill {
	path, _ := w.here.Place(r.Name)
	out := verifiedSkill{Name: r.Name, Path: path, State: "ok", Digest: string(d.Tree), Expected: string(r.Tree),
		Signature: "unsigned", Drift: append([]string{}, d.List()...)}
	s, locked := l.Skill(r.Name)
	if locked {
		out.Expected = string(s.Tree)
	}
	switch {
	case len(r.Files) > 0 && len(d.Missing) == len(r.Files):
		out.State = "missing"
	case d.Edited(), locked && s.Tree != r.Tree:
		out.State = "drift"
	case len(d.Links) > 0:
		out.State = "link"
	case len(d.EOL) > 0:
		out.State = "eol"
	case !locked && l != nil && w.scope == hosts.Project && len(l.Skills) > 0:
		out.State = "unlocked"
	}
	if locked && s.Tree != r.Tree && len(out.Drift) == 0 {
		out.Drift = []string{"the receipt names another release than skl.lock"}
	}
	return out
}

// verifySignature checks who signed the locked release, and its proof of the registry's log.
// What is refused comes back as an error and is noted in out.
func (w *world) verifySignature(ctx context.Context, out *verifiedSkill, l *lock.Lock) error {
	s, ok := l.Skill(out.Name)
	if !ok {
		return nil
	}
	j, err := w.recheck(ctx, s, false)
	if err == nil {
		err = j.bad(s)
	}
	if err != nil {
		out.Signature, out.Reason = string(attest.Failed), err.Error()
		return err
	}
	out.Signature, out.Logged = string(j.verdict.State), s.Log != nil
	if j.verdict.State == attest.Verified {
		out.Signer = cmp.Or(j.verdict.Signer.Identity, j.verdict.Signer.Key)
	} else if canBeSigned(s) {
		out.Reason = j.verdict.Reason
	}
	return nil
}

func (w *world) printVerify(out verifyResult) {
	bad, refused := 0, 0
	for _, s := range out.Skills {
		if s.State == "ok" {
			w.ui.Detail("%s ok %s", s.Name, s.Digest)
			if s.Signature == string(attest.Failed) {
				refused++
				w.ui.Print("%s  signature: %s", s.Name, s.Reason)
			}
			continue
		}
		bad++
		w.ui.Print("%s  %s", s.Name, s.State)
		for _, line := range s.Drift {
			w.ui.Print("  %s", line)
		}
	}
	if bad == 0 {
		if refused == 0 {
			w.ui.Print("%s verified: every byte is what skl.lock says", ui.Count(len(out.Skills), "skill"))
		}
		return
	}
	w.ui.Note("%d of %s differ from what was published", bad, ui.Count(len(out.Skills), "skill"))
	for _, s := range out.Skills {
		switch s.State {
		case "missing":
			w.ui.Hint("skl install")
			return
		case "eol", "link":
			w.ui.Hint("skl init writes the .gitattributes lines that prevent this; skl install --force mends it")
			return
		case "drift":
			w.ui.Hint("skl diff %s", s.Name)
			return
		}
	}
}
