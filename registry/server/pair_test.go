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
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// certificate writes a certificate of that serial number and its key below dir, under new names that replace the old.
func certificate(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
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
