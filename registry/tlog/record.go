package tlog

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// MaxRecord is the longest record, in bytes; tlog-tiles could hold 65,535.
const MaxRecord = 16 << 10

// An Action is what was done.
type Action string

const (
	Publish     Action = "publish"
	Approve     Action = "approve"
	Quarantine  Action = "quarantine"
	Reject      Action = "reject"
	Deprecate   Action = "deprecate"
	Undeprecate Action = "undeprecate"
	Yank        Action = "yank"
	Unyank      Action = "unyank"
	Block       Action = "block"
	Unblock     Action = "unblock"
	Rotate      Action = "rotate" // a signer or key was replaced
	Loosen      Action = "loosen" // a rule that protects a namespace was taken away
	Grant       Action = "grant"  // who may publish changed
	Delete      Action = "delete"
	Advise      Action = "advisory" // a warning about releases
	Unadvise    Action = "advisory-withdraw"
)

// A Record is one entry of the log: who did what to which release. Fields that do not
// apply are empty. Its text form is one line of JSON with the keys in this order. Publisher, Approver and Accepted came later: entries from
// before are without them, and read as they always did.
type Record struct {
	V         int    `json:"v"` // 1
	Action    Action `json:"action"`
	Name      string `json:"name"`                // "namespace/skill", or a namespace alone
	Version   string `json:"version,omitempty"`   // semantic version
	Manifest  string `json:"manifest,omitempty"`  // digest of the OCI manifest
	Tree      string `json:"tree,omitempty"`      // tree digest of the files
	Artifact  string `json:"artifact,omitempty"`  // digest of the archive
	By        string `json:"by,omitempty"`        // the account that did it
	Publisher string `json:"publisher,omitempty"` // the account that published the release, where it is not By
	Approver  string `json:"approver,omitempty"`  // the account that approved it, in a publish that waited for that
	Signer    string `json:"signer,omitempty"`    // who signed the release: identity or key
	Reason    string `json:"reason,omitempty"`    // for people
	Accepted  string `json:"accepted,omitempty"`  // findings of an audit that an approval lets through: rules and places
	At        string `json:"at"`                  // RFC 3339, UTC, whole seconds
}

// At is the text form of t in a Record.
func At(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Format is the canonical text. V may be 0, which means 1. Its error has the code log_record.
func (r Record) Format() ([]byte, error) {
	if r.V == 0 {
		r.V = 1
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(text) > MaxRecord {
		return nil, badRecord("it is longer than %d bytes", MaxRecord)
	}
	return text, nil
}

// ParseRecord parses a record. What it accepts, Format gives back byte for byte. Its error
// has the code log_record.
func ParseRecord(text []byte) (Record, error) {
	if len(text) > MaxRecord {
		return Record{}, badRecord("it is longer than %d bytes", MaxRecord)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, badRecord("it is not JSON: %w", err)
	}
	if r.V != 1 {
		return Record{}, badRecord("its version is %d, and 1 is known", r.V)
	}
	again, err := r.Format()
	if err != nil {
		return Record{}, err
	}
	if !bytes.Equal(again, text) {
		return Record{}, badRecord("it is not in canonical form")
	}
	return r, nil
}

func (r Record) check() error {
	for _, field := range []string{string(r.Action), r.Name, r.Version, r.Manifest, r.Tree, r.Artifact, r.By, r.Publisher, r.Approver, r.Signer, r.Reason, r.Accepted, r.At} {
		if !utf8.ValidString(field) {
			return badRecord("a field is not UTF-8")
		}
	}
	if r.V != 1 {
		return badRecord("its version is %d, and 1 is known", r.V)
	}
	if r.Action == "" || len(r.Action) > 32 || strings.Trim(string(r.Action), "abcdefghijklmnopqrstuvwxyz-") != "" {
		return badRecord("action %.40q is not a word", r.Action)
	}
	if r.Name == "" {
		return badRecord("it has no name")
	}
	if at, err := time.Parse(time.RFC3339, r.At); err != nil || At(at) != r.At {
		return badRecord("time %.40q is not in UTC and whole seconds", r.At)
	}
	return nil
}

//go:noinline
func badRecord(format string, args ...any) error {
	return diag.New(diag.Refused, "log_record", "a record of the log is malformed: "+format, args...)
}
