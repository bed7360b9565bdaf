package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// Kinds of pkt-lines (git's protocol-common and protocol-v2).
type pktKind int

const (
	pktData  pktKind = iota
	pktFlush         // 0000
	pktDelim         // 0001
	pktEnd           // 0002
)

var errPkt = errors.New("malformed pkt-line")

// A serverError is what a git server says in an ERR line or on the error band.
type serverError string

func (e serverError) Error() string { return "the server says: " + diag.Printable(string(e)) }

// pktReader reads pkt-lines: four hex digits of length, themselves included, then data.
type pktReader struct {
	r   *bufio.Reader
	buf []byte
}

func newPktReader(r io.Reader) *pktReader {
	return &pktReader{r: bufio.NewReaderSize(r, 32<<10)}
}

// next returns the data of one line, valid until the next call. An ERR line is
// returned as a serverError.
func (p *pktReader) next() ([]byte, pktKind, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return nil, 0, err
	}
	n := 0
	for _, c := range head {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | int(c|0x20-'a'+10)
		default:
			return nil, 0, errPkt
		}
	}
	switch {
	case n < 3:
		return nil, pktKind(n + 1), nil
	case n == 3 || n > 65520:
		return nil, 0, errPkt
	}
	if p.buf == nil {
		p.buf = make([]byte, 65520)
	}
	line := p.buf[:n-4]
	if _, err := io.ReadFull(p.r, line); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, 0, err
	}
	if text, ok := strings.CutPrefix(string(line[:min(4, len(line))]), "ERR "); ok {
		return nil, 0, serverError(text + strings.TrimSpace(string(line[4:])))
	}
	return line, pktData, nil
}

// text is next for lines of text: without the newline.
func (p *pktReader) text() (string, pktKind, error) {
	line, kind, err := p.next()
	return strings.TrimSuffix(string(line), "\n"), kind, err
}

// bandReader reads band 1 of a multiplexed stream up to its flush; band 2 is
// progress for people and dropped, band 3 is the server's last word.
type bandReader struct {
	p    *pktReader
	rest []byte
	err  error
	seen func(n int) // called with the number of bytes of each piece
}

func (s *bandReader) Read(b []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		line, kind, err := s.p.next()
		switch {
		case err == io.EOF:
			s.err = io.ErrUnexpectedEOF
		case err != nil:
			s.err = err
		case kind != pktData:
			s.err = io.EOF
		case len(line) == 0 || line[0] == 0 || line[0] > 3:
			s.err = errPkt
		case line[0] == 1:
			s.rest = line[1:]
			s.seen(len(s.rest))
		case line[0] == 3:
			s.err = serverError(strings.TrimSpace(string(line[1:])))
		}
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func appendPkt(b []byte, format string, args ...any) []byte {
	line := fmt.Sprintf(format, args...)
	return fmt.Appendf(b, "%04x%s\n", len(line)+5, line)
}
