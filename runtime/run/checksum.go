package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// A chain is the running checksum of a journal: each line's is over the line and over the checksum before it.
type chain struct {
	on  bool // since version 2 of the format
	sum [sumSize]byte
}

const (
	sumSize = 8 // bytes of SHA-256
	sumKey  = `,"sum":"`
	sumTail = len(sumKey) + 2*sumSize + len("\"}\n")
)

// seal returns line, an object that is not empty and its line end, with its checksum as the last member.
func (c *chain) seal(line []byte) []byte {
	if !c.on {
		return line
	}
	body := line[:len(line)-len("}\n")]
	c.add(body)
	out := make([]byte, 0, len(body)+sumTail)
	out = append(append(out, body...), sumKey...)
	out = hex.AppendEncode(out, c.sum[:])
	return append(out, "\"}\n"...)
}

// check reports whether line ends with its checksum.
func (c *chain) check(line []byte) bool {
	if !c.on {
		return true
	}
	at := len(line) - sumTail
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(sumKey)) || !bytes.HasSuffix(line, []byte("\"}\n")) {
		return false
	}
	c.add(line[:at])
	return string(hex.AppendEncode(nil, c.sum[:])) == string(line[at+len(sumKey):len(line)-len("\"}\n")])
}

func (c *chain) add(body []byte) {
	h := sha256.New()
	h.Write(c.sum[:])
	h.Write(body)
	copy(c.sum[:], h.Sum(nil))
}
