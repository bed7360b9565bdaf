package tlog

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"

	"github.com/skl-project/skl/spec/diag"
)

// MaxCheckpoint is the largest signed checkpoint that is read, in bytes.
const MaxCheckpoint = 64 << 10

// A Checkpoint is what the log signs.
//
//	registry.example/log
//	4711
//	CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//	time 2026-11-21T10:30:00Z
type Checkpoint struct {
	Origin string    // the name of the log, which is the name of its key
	Size   int64     // number of records
	Root   Hash      // of the tree of all of them
	Time   time.Time // of signing, UTC, whole seconds
	Extra  []string  // further extension lines
}

// statesWord begins the extension line with the digest of the releases that were taken back.
const statesWord = "states "

// StatesLine is the extension line for the text of wire.States with that SHA-256.
func StatesLine(sum [32]byte) string { return statesWord + "sha256:" + hex.EncodeToString(sum[:]) }

// States is the extension line of c that StatesLine made, "" if there is none.
func (c Checkpoint) States() string {
	for _, line := range c.Extra {
		if strings.HasPrefix(line, statesWord) {
			return line
		}
	}
	return ""
}

// Format is the text that is signed. What ParseCheckpoint would refuse is an error.
func (c Checkpoint) Format() (string, error) {
	lines := append([]string{
		c.Origin, strconv.FormatInt(c.Size, 10), c.Root.String(), "time " + c.Time.UTC().Format(time.RFC3339),
	}, c.Extra...)
	text := strings.Join(lines, "\n") + "\n"
	if _, err := ParseCheckpoint(text); err != nil {
		return "", err
	}
	return text, nil
}

// ParseCheckpoint parses the text of a checkpoint, without signatures. What it accepts, Format gives back
// byte for byte. Its error has the code log_checkpoint.
func ParseCheckpoint(text string) (Checkpoint, error) {
	refuse := func(what string) (Checkpoint, error) {
		return Checkpoint{}, diag.New(diag.Refused, "log_checkpoint", "the checkpoint of the log is malformed: %s", what)
	}
	body, ok := strings.CutSuffix(text, "\n")
	lines := strings.Split(body, "\n")
	if !ok || len(text) > MaxCheckpoint || len(lines) < 4 || slices.Contains(lines, "") || !clean(body) {
		return refuse("it needs four lines or more, none of them empty")
	}
	c := Checkpoint{Origin: lines[0], Extra: lines[4:]}
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
	if !validName(c.Origin) {
		return refuse("its origin is not a name of a key")
	}
	var err error
	if c.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.Size < 0 || c.Size > 1<<48 || strconv.FormatInt(c.Size, 10) != lines[1] {
		return refuse("its size is not a number of entries")
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != len(c.Root) {
		return refuse("its root is not a hash")
	}
	copy(c.Root[:], root)
	stamp, ok := strings.CutPrefix(lines[3], "time ")
	if c.Time, err = time.Parse(time.RFC3339, stamp); !ok || err != nil || c.Time.UTC().Format(time.RFC3339) != stamp {
		return refuse("its time is not in UTC and whole seconds")
	}
	c.Time = c.Time.UTC()
	return c, nil
}

// clean reports whether s can be part of a note: UTF-8 without control characters but newlines.
func clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' })
}

// validName reports whether s can name a key.
func validName(s string) bool {
	return s != "" && len(s) <= 256 && clean(s) && !strings.ContainsFunc(s, func(r rune) bool { return r == '+' || unicode.IsSpace(r) })
}

// A Key signs the checkpoints of one log. The zero Key signs nothing; keys come from NewKey and ParseKey.
type Key struct {
	signer note.Signer
	secret string
	public string
}

// NewKey makes a key for the log called origin, which is the registry's host and
// perhaps a path: "registry.example/log". It has no spaces and no "+".
func NewKey(origin string) (Key, error) {
	if !validName(origin) {
		return Key{}, diag.New(diag.Misuse, "log_origin", "%q cannot name a log: use the registry's host name", diag.Printable(origin))
	}
	secret, _, err := note.GenerateKey(nil, origin)
	if err != nil {
		return Key{}, err
	}
	return ParseKey(secret)
}

// ParseKey reads what Secret gave.
func ParseKey(secret string) (Key, error) {
	signer, err := note.NewSigner(strings.TrimSpace(secret))
	if err != nil {
		return Key{}, diag.New(diag.Failed, "log_key", "the signing key of the log cannot be read: %w", err)
	}
	public, err := publicOf(strings.TrimSpace(secret))
	if err != nil {
		return Key{}, diag.New(diag.Failed, "log_key", "the signing key of the log cannot be read: %w", err)
	}
	return Key{signer, strings.TrimSpace(secret), public}, nil
}

// Secret is the text form of the key: "PRIVATE+KEY+name+hash+data".
func (k Key) Secret() string { return k.secret }

// Public is the verifier key that clients pin: "name+hash+data".
func (k Key) Public() string { return k.public }

// Origin is the name of the log.
func (k Key) Origin() string { return k.signer.Name() }

// String hides the secret.
func (k Key) String() string { return k.public }

// Sign signs the log as it is now, at the time now, with further extension lines, and returns the signed checkpoint.
func (k Key) Sign(ctx context.Context, r Reader, now time.Time, extra ...string) ([]byte, error) {
	size, err := r.Size(ctx)
	if err != nil {
		return nil, err
	}
	root, err := Root(ctx, r, size)
	if err != nil {
		return nil, err
	}
	return k.SignCheckpoint(Checkpoint{Origin: k.Origin(), Size: size, Root: root, Time: now.UTC().Truncate(time.Second), Extra: extra})
}

// SignCheckpoint signs c, whatever it claims.
func (k Key) SignCheckpoint(c Checkpoint) ([]byte, error) {
	text, err := c.Format()
	if err != nil {
		return nil, err
	}
	return note.Sign(&note.Note{Text: text}, k.signer)
}

// OpenCheckpoint checks that the key public signed msg, and returns the checkpoint. Signatures of
// others, such as witnesses, are ignored.
func OpenCheckpoint(msg []byte, public string) (Checkpoint, error) {
	verifier, err := note.NewVerifier(public)
	if err != nil {
		return Checkpoint{}, diag.New(diag.Refused, "log_signature", "the key of the log cannot be read: %w", err)
	}
	if len(msg) > MaxCheckpoint {
		return Checkpoint{}, diag.New(diag.Refused, "log_checkpoint", "the checkpoint of the log %s is longer than %d bytes", verifier.Name(), MaxCheckpoint)
	}
	n, err := note.Open(msg, note.VerifierList(verifier))
	if err != nil {
		return Checkpoint{}, diag.New(diag.Refused, "log_signature", "the checkpoint of the log %s is not signed by its known key: %w", verifier.Name(), err)
	}
	c, err := ParseCheckpoint(n.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	if c.Origin != verifier.Name() {
		return Checkpoint{}, diag.New(diag.Refused, "log_signature", "the checkpoint is of the log %s, not of %s", diag.Printable(c.Origin), verifier.Name())
	}
	return c, nil
}

// ParsePublic checks a verifier key and returns the name of its log.
func ParsePublic(public string) (origin string, err error) {
	verifier, err := note.NewVerifier(public)
	if err != nil || !validName(verifier.Name()) || len(public) > 1024 {
		return "", diag.New(diag.Refused, "log_signature", "%.100q is not a key of a log", public)
	}
	return verifier.Name(), nil
}

// String is a line for people.
func (c Checkpoint) String() string {
	return fmt.Sprintf("%s: %d entries, root %s, signed %s", c.Origin, c.Size, c.Root, c.Time.Format(time.RFC3339))
}
