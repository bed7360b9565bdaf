package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how often the files of the certificate are looked at.
const lookEvery = 2 * time.Second

// endsSoon is how long before its end a certificate is warned of.
const endsSoon = 24 * time.Hour

// A pair is a certificate and its key, which may be replaced while a server runs.
type pair struct {
	certFile, keyFile string
	now               func() time.Time

	mu     sync.Mutex // guards what follows
	loaded *tls.Certificate
	seen   [2]stamp // the files that were looked at last, whether they could be loaded or not
	failed string   // the error of the last try; "" if it succeeded
	said   standing // of loaded, as the log has it
}

// A standing says how long a certificate is good for, as a predicate of it.
type standing string

const (
	valid   standing = "is valid"
	ending  standing = "ends within 24 hours"
	expired standing = "has expired"
	early   standing = "is not valid yet"
)

func standingOf(leaf *x509.Certificate, now time.Time) standing {
	switch {
	case now.Before(leaf.NotBefore):
		return early
	case now.After(leaf.NotAfter):
		return expired
	case now.Add(endsSoon).After(leaf.NotAfter):
		return ending
	}
	return valid
}

// good reports whether clients accept a certificate of this standing.
func (s standing) good() bool { return s == valid || s == ending }

// A stamp tells one state of a file from another.
type stamp struct {
	size  int64
	time  time.Time
	inode fs.FileInfo
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{size: -1}
	}
	return stamp{info.Size(), info.ModTime(), info}
}

func (s stamp) same(other stamp) bool {
	if s.size != other.size || !s.time.Equal(other.time) {
		return false
	}
	return s.inode == nil && other.inode == nil || s.inode != nil && other.inode != nil && os.SameFile(s.inode, other.inode)
}

func (p *pair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded == nil {
		return nil, errors.New("there is no certificate")
	}
	return p.loaded, nil
}

// current is the certificate in use; nil before the first one is loaded.
func (p *pair) current() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loaded
}

// load reads the files. After an error the certificate from before stays. Again reports that the try before failed with the same error.
func (p *pair) load() (again bool, err error) {
	seen := [2]stamp{stampOf(p.certFile), stampOf(p.keyFile)}
	cert, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = seen
	if err == nil {
		err = p.worse(cert.Leaf)
	}
	if err != nil {
		again, p.failed = p.failed == err.Error(), err.Error()
		return again, err
	}
	p.loaded, p.failed = &cert, ""
	return false, nil
}

// worse refuses a certificate that clients would not accept now, while they accept the one in use. The caller holds p.mu.
func (p *pair) worse(leaf *x509.Certificate) error {
	now := p.now()
	next := standingOf(leaf, now)
	if next.good() || p.loaded == nil || !standingOf(p.loaded.Leaf, now).good() {
		return nil
	}
	return fmt.Errorf("the certificate in %s %s: it is valid from %s to %s", p.certFile, next, date(leaf.NotBefore), date(leaf.NotAfter))
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// stale reports whether the files have to be read: one is another one than load saw, or the last try failed. A key may become
// readable, and a certificate valid, without a change of its file that could be seen.
func (p *pair) stale() bool {
	p.mu.Lock()
	failed, seen := p.failed != "", p.seen
	p.mu.Unlock()
	return failed || !seen[0].same(stampOf(p.certFile)) || !seen[1].same(stampOf(p.keyFile))
}

// news is the certificate in use and its standing, if the log does not have it yet.
func (p *pair) news() (leaf *x509.Certificate, is standing, news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	is = standingOf(p.loaded.Leaf, p.now())
	news, p.said = is != p.said, is
	return p.loaded.Leaf, is, news
}

// loadPair reads the certificate of the configuration once. With nothing in use, also one that is not valid now is used.
func (s *Server) loadPair() error {
	if s.pair == nil || s.pair.current() != nil {
		return nil
	}
	if _, err := s.pair.load(); err != nil {
		return err
	}
	s.sayLoaded()
	return nil
}

// Reload reads the certificate and its key anew, while Serve runs. If they cannot be used, the ones from before are, and the log says so.
// A certificate that has expired or is not valid yet cannot be used while the one from before is valid.
func (s *Server) Reload() error {
	if s.pair == nil || s.pair.current() == nil {
		return nil
	}
	_, err := s.pair.load()
	if err != nil {
		s.sayRefused(err)
		return err
	}
	s.sayLoaded()
	return nil
}

// lookAtPair reads the files again if that may have another outcome than the last try had, and says when the certificate in
// use comes to its end. An error is logged once as long as it stays the same, for this is called every few seconds.
func (s *Server) lookAtPair() {
	if s.pair == nil {
		return
	}
	if s.pair.stale() {
		if again, err := s.pair.load(); err == nil {
			s.sayLoaded()
		} else if !again {
			s.sayRefused(err)
		}
	}
	if leaf, is, news := s.pair.news(); news {
		s.sayStanding("the certificate in use "+string(is), leaf, is)
	}
}

func (s *Server) sayRefused(err error) {
	s.logger.Error("the new certificate cannot be used; the one from before is kept", "cert", s.cfg.TLS.Cert, "key", s.cfg.TLS.Key, "error", err)
}

func (s *Server) sayLoaded() {
	leaf, is, _ := s.pair.news()
	text := "loaded the certificate"
	if is != valid {
		text += ", which " + string(is)
	}
	s.sayStanding(text, leaf, is)
}

func (s *Server) sayStanding(text string, leaf *x509.Certificate, is standing) {
	level := slog.LevelInfo
	if is != valid {
		level = slog.LevelWarn
	}
	s.logger.Log(context.Background(), level, text, "cert", s.cfg.TLS.Cert, "from", date(leaf.NotBefore), "until", date(leaf.NotAfter))
}
