// Package packed keeps texts that the program carries, and few commands need, small: as gzip. A file beside each
// has the text as it is, for readers and reviews; the test that writes both holds them together.
package packed

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
)

// Text unpacks once, when it is first asked for. The text is the program's own: one that is damaged is a
// defect of the build, and panics.
func Text(packed []byte) func() string {
	return sync.OnceValue(func() string {
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			panic(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			panic(err)
		}
		return string(text)
	})
}

// Pack is the gzip form of a text.
func Pack(text []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // a level that does not exist: a buffer takes every byte
	}
	return b.Bytes()
}
