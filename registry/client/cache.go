package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// maxCached is the size of the largest record that is kept, in bytes.
const maxCached = 1 << 20

// A record is an answer that was kept. Its file is the ETag, a line feed, the SHA-256 of
// what follows in hex, a line feed, and the body.
type record struct {
	ETag string
	body []byte
}

// cacheFile is where the answer of address is kept. Other people's records are not distinguished:
// an ETag alone gets nothing out of the registry that the caller may not read.
func (c *Client) cacheFile(address string) string {
	sum := sha256.Sum256([]byte(address))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(c.Cache, name[:2], name[2:])
}

// recall reads what was kept of address. What is damaged counts as absent.
func (c *Client) recall(address string) record {
	if c.Cache == "" {
		return record{}
	}
	text, err := os.ReadFile(c.cacheFile(address))
	if err != nil {
		return record{}
	}
	etag, rest, ok := bytes.Cut(text, []byte("\n"))
	sum, body, ok2 := bytes.Cut(rest, []byte("\n"))
	if !ok || !ok2 || len(etag) == 0 || string(sum) != hexSum(body) {
		return record{}
	}
	return record{string(etag), body}
}

// remember keeps an answer. That it cannot is no error: the next time it is asked for again.
func (c *Client) remember(address, etag string, body []byte) {
	if c.Cache == "" || etag == "" || len(etag) > 256 || len(body) > maxCached {
		return
	}
	for i := range len(etag) {
		if etag[i] < ' ' || etag[i] > '~' {
			return
		}
	}
	path := c.cacheFile(address)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-") // mode 0600: records may be of private namespaces
	if err != nil {
		return
	}
	_, err = f.Write(append([]byte(etag+"\n"+hexSum(body)+"\n"), body...))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
