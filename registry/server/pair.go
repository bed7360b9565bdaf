package server

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"
)

// lookEvery is how often the files of the certificate are looked at.
const lookEvery = 2 * time.Second

// A pair is a certificate and its key, which may be replaced while a server runs.
type pair struct {
	certFile, keyFile string

	mu     sync.Mutex // guards what follows
	loaded *tls.Certificate
	seen   [2]stamp // the files that were looked at last, whether they could be loaded or not
}

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

// load reads the files. After an error the certificate from before stays.
func (p *pair) load() error {
	seen := [2]stamp{stampOf(p.certFile), stampOf(p.keyFile)}
	cert, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = seen
	if err == nil {
		p.loaded = &cert
	}
	return err
}

// changed reports whether a file is another one than load saw.
func (p *pair) changed() bool {
	p.mu.Lock()
	seen := p.seen
	p.mu.Unlock()
	return !seen[0].same(stampOf(p.certFile)) || !seen[1].same(stampOf(p.keyFile))
}

// loadPair reads the certificate of the configuration once.
func (s *Server) loadPair() error {
	if s.cfg.TLS.Cert == "" || s.pair != nil {
		return nil
	}
	p := &pair{certFile: s.cfg.TLS.Cert, keyFile: s.cfg.TLS.Key}
	if err := p.load(); err != nil {
		return err
	}
	s.pair = p
	return nil
}

// Reload reads the certificate and its key anew, while Serve runs. If they cannot be used, the ones from before are, and the log says so.
func (s *Server) Reload() error {
	if s.pair == nil {
		return nil
	}
	if err := s.pair.load(); err != nil {
		s.logger.Error("the new certificate cannot be used; the one from before is kept", "cert", s.cfg.TLS.Cert, "key", s.cfg.TLS.Key, "error", err)
		return err
	}
	cert, err := s.pair.get(nil)
	if err == nil {
		s.logger.Info("loaded the certificate", "cert", s.cfg.TLS.Cert, "until", cert.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return err
}
