package api

import (
	"encoding/json"
	"fmt"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
)

// wireVersion is the record of v without URLs and proof.
func wireVersion(v meta.Release, signatures []registry.Signature) (wire.Version, error) {
	out := wire.Version{
		Namespace: v.Namespace, Name: v.Name, Version: v.Version,
		Manifest: v.Manifest, Artifact: v.Artifact, Tree: v.Tree, Zip: v.Zip, ZipSize: v.ZipSize, Files: []wire.File{}, Bytes: v.Bytes,
		Description: v.Description, License: v.License, Keywords: v.Keywords, Frontmatter: v.Frontmatter,
		State: string(v.State), Reason: v.Reason, Publisher: v.Publisher, Published: v.Published.UTC(), Updated: v.Updated.UTC(), Downloads: v.Downloads,
		Source: v.SourceURL, Mirrored: v.MirroredURL, Signed: v.Signed, Signatures: []wire.Signature{},
	}
	for _, f := range v.Files {
		out.Files = append(out.Files, wireFile(f))
	}
	if len(v.Signer) > 0 {
		out.Signer = new(wire.Signer)
		if err := json.Unmarshal(v.Signer, out.Signer); err != nil {
			return wire.Version{}, fmt.Errorf("signer of %s@%s: %w", v.Repo(), v.Version, err)
		}
	}
	for _, s := range signatures {
		out.Signatures = append(out.Signatures, wire.Signature{PredicateType: s.PredicateType, Bundle: s.Bundle})
	}
	return out, nil
}

// wireProof is p, nil for nil.
func wireProof(p *tlog.Proof) *wire.LogProof {
	if p == nil {
		return nil
	}
	out := &wire.LogProof{Origin: p.Key, Index: p.Index, Record: string(p.Record), Hashes: []string{}, Checkpoint: string(p.Checkpoint)}
	for _, hash := range p.Hashes {
		out.Hashes = append(out.Hashes, hash.String())
	}
	return out
}

func wireFile(f meta.File) wire.File {
	return wire.File{Path: f.Path, Size: f.Size, SHA256: f.SHA256, Executable: f.Executable}
}

func wirePolicy(p meta.Policy) wire.Policy {
	out := wire.Policy{AcceptAny: p.AcceptAny, ManualApproval: p.ManualApproval, RequireSignature: p.RequireSignature, KeepDrafts: p.KeepDrafts, SecondPerson: p.SecondPerson, NearNames: p.NearNames, Managed: p.Managed}
	for _, s := range p.Signers {
		out.Signers = append(out.Signers, wireSigner(s))
	}
	return out
}

func wireSigner(s meta.Signer) wire.Signer {
	return wire.Signer{Key: s.Key, Issuer: s.Issuer, Identity: s.Identity}
}

func wireGrant(g meta.Grant) wire.Grant {
	return wire.Grant{Account: g.Account, Namespace: g.Namespace, Role: g.Role, Created: g.Created.UTC()}
}

func wireToken(t meta.Token) wire.Token {
	return wire.Token{ID: t.ID, Account: t.Account, Namespace: t.Namespace, Role: t.Role, Created: t.Created.UTC(), Expires: t.Expires, Revoked: t.Revoked, LastUsed: t.LastUsed}
}

func wireEvent(e meta.Event) wire.Event {
	out := wire.Event{ID: e.ID, At: e.At.UTC(), Account: e.Account, Token: e.Token, Remote: e.Remote, Action: e.Action, Target: e.Target}
	if json.Valid([]byte(e.Detail)) {
		out.Detail = json.RawMessage(e.Detail)
	}
	return out
}
