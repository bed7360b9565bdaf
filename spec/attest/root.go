package attest

import (
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

const (
	rootTypePrefix = "application/vnd.dev.sigstore.trustedroot"
	maxRoot        = 4 << 20
)

// A TrustedRoot says which authorities issue certificates, give times and keep
// logs. [ParseRoot] makes it; it never changes and may be used concurrently.
type TrustedRoot struct {
	issuers    []authority          // of signing certificates (Fulcio)
	timestamps []authority          // of times (RFC 3161)
	logs       map[string]publicLog // of signatures (Rekor), by raw key ID
	certLogs   map[string]publicLog // of certificates (RFC 6962), by raw key ID
}

// An authority is a chain of certificates and when it may be used.
type authority struct {
	leaf          *x509.Certificate // of a timestamp authority, may be nil
	intermediates []*x509.Certificate
	root          *x509.Certificate
	valid         period
}

// A publicLog is one transparency log.
type publicLog struct {
	host  string // of its URL: the origin of a Rekor v2 checkpoint
	key   crypto.PublicKey
	valid period
}

// A period is closed on both sides; a zero end is open.
type period struct{ start, end time.Time }

func (p period) holds(t time.Time) bool {
	return !t.Before(p.start) && (p.end.IsZero() || !t.After(p.end))
}

// ParseRoot reads a trusted_root.json of sigstore, at most 4 MiB. A root without
// an issuer, or with neither a log nor a timestamp authority, can verify nothing
// and is refused. Errors have the code bad_trusted_root.
func ParseRoot(text []byte) (*TrustedRoot, error) {
	var file rootFile
	if len(text) > maxRoot {
		return nil, rootError("it has %d bytes", len(text))
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, rootError("it is not JSON of the expected shape")
	}
	if !strings.HasPrefix(file.MediaType, rootTypePrefix) {
		return nil, rootError("its mediaType is %q", diag.Printable(file.MediaType))
	}
	r := &TrustedRoot{}
	var err error
	if r.issuers, err = authorities(file.Issuers, false); err != nil {
		return nil, err
	}
	if r.timestamps, err = authorities(file.Timestamps, true); err != nil {
		return nil, err
	}
	if r.logs, err = publicLogs(file.Logs); err != nil {
		return nil, err
	}
	if r.certLogs, err = publicLogs(file.CertLogs); err != nil {
		return nil, err
	}
	if len(r.issuers) == 0 {
		return nil, rootError("it names no certificate authority")
	}
	if len(r.logs)+len(r.timestamps) == 0 {
		return nil, rootError("it names neither a transparency log nor a timestamp authority")
	}
	return r, nil
}

func rootError(format string, args ...any) error {
	return diag.New(diag.Failed, "bad_trusted_root", "the trusted root cannot be used: "+format, args...)
}

// The JSON of a trusted root.
type (
	rootFile struct {
		MediaType  string          `json:"mediaType"`
		Logs       []rootLog       `json:"tlogs"`
		Issuers    []rootAuthority `json:"certificateAuthorities"`
		CertLogs   []rootLog       `json:"ctlogs"`
		Timestamps []rootAuthority `json:"timestampAuthorities"`
	}
	rootLog struct {
		BaseURL   string `json:"baseUrl"`
		Hash      string `json:"hashAlgorithm"`
		PublicKey struct {
			Raw      []byte     `json:"rawBytes"`
			Details  string     `json:"keyDetails"`
			ValidFor rootPeriod `json:"validFor"`
		} `json:"publicKey"`
		LogID keyID `json:"logId"`
	}
	rootAuthority struct {
		URI   string `json:"uri"`
		Chain struct {
			Certificates []rawBytes `json:"certificates"`
		} `json:"certChain"`
		ValidFor rootPeriod `json:"validFor"`
	}
	rootPeriod struct {
		Start *time.Time `json:"start"`
		End   *time.Time `json:"end"`
	}
)

func (p rootPeriod) period() period {
	var out period
	if p.Start != nil {
		out.start = *p.Start
	}
	if p.End != nil {
		out.end = *p.End
	}
	return out
}

// authorities parses chains, which are written leaf first and root last. The
// first certificate of a timestamp authority is its signer unless it is a CA.
func authorities(in []rootAuthority, timestamps bool) ([]authority, error) {
	var out []authority
	for _, a := range in {
		who := authority{valid: a.ValidFor.period()}
		for i, raw := range a.Chain.Certificates {
			c, err := x509.ParseCertificate(raw.Raw)
			if err != nil {
				return nil, rootError("a certificate of %q is damaged", diag.Printable(a.URI))
			}
			switch {
			case timestamps && i == 0 && !c.IsCA:
				who.leaf = c
			case i == len(a.Chain.Certificates)-1:
				who.root = c
			default:
				who.intermediates = append(who.intermediates, c)
			}
		}
		if who.root == nil {
			return nil, rootError("%q has no root certificate", diag.Printable(a.URI))
		}
		out = append(out, who)
	}
	return out, nil
}

func publicLogs(in []rootLog) (map[string]publicLog, error) {
	out := make(map[string]publicLog, len(in))
	for _, l := range in {
		where := diag.Printable(l.BaseURL)
		id := string(l.LogID.KeyID)
		if id == "" {
			return nil, rootError("the log %q has no key ID", where)
		}
		if _, twice := out[id]; twice {
			return nil, rootError("two logs have the key ID %s", hex.EncodeToString([]byte(id)))
		}
		if l.Hash != "SHA2_256" {
			return nil, rootError("the log %q hashes with %q", where, diag.Printable(l.Hash))
		}
		key, err := x509.ParsePKIXPublicKey(l.PublicKey.Raw)
		if err != nil {
			key, err = x509.ParsePKCS1PublicKey(l.PublicKey.Raw) // an older log of sigstore's staging instance
		}
		if err != nil || !acceptable(key) {
			return nil, rootError("the key of the log %q cannot be used", where)
		}
		if l.PublicKey.ValidFor.Start == nil {
			return nil, rootError("the log %q does not say from when its key is valid", where)
		}
		entry := publicLog{key: key, valid: l.PublicKey.ValidFor.period()}
		if u, err := url.Parse(l.BaseURL); err == nil {
			entry.host = u.Hostname()
		}
		out[id] = entry
	}
	return out, nil
}
