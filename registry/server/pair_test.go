package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// certificate writes a certificate of that serial number and its key below dir, under new names that replace the old.
func certificate(t *testing.T, dir string, serial int64) {
	t.Helper()
	certificateOf(t, dir, serial, time.Now().Add(-time.Hour), time.Now().Add(48*time.Hour))
}

// certificateOf writes one that is valid from one time to another.
func certificateOf(t *testing.T, dir string, serial int64, from, until time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: from, NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"tls.key": {Type: "PRIVATE KEY", Bytes: secret}, "tls.crt": {Type: "CERTIFICATE", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(dir, name+".new"), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// A certificate that is replaced is served without a restart, after a call of Reload at once. One that cannot be used
// changes nothing but the log, and a good one after it is taken.
func TestCertificateReloads(t *testing.T) {
	long.Slow(t)
	dir := t.TempDir()
	certificate(t, dir, 1)
	var log lines
	cfg := Config{Data: filepath.Join(dir, "data"), Addr: "127.0.0.1:0"}
	cfg.TLS.Cert, cfg.TLS.Key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	s, err := Open(t.Context(), cfg, WithLogger(slog.New(slog.NewJSONHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		<-done
	}()
	serial := func() int64 {
		t.Helper()
		c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	becomes := func(want int64) {
		t.Helper()
		for end := time.Now().Add(5 * lookEvery); serial() != want; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("certificate %d is served, want %d", serial(), want)
			}
		}
	}
	said := func(text string) int {
		log.mu.Lock()
		defer log.mu.Unlock()
		return bytes.Count(log.b.Bytes(), []byte(text))
	}
	becomes(1)
	certificate(t, dir, 2)
	becomes(2)
	certificate(t, dir, 3)
	if err := s.Reload(); err != nil || serial() != 3 {
		t.Errorf("after Reload: %v, %d", err, serial())
	}
	if err := os.WriteFile(cfg.TLS.Cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * lookEvery); said("cannot be used") == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the log does not say that the certificate cannot be used")
		}
	}
	if err := s.Reload(); err == nil || serial() != 3 {
		t.Errorf("with a broken certificate: %v, %d", err, serial())
	}
	certificate(t, dir, 4)
	becomes(4)
	if n := said("cannot be used"); n > 4 {
		t.Errorf("the log says %d times that a certificate cannot be used", n)
	}
}

// pairSite is a server that has loaded certificate 1, and does not look at its files by itself.
type pairSite struct {
	*Server
	t   *testing.T
	dir string
	log lines
	now time.Time
}

func newPairSite(t *testing.T, from, until time.Duration) *pairSite {
	dir := t.TempDir()
	p := &pairSite{t: t, dir: dir, now: time.Now().Truncate(time.Second)}
	p.replace(1, from, until)
	cfg := Config{Data: filepath.Join(dir, "data"), Addr: "127.0.0.1:0"}
	cfg.TLS.Cert, cfg.TLS.Key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	var err error
	if p.Server, err = Open(t.Context(), cfg, WithLogger(slog.New(slog.NewJSONHandler(&p.log, nil)))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	p.pair.now = func() time.Time { return p.now }
	l, err := p.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return p
}

// replace writes a certificate that is valid from one time from now to another.
func (p *pairSite) replace(serial int64, from, until time.Duration) {
	p.t.Helper()
	certificateOf(p.t, p.dir, serial, p.now.Add(from), p.now.Add(until))
}

// wants looks once, and wants the certificate of that number in use, and these words in the log since the last call.
func (p *pairSite) wants(serial int64, words ...string) {
	p.t.Helper()
	p.lookAtPair()
	if got := p.pair.current().Leaf.SerialNumber.Int64(); got != serial {
		p.t.Errorf("certificate %d is in use, want %d", got, serial)
	}
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	text := p.log.b.String()
	p.log.b.Reset()
	for _, word := range words {
		if !strings.Contains(text, word) {
			p.t.Errorf("the log does not say %q: %s", word, text)
		}
	}
	if len(words) == 0 && text != "" {
		p.t.Errorf("the log says %s", text)
	}
}

const day = 24 * time.Hour

// A key that cannot be read is tried again, also when nothing of it changes that a stat would show, and the log says the error once.
func TestCertificateIsTriedAgain(t *testing.T) {
	p := newPairSite(t, -day, 90*day)
	p.wants(1, `"INFO"`, "loaded the certificate")
	p.wants(1)
	p.replace(2, -day, 90*day)
	if err := os.Chmod(p.cfg.TLS.Key, 0); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(p.cfg.TLS.Key); err == nil {
		f.Close()
		t.Skip("skipped: this user, or system, reads a file of mode 0")
	}
	p.wants(1, `"ERROR"`, "cannot be used", "permission denied")
	p.wants(1)
	p.wants(1)
	if err := p.Reload(); err == nil {
		t.Error("Reload loads a key that cannot be read")
	}
	p.wants(1, `"ERROR"`) // of Reload, which somebody asked for
	if err := os.Chmod(p.cfg.TLS.Key, 0o600); err != nil {
		t.Fatal(err)
	}
	p.wants(2, "loaded the certificate")
	p.wants(2)
}

// A failed try is made again without any change of the files.
func TestCertificateIsTriedAgainUnchanged(t *testing.T) {
	p := newPairSite(t, -day, 90*day)
	p.replace(2, -day, 90*day)
	p.wants(2, "loaded the certificate")
	p.pair.failed = "permission denied"
	p.replace(3, -day, 90*day)
	p.pair.seen = [2]stamp{stampOf(p.cfg.TLS.Cert), stampOf(p.cfg.TLS.Key)} // as a try saw them that failed
	p.wants(3, "loaded the certificate")
}

// A certificate that has expired, or is not valid yet, does not take the place of a valid one; the second is taken when its time comes.
func TestCertificateKeepsTheValidOne(t *testing.T) {
	p := newPairSite(t, -day, 90*day)
	p.wants(1, "loaded the certificate")
	p.replace(2, -2*day, -day)
	p.wants(1, `"ERROR"`, "tls.crt has expired: it is valid from "+date(p.now.Add(-2*day))+" to "+date(p.now.Add(-day)))
	p.wants(1)
	if err := p.Reload(); err == nil {
		t.Error("Reload loads an expired certificate")
	}
	p.wants(1, `"ERROR"`)
	p.replace(3, day, 90*day)
	p.wants(1, `"ERROR"`, "tls.crt is not valid yet: it is valid from "+date(p.now.Add(day)))
	p.now = p.now.Add(day)
	p.wants(3, `"INFO"`, "loaded the certificate")
	p.wants(3)
}

// With nothing valid in use, a certificate that is not valid is served, with a warning; so is one that ends soon, once.
func TestCertificateWarns(t *testing.T) {
	for _, c := range []struct {
		from, until time.Duration
		want        string
	}{{-2 * day, -day, "has expired"}, {day, 90 * day, "is not valid yet"}, {-day, day / 2, "ends within 24 hours"}} {
		p := newPairSite(t, c.from, c.until)
		p.wants(1, `"WARN"`, "loaded the certificate, which "+c.want, date(p.now.Add(c.until)))
		p.wants(1)
	}
	p := newPairSite(t, -2*day, -day)
	p.wants(1, "has expired")
	p.replace(2, -3*day, -2*day)
	p.wants(2, `"WARN"`, "has expired")
	p.replace(3, -day, 2*day)
	p.wants(3, `"INFO"`)
	p.now = p.now.Add(day + time.Hour)
	p.wants(3, `"WARN"`, "the certificate in use ends within 24 hours")
	p.wants(3)
	p.now = p.now.Add(day)
	p.wants(3, `"WARN"`, "the certificate in use has expired")
	p.wants(3)
}
