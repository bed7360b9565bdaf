package tlog

import (
	"context"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/skl-project/skl/spec/diag"
)

// A Proof shows that a record is in a log. It needs nothing else to be verified, so it can be
// kept in a lock and checked without a network.
type Proof struct {
	Key        string // verifier key of the log, "name+hash+data"
	Index      int64  // of the record
	Record     []byte // canonical text
	Hashes     []Hash // the path from the record to the root
	Checkpoint []byte // the signed note
}

// A Release is what a proof is expected to be about. Name and Version are needed, and one of the
// digests; an empty digest is not compared.
type Release struct {
	Name, Version  string // "namespace/skill", "1.4.2"
	Manifest, Tree string // digest of the OCI manifest, tree digest
}

// NewProof proves record index of the log that checkpoint, signed by the key public, describes.
func NewProof(ctx context.Context, r Reader, public string, checkpoint []byte, index int64) (Proof, error) {
	c, err := OpenCheckpoint(checkpoint, public)
	if err != nil {
		return Proof{}, err
	}
	path, err := Inclusion(ctx, r, index, c.Size)
	if err != nil {
		return Proof{}, err
	}
	records, err := r.Records(ctx, index, 1)
	if err != nil {
		return Proof{}, err
	}
	if len(records) != 1 {
		return Proof{}, diag.New(diag.Failed, "log_storage", "record %d of the log cannot be read", index)
	}
	return Proof{Key: public, Index: index, Record: records[0], Hashes: path, Checkpoint: checkpoint}, nil
}

// Verify checks signature, path and record, and that the record is the publication or approval of the release expect.
// Whether Key is the right one is for the caller, or a Follower, to say.
// Errors: log_signature, log_checkpoint, log_record, log_proof.
func (p Proof) Verify(expect Release) error {
	_, err := p.verify(expect)
	return err
}

func (p Proof) verify(expect Release) (Checkpoint, error) {
	c, err := OpenCheckpoint(p.Checkpoint, p.Key)
	if err != nil {
		return Checkpoint{}, err
	}
	if p.Index < 0 || p.Index >= c.Size || len(p.Hashes) > 64 {
		return Checkpoint{}, diag.New(diag.Refused, "log_proof", "entry %d is not among the %d of the log %s", p.Index, c.Size, c.Origin)
	}
	if err := tlog.CheckRecord(p.Hashes, c.Size, c.Root, p.Index, tlog.RecordHash(p.Record)); err != nil {
		return Checkpoint{}, diag.New(diag.Refused, "log_proof", "the log %s does not hold this entry %d: %w", c.Origin, p.Index, err)
	}
	r, err := ParseRecord(p.Record)
	if err != nil {
		return Checkpoint{}, err
	}
	if r.Action != Publish && r.Action != Approve {
		return Checkpoint{}, diag.New(diag.Refused, "log_proof", "entry %d of the log %s is about %s %s, not its publication", p.Index, c.Origin, r.Action, diag.Printable(r.Name))
	}
	if r.Name != expect.Name || r.Version != expect.Version {
		return Checkpoint{}, diag.New(diag.Refused, "log_proof", "entry %d of the log %s is of %s@%s, not of %s@%s",
			p.Index, c.Origin, diag.Printable(r.Name), diag.Printable(r.Version), diag.Printable(expect.Name), diag.Printable(expect.Version))
	}
	compared := 0
	for _, pair := range [][2]string{{expect.Manifest, r.Manifest}, {expect.Tree, r.Tree}} {
		if pair[0] == "" {
			continue
		}
		compared++
		if pair[0] != pair[1] {
			return Checkpoint{}, diag.New(diag.Refused, "log_proof", "the log %s has %s@%s with %s, not with %s",
				c.Origin, r.Name, r.Version, diag.Printable(pair[1]), diag.Printable(pair[0]))
		}
	}
	if compared == 0 {
		return Checkpoint{}, diag.New(diag.Refused, "log_proof", "entry %d of the log %s cannot be compared: no digest of %s is known", p.Index, c.Origin, expect.Name)
	}
	return c, nil
}

// Encoded is a Proof as text, one field for each of a lock's [skill.log] table.
type Encoded struct {
	Origin     string   `json:"origin"` // the verifier key
	Index      int64    `json:"index"`
	Proof      []string `json:"proof"` // hashes in base64
	Entry      string   `json:"entry"`
	Checkpoint string   `json:"checkpoint"`
}

// Encode is p as text.
func (p Proof) Encode() Encoded {
	e := Encoded{Origin: p.Key, Index: p.Index, Entry: string(p.Record), Checkpoint: string(p.Checkpoint), Proof: []string{}}
	for _, h := range p.Hashes {
		e.Proof = append(e.Proof, h.String())
	}
	return e
}

// Decode parses e. It checks forms and sizes only; for every e it accepts, Encode gives back the same. Error: log_proof.
func Decode(e Encoded) (Proof, error) {
	if _, err := ParsePublic(e.Origin); err != nil {
		return Proof{}, err
	}
	if e.Index < 0 || len(e.Proof) > 64 || len(e.Entry) > MaxRecord || len(e.Checkpoint) > MaxCheckpoint {
		return Proof{}, diag.New(diag.Refused, "log_proof", "the proof of the log entry is malformed: a part of it is too large")
	}
	p := Proof{Key: e.Origin, Index: e.Index, Record: []byte(e.Entry), Checkpoint: []byte(e.Checkpoint)}
	for _, text := range e.Proof {
		h, err := tlog.ParseHash(text)
		if err != nil || h.String() != text {
			return Proof{}, diag.New(diag.Refused, "log_proof", "the proof of the log entry is malformed: %.60q is not a hash", text)
		}
		p.Hashes = append(p.Hashes, h)
	}
	return p, nil
}

// Equal reports whether p and q are the same proof.
func (p Proof) Equal(q Proof) bool {
	return p.Key == q.Key && p.Index == q.Index && slices.Equal(p.Hashes, q.Hashes) &&
		string(p.Record) == string(q.Record) && string(p.Checkpoint) == string(q.Checkpoint)
}
