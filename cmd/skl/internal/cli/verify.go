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
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/lock"
)

// A verifiedSkill is one line of "skl verify".
type verifiedSkill struct {
	Name      string   `json:"name"`
	Path      string   `json:"path"`
	State     string   `json:"state"` // ok, drift, missing, eol, link, unlocked, stale
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

	refused error // the first signature, log proof or entry of the lock that is bad
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
	claims, err := w.claims(ctx, f)
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
		if err := w.verifyEntry(ctx, &one, f.lock, claims); err != nil && out.refused == nil {
			out.refused = err
		}
		out.Skills = append(out.Skills, one)
	}
	for _, s := range f.lock.Skills {
		if wanted(s.Name) && !slices.ContainsFunc(receipts, func(r roots.Receipt) bool { return r.Name == s.Name }) {
			one := verifiedSkill{Name: s.Name, Path: filepath.Join(w.root, s.Name), State: "missing", Expected: string(s.Tree), Drift: []string{}}
			if err := claims.refused[s.Name]; err != nil {
				one.Signature, one.Reason = string(attest.Failed), err.Error()
				out.refused = cmp.Or(out.refused, err)
			}
			out.Skills = append(out.Skills, one)
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
	if other := otherRelease(r, s); locked && other != "" && len(out.Drift) == 0 {
		out.State, out.Drift = "drift", []string{"the receipt has another " + other + " than skl.lock"}
	}
	return out
}

// otherRelease is the field in which a receipt is of another release than the lock entry s, "" if there is none.
func otherRelease(r roots.Receipt, s lock.Skill) string {
	var size int64
	for _, f := range r.Files {
		size += f.Size
	}
	for _, f := range []struct {
		name string
		same bool
	}{{"tree", r.Tree == s.Tree}, {"version", r.Version == s.Version}, {"source", r.Source == s.Source}, {"url", r.URL == s.URL}, {"commit", r.Commit == s.Commit},
		{"manifest", r.Manifest == s.Manifest}, {"number of files", len(r.Files) == s.Files}, {"size", size == s.Bytes}} {
		if !f.same {
			return f.name
		}
	}
	return ""
}

// claims are what is wrong with the entries of a lock before any byte is looked at.
type claims struct {
	stale   []string
	refused map[string]error // by name
}

func (w *world) claims(ctx context.Context, f *files) (claims, error) {
	all, err := wants(f.manifest)
	if err != nil {
		return claims{}, err
	}
	c := claims{stale: resolver.Stale(all, f.lock)}
	c.refused, err = w.disagreements(ctx, f, all)
	return c, err
}

// verifyEntry compares the entry of out's skill with what is computed: its source, who signed it, the proof of the
// registry's log, and what the files say. What is refused comes back as an error and is noted in out.
func (w *world) verifyEntry(ctx context.Context, out *verifiedSkill, l *lock.Lock, c claims) error {
	s, ok := l.Skill(out.Name)
	if !ok {
		return nil
	}
	if err := c.refused[s.Name]; err != nil {
		out.Signature, out.Reason = string(attest.Failed), err.Error()
		return err
	}
	if slices.Contains(c.stale, s.Name) {
		// Its ref is not the manifest's, so it says nothing about whose signature it would need.
		if out.State == "ok" {
			out.State, out.Drift = "stale", append(out.Drift, "skl.lock does not follow from skl.toml")
		}
		return nil
	}
	if err := w.verifySignature(ctx, out, l); err != nil {
		return err
	}
	if out.State != "ok" {
		return nil
	}
	src, err := readSkill(out.Path)
	if err == nil {
		err = checkContent(s, src)
	}
	if err != nil {
		out.Signature, out.Reason = string(attest.Failed), err.Error()
	}
	return err
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
		if s.Signature == string(attest.Failed) {
			refused++
			w.ui.Print("%s  signature: %s", s.Name, s.Reason)
		}
		if s.State == "ok" {
			w.ui.Detail("%s ok %s", s.Name, s.Digest)
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
		case "stale":
			w.ui.Hint("skl install")
			return
		}
	}
}
