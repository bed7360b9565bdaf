package git

import (
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/spec/diag"
)

// readRefsV0 reads the refs of protocol 0 (gitprotocol-pack): "ID NAME", the first line
// followed by NUL and the capabilities, tags followed by what they are tags of.
func (w *wire) readRefsV0(p *pktReader, line string, kind pktKind) error {
	line, capabilities, _ := strings.Cut(line, "\x00")
	w.fetch = capabilities
	symref := ""
	for _, c := range strings.Fields(capabilities) {
		key, value, _ := strings.Cut(c, "=")
		switch {
		case key == "object-format" && value != "sha1":
			return objectFormatError(w.url, value)
		case key == "symref":
			if from, to, _ := strings.Cut(value, ":"); from == "HEAD" {
				symref = to
			}
		}
	}
	var refs []advert
	for kind == pktData {
		id, name, _ := strings.Cut(line, " ")
		peeled := strings.HasSuffix(name, "^{}")
		switch last := len(refs) - 1; {
		case !plumbing.IsHash(id):
			return fmt.Errorf("%w: %q is not a ref", errPkt, diag.Printable(line))
		case peeled && last >= 0 && refs[last].name == strings.TrimSuffix(name, "^{}"):
			refs[last].tag, refs[last].id = refs[last].id, plumbing.NewHash(id)
		case wanted(name):
			refs = append(refs, advert{name: name, id: plumbing.NewHash(id)})
		}
		var err error
		if line, kind, err = p.text(); err != nil {
			return err
		}
	}
	if len(refs) > 0 && refs[0].name == "HEAD" {
		refs[0].symref = symref
	}
	w.known = refs
	return nil
}

func fetchV0(wants []plumbing.Hash, bare bool) []byte {
	body := make([]byte, 0, 256+50*len(wants))
	capabilities := " side-band-64k ofs-delta no-progress"
	if bare {
		capabilities += " shallow filter"
	}
	for _, id := range wants {
		body = appendPkt(body, "want %s%s", id, capabilities)
		capabilities = ""
	}
	if bare {
		body = appendPkt(body, "deepen 1")
		body = appendPkt(body, "filter blob:none")
	}
	body = append(body, "0000"...)
	return appendPkt(body, "done")
}

// skipToPackV0 reads the shallow lines, which only a deepening request gets, and "NAK".
func skipToPackV0(p *pktReader, bare bool) error {
	for bare {
		_, kind, err := p.next()
		if err != nil {
			return err
		}
		bare = kind == pktData
	}
	line, _, err := p.text()
	if err == nil && line != "NAK" {
		err = fmt.Errorf("%w: %q in place of NAK", errPkt, diag.Printable(line))
	}
	return err
}
