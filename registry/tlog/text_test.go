package tlog_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

const checkpointText = "registry.example/log\n4711\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\ntime 2026-11-21T10:30:00Z\n"

func TestCheckpointText(t *testing.T) {
	c, err := tlog.ParseCheckpoint(checkpointText)
	if err != nil || c.Origin != "registry.example/log" || c.Size != 4711 || !c.Time.Equal(time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)) || c.Extra != nil {
		t.Fatalf("%+v, %v", c, err)
	}
	if text, err := c.Format(); err != nil || text != checkpointText {
		t.Errorf("Format = %q, %v", text, err)
	}
	if c, err := tlog.ParseCheckpoint(checkpointText + "witness 3\n"); err != nil || !reflect.DeepEqual(c.Extra, []string{"witness 3"}) {
		t.Errorf("an extension that is not known: %+v, %v", c, err)
	}
	for name, change := range map[string][2]string{
		"no end of line":      {"Z\n", "Z"},
		"an empty line":       {"4711\n", "4711\n\n"},
		"a size with a zero":  {"4711", "04711"},
		"a negative size":     {"4711", "-1"},
		"a signed size":       {"4711", "+1"},
		"a huge size":         {"4711", "99999999999999999999"},
		"a short root":        {"CsUY", ""},
		"a root with a rest":  {"q2I=", "q2J="},
		"no time":             {"time 2026-11-21T10:30:00Z\n", ""},
		"a time in a zone":    {"Z\n", "+01:00\n"},
		"parts of a second":   {"00Z", "00.5Z"},
		"no word before it":   {"time ", ""},
		"an origin with plus": {"example/", "example+"},
		"a space":             {"example/", "example /"},
		"a control character": {"example/", "example\x1b/"},
		"a carriage return":   {"\n", "\r\n"},
	} {
		text := strings.Replace(checkpointText, change[0], change[1], 1)
		if c, err := tlog.ParseCheckpoint(text); !errors.Is(err, diag.Code("log_checkpoint")) || c.Origin != "" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func TestKey(t *testing.T) {
	key := newKey(t)
	again, err := tlog.ParseKey(key.Secret() + "\n")
	if err != nil || again.Public() != key.Public() || again.Origin() != "registry.example/log" {
		t.Errorf("%v, %v; want %v", again, err, key)
	}
	if _, err := note.NewVerifier(key.Public()); err != nil {
		t.Error(err)
	}
	if strings.Contains(key.String(), "PRIVATE") {
		t.Error("printing a key shows its secret")
	}
	for _, origin := range []string{"", "a b", "a+b", "a\nb", "a\u00a0b", strings.Repeat("a", 257), "\xff"} {
		if _, err := tlog.NewKey(origin); !errors.Is(err, diag.Code("log_origin")) {
			t.Errorf("NewKey(%q): %v", origin, err)
		}
	}
	for _, secret := range []string{"", "PRIVATE+KEY", key.Public(), key.Secret()[1:], key.Secret() + "AAAA"} {
		if _, err := tlog.ParseKey(secret); !errors.Is(err, diag.Code("log_key")) {
			t.Errorf("ParseKey(%q): %v", secret, err)
		}
	}
	// A witness that signed as well does no harm.
	m := new(memory)
	grow(t, m, 2)
	n, err := note.Open(sign(t, key, m, start), note.VerifierList(mustVerifier(t, key.Public())))
	if err != nil {
		t.Fatal(err)
	}
	secret, _, _ := note.GenerateKey(nil, "witness.example")
	witness, _ := note.NewSigner(secret)
	both, err := note.Sign(n, witness)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := tlog.OpenCheckpoint(both, key.Public()); err != nil || c.Size != 2 {
		t.Errorf("with a witness: %v, %v", c, err)
	}
}

func mustVerifier(t *testing.T, public string) note.Verifier {
	v, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRecordText(t *testing.T) {
	r := tlog.Record{
		Action: tlog.Block, Name: "acme/pdf", Version: "1.4.2", Reason: "steals <keys> & \"more\"\nsee \u2028 above", By: "älice", At: "2026-11-21T10:00:00Z",
	}
	const want = `{"v":1,"action":"block","name":"acme/pdf","version":"1.4.2","by":"älice","reason":"steals <keys> & \"more\"\nsee \u2028 above","at":"2026-11-21T10:00:00Z"}`
	text, err := r.Format()
	if err != nil || string(text) != want {
		t.Fatalf("Format = %s, %v", text, err)
	}
	back, err := tlog.ParseRecord(text)
	r.V = 1
	if err != nil || back != r {
		t.Errorf("ParseRecord = %+v, %v", back, err)
	}
	for name, text := range map[string]string{
		"empty":             "",
		"another version":   strings.Replace(want, `"v":1`, `"v":2`, 1),
		"a space":           " " + want,
		"an end of line":    want + "\n",
		"other order":       `{"action":"block","v":1,"name":"a","at":"2026-11-21T10:00:00Z"}`,
		"an unknown key":    strings.Replace(want, `"v":1`, `"v":1,"x":1`, 1),
		"a key twice":       strings.Replace(want, `"v":1`, `"v":1,"v":1`, 1),
		"upper case":        strings.Replace(want, `"name"`, `"Name"`, 1),
		"an escape":         strings.Replace(want, `acme`, `\u0061cme`, 1),
		"no name":           `{"v":1,"action":"block","name":"","at":"2026-11-21T10:00:00Z"}`,
		"an action in caps": strings.Replace(want, `"block"`, `"BLOCK"`, 1),
		"a time in a zone":  strings.Replace(want, `00Z`, `00+01:00`, 1),
		"too long":          strings.Replace(want, "steals", strings.Repeat("s", tlog.MaxRecord), 1),
	} {
		if r, err := tlog.ParseRecord([]byte(text)); !errors.Is(err, diag.Code("log_record")) || r != (tlog.Record{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for name, r := range map[string]tlog.Record{
		"not UTF-8": {Action: "x", Name: "a\xff", At: r.At},
		"too long":  {Action: "x", Name: strings.Repeat("a", tlog.MaxRecord), At: r.At},
		"no time":   {Action: "x", Name: "a"},
	} {
		if text, err := r.Format(); err == nil || text != nil {
			t.Errorf("%s: %s was written", name, text)
		}
	}
}

// Law: Format(Parse(x)) == x.
func FuzzCheckpoint(f *testing.F) {
	f.Add(checkpointText)
	f.Add(checkpointText + "witness 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := tlog.ParseCheckpoint(text)
		if err != nil {
			return
		}
		if again, err := c.Format(); err != nil || again != text {
			t.Errorf("Format(Parse(%q)) = %q, %v", text, again, err)
		}
	})
}

// Law: Format(Parse(x)) == x.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"v":1,"action":"publish","name":"a/b","version":"1.0.0","at":"2026-11-21T10:00:00Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := tlog.ParseRecord(text)
		if err != nil {
			return
		}
		if again, err := r.Format(); err != nil || string(again) != string(text) {
			t.Errorf("Format(Parse(%q)) = %q, %v", text, again, err)
		}
	})
}

// Law: a path either names no tile, or gives as many bytes as it says.
func FuzzTilePath(f *testing.F) {
	m := new(memory)
	grow(f, m, 600)
	for _, path := range []string{"tile/0/000", "tile/0/002.p/88", "tile/1/000.p/2", "tile/entries/002.p/88", "tile/0/x001/000"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		data, err := tlog.Tile(t.Context(), m, path)
		if err != nil {
			if !errors.Is(err, tlog.ErrNoTile) {
				t.Errorf("%q: %v", path, err)
			}
			return
		}
		if len(data) == 0 || strings.HasPrefix(path, "tile/0/") && len(data)%32 != 0 || !strings.HasPrefix(path, "tile/") {
			t.Errorf("%q: %d bytes", path, len(data))
		}
	})
}

// Law: what Decode accepts, Encode gives back; and no text verifies that the log did not make.
func FuzzProof(f *testing.F) {
	m, key := new(memory), newKey(f)
	grow(f, m, 40)
	p, err := tlog.NewProof(f.Context(), m, key.Public(), sign(f, key, m, start), 7)
	if err != nil {
		f.Fatal(err)
	}
	good := p.Encode()
	seed, _ := json.Marshal(good)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, text []byte) {
		var e tlog.Encoded
		if json.Unmarshal(text, &e) != nil {
			return
		}
		p, err := tlog.Decode(e)
		if err != nil {
			return
		}
		if e.Proof == nil {
			e.Proof = []string{}
		}
		if again := p.Encode(); !reflect.DeepEqual(again, e) {
			t.Errorf("Encode(Decode(%+v)) = %+v", e, again)
		}
		if p.Key == key.Public() && p.Verify(release(7)) == nil && (e.Index != good.Index || e.Entry != good.Entry) {
			t.Errorf("verified: %+v", e)
		}
	})
}

// Entries from before publishers and approvers were named read and write as they did, beside those that name them.
func TestRecordNames(t *testing.T) {
	for _, text := range []string{
		`{"v":1,"action":"publish","name":"acme/pdf","version":"1.0.0","by":"admin","at":"2026-11-21T10:30:00Z"}`,
		`{"v":1,"action":"publish","name":"acme/pdf","version":"1.0.0","by":"ci","approver":"admin","at":"2026-11-21T10:30:00Z"}`,
		`{"v":1,"action":"yank","name":"acme/pdf","version":"1.0.0","by":"admin","publisher":"ci","reason":"wrong","at":"2026-11-21T10:30:00Z"}`,
	} {
		r, err := tlog.ParseRecord([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again, err := r.Format(); err != nil || string(again) != text {
			t.Errorf("%s becomes %s, %v", text, again, err)
		}
	}
}
