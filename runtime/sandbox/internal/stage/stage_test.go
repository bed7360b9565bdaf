package stage

import (
	"bytes"
	"reflect"
	"testing"
)

func TestConfigRoundTrip(t *testing.T) {
	for name, c := range map[string]Config{
		"nothing": {},
		"everything": {Namespaces: true, Proxy: true, Landlock: true, DryRun: true, PidMax: 1, ProcAccess: 2, ShmAccess: 1 << 63, ShmSize: 4,
			Pins:   []Pin{{Hold, "/a"}, {Seal, "/a/b"}, {Link, ""}},
			Limits: []Limit{{0, 1}, {7, 1<<64 - 1}}, Filter: []byte("12345678"), Path: "/bin/sh", Dir: "/", Argv: []string{"sh", ""}, Env: []string{"A=b"}},
	} {
		got, ok := Decode(c.Encode())
		if !ok || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: %v, %+v", name, ok, got)
		}
		for i := range len(c.Encode()) {
			if _, ok := Decode(c.Encode()[:i]); ok {
				t.Errorf("%s: its first %d bytes are taken", name, i)
			}
		}
	}
}

// FuzzDecode: what is decoded encodes to the same bytes, so nothing is read that was not written.
func FuzzDecode(f *testing.F) {
	c := Config{Landlock: true, Pins: []Pin{{Seal, "/a"}}, Limits: []Limit{{1, 2}}, Path: "/bin/sh", Argv: []string{"sh"}, Env: []string{"A=b"}}
	f.Add(c.Encode())
	f.Add([]byte{1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, ok := Decode(b); ok && !bytes.Equal(c.Encode(), b) {
			t.Errorf("%q decodes to %+v", b, c)
		}
	})
}
