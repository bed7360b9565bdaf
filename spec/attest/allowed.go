package attest

import (
	"bytes"
	"encoding/base64"
	"path"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/skl-project/skl/spec/diag"
)

const maxAllowedSigners = 1 << 20

// An AllowedSigner is one line of an allowed-signers file (ssh-keygen, ALLOWED SIGNERS): a key that may sign, and for whom.
type AllowedSigner struct {
	Principals  string    // as the file has them: "alice@example.com,bob@example.com"
	Namespaces  []string  // patterns of what it may sign for; nil means all
	After       time.Time // before it the key counts not yet; zero: always
	Before      time.Time // from it on the key counts no more; zero: always
	Authority   bool      // the key certifies others and signs nothing itself; certificates are not read
	Fingerprint string    // "SHA256:…", as ssh-keygen -l shows it
	key         []byte    // in SSH's wire form
}

// ParseAllowedSigners reads an allowed-signers file of at most 1 MiB. A line that is not understood as a whole is
// an error, and so is an option that is not known: it could narrow what the key may do.
// A time without the Z of UTC is of a zone that is not known, so it is taken as late for
// valid-after, and as early for valid-before, as it can be anywhere. Errors have the code invalid_signers.
func ParseAllowedSigners(text []byte) ([]AllowedSigner, error) {
	if len(text) > maxAllowedSigners {
		return nil, diag.New(diag.Failed, codeSigners, "a file of allowed signers of %d bytes is too large", len(text))
	}
	var out []AllowedSigner
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s, why := parseAllowed(line)
		if why != "" {
			return nil, diag.New(diag.Failed, codeSigners, "line %d of the allowed signers %s", n, why)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, diag.New(diag.Failed, codeSigners, "the file of allowed signers names nobody")
	}
	return out, nil
}

const codeSigners = "invalid_signers"

// parseAllowed reads a line, PRINCIPALS [OPTIONS] TYPE KEY [COMMENT]; why is what is wrong with it.
func parseAllowed(line string) (s AllowedSigner, why string) {
	var ok bool
	if s.Principals, line, ok = allowedWord(line); !ok || s.Principals == "" || diag.Printable(s.Principals) != s.Principals {
		return s, "names no principal that can be read"
	}
	word, rest, ok := allowedWord(line)
	if ok && !sshKeyType(word) {
		if why := s.options(word); why != "" {
			return s, why
		}
		word, rest, ok = allowedWord(rest)
	}
	encoded, _, found := allowedWord(rest)
	if !ok || !found || !sshKeyType(word) {
		return s, "has no key of a known type"
	}
	blob, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return s, "has a key that is not base64"
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil || key.Type() != word || !bytes.Equal(key.Marshal(), blob) {
		return s, "has a key that is damaged, or of another type than it says"
	}
	s.key, s.Fingerprint = blob, ssh.FingerprintSHA256(key)
	return s, ""
}

func sshKeyType(word string) bool {
	switch word {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256, ssh.KeyAlgoRSA:
		return true
	}
	return false
}

// allowedWord splits the first word off a line; spaces between quotes belong to it, and the quotes do not.
func allowedWord(line string) (word, rest string, ok bool) {
	line = strings.TrimLeft(line, " \t")
	var b strings.Builder
	quoted := false
	i := 0
	for ; i < len(line) && (quoted || line[i] != ' ' && line[i] != '\t'); i++ {
		if line[i] == '"' {
			quoted = !quoted
		}
		b.WriteByte(line[i])
	}
	if i == 0 || quoted {
		return "", "", false
	}
	word = b.String()
	if len(word) > 1 && word[0] == '"' && strings.IndexByte(word[1:], '"') == len(word)-2 {
		word = word[1 : len(word)-1]
	}
	return word, line[i:], true
}

// options reads the options of a line, separated by commas outside quotes. Each may stand once.
func (s *AllowedSigner) options(text string) (why string) {
	seen := map[string]bool{}
	for text != "" {
		end, quoted := 0, false
		for ; end < len(text) && (quoted || text[end] != ','); end++ {
			quoted = quoted != (text[end] == '"')
		}
		option := text[:end]
		if text = text[end:]; text != "" {
			if text = text[1:]; text == "" {
				return "ends its options with a comma"
			}
		}
		name, value, valued := strings.Cut(option, "=")
		name = strings.ToLower(name)
		if seen[name] {
			return "has the option " + diag.Printable(name) + " twice"
		}
		seen[name] = true
		if valued && len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		if strings.Contains(value, `"`) || valued && value == "" {
			return "has a value of " + diag.Printable(name) + " that cannot be read"
		}
		var err error
		switch {
		case name == "cert-authority" && !valued:
			s.Authority = true
		case name == "namespaces" && valued:
			for _, p := range strings.Split(value, ",") {
				if p == "" || strings.ContainsAny(p, `[]\`) {
					return "has a namespace that cannot be read"
				}
				s.Namespaces = append(s.Namespaces, p)
			}
		case name == "valid-after" && valued:
			s.After, err = allowedTime(value, 12*time.Hour)
		case name == "valid-before" && valued:
			s.Before, err = allowedTime(value, -14*time.Hour)
		default:
			return "has an option that is not known: " + diag.Printable(option)
		}
		if err != nil {
			return "has a time that is not YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, each with Z for UTC"
		}
	}
	if !s.After.IsZero() && !s.Before.IsZero() && !s.After.Before(s.Before) {
		return "is valid at no time"
	}
	return ""
}

// allowedTime reads a time; one without Z is moved by shift.
func allowedTime(text string, shift time.Duration) (time.Time, error) {
	text, utc := strings.CutSuffix(text, "Z")
	layout := "20060102150405"
	if len(text) == 8 || len(text) == 12 {
		layout = layout[:len(text)]
	}
	t, err := time.Parse(layout, text)
	if err == nil && !utc {
		t = t.Add(shift)
	}
	return t, err
}

// refuses says why s does not let key sign for namespace at a time; nil if it does.
func (s *AllowedSigner) refuses(namespace string, at time.Time) *refusal {
	switch {
	case s.Authority:
		return refuse(WrongKey, "its key %s is listed as an authority of certificates only", s.Fingerprint)
	case !matchList(s.Namespaces, namespace):
		return refuse(WrongPredicate, "its key %s may not sign for %s", s.Fingerprint, namespace)
	case (!s.After.IsZero() || !s.Before.IsZero()) && at.IsZero():
		return refuse(NoTimestamp, "it says no time at which its key %s could have been valid", s.Fingerprint)
	case !s.After.IsZero() && at.Before(s.After):
		return refuse(Expired, "it was signed at %s, its key %s is valid from %s", stamp(at), s.Fingerprint, stamp(s.After))
	case !s.Before.IsZero() && !at.Before(s.Before):
		return refuse(Expired, "it was signed at %s, its key %s was valid until %s", stamp(at), s.Fingerprint, stamp(s.Before))
	}
	return nil
}

// matchList follows OpenSSH's match_pattern_list: one pattern has to match, and none with "!" before it may. Nil means all.
func matchList(patterns []string, name string) bool {
	if patterns == nil {
		return true
	}
	matched := false
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		if ok, err := path.Match(strings.ReplaceAll(p, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00")); err == nil && ok {
			if negated {
				return false
			}
			matched = true
		}
	}
	return matched
}
