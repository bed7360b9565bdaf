package keyless_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/rekor/pkg/types"
	"github.com/sigstore/rekor/pkg/types/dsse"
	_ "github.com/sigstore/rekor/pkg/types/dsse/v0.0.1"

	"github.com/skl-project/skl/registry/client/keyless"
	"github.com/skl-project/skl/registry/client/keyless/keylesstest"
	"github.com/skl-project/skl/spec/attest/attesttest"
	"github.com/skl-project/skl/spec/diag"
)

// The proposal to a log of version 1 equals the one that Rekor's own library makes for the same envelope and
// certificate, after verifying them.
func TestProposal(t *testing.T) {
	server := keylesstest.New(t, attesttest.New(t))
	var sent []byte
	server.Before = func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/log/entries" {
			return
		}
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Accept") != "application/json" || r.Header.Get("Authorization") != "" {
			t.Errorf("%q", r.Header)
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	signer := &keyless.Signer{Services: keyless.Services{Authority: server.URL, Log: server.URL}}
	if _, err := signer.Sign(context.Background(), attesttest.Signature(t, pdf()), keylesstest.Token(ci())); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Spec struct {
			ProposedContent struct {
				Envelope  string
				Verifiers [][]byte
			}
		}
	}
	if err := json.Unmarshal(sent, &got); err != nil {
		t.Fatal(err)
	}
	in := got.Spec.ProposedContent
	proposal, err := dsse.New().CreateProposedEntry(context.Background(), "", types.ArtifactProperties{ArtifactBytes: []byte(in.Envelope), PublicKeyBytes: in.Verifiers})
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(proposal)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(sent, &a) != nil || json.Unmarshal(want, &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%s\nwant %s", sent, want)
	}
	if _, err := types.UnmarshalEntry(proposal); err != nil {
		t.Error(err)
	}
}

// Answers of a log that lack a part, or say something else, make no bundle.
func TestDamagedLogEntries(t *testing.T) {
	const whole = `{"body":"BODY","integratedTime":1,"logID":"00ff","logIndex":2,"verification":{"signedEntryTimestamp":"AAAA",` +
		`"inclusionProof":{"checkpoint":"c","hashes":["00"],"logIndex":1,"rootHash":"00ff","treeSize":3}}}`
	const body = "eyJhcGlWZXJzaW9uIjoiMC4wLjEiLCJraW5kIjoiZHNzZSJ9" // {"apiVersion":"0.0.1","kind":"dsse"}
	entry := strings.Replace(whole, "BODY", body, 1)
	for name, test := range map[string]struct {
		status   int
		location string
		answer   string
	}{
		"nothing":                 {201, "", ""},
		"no entry":                {201, "", `{}`},
		"a list":                  {201, "", `[]`},
		"two entries, no name":    {201, "", `{"a":` + entry + `,"b":` + entry + `}`},
		"no index":                {201, "", `{"a":` + strings.Replace(entry, `"logIndex":2,`, "", 1) + `}`},
		"no index in the proof":   {201, "", `{"a":` + strings.Replace(entry, `"logIndex":1,`, "", 1) + `}`},
		"no time":                 {201, "", `{"a":` + strings.Replace(entry, `"integratedTime":1,`, "", 1) + `}`},
		"no size":                 {201, "", `{"a":` + strings.Replace(entry, `,"treeSize":3`, "", 1) + `}`},
		"no root":                 {201, "", `{"a":` + strings.Replace(entry, `"rootHash":"00ff",`, "", 1) + `}`},
		"no checkpoint":           {201, "", `{"a":` + strings.Replace(entry, `"checkpoint":"c",`, "", 1) + `}`},
		"no log":                  {201, "", `{"a":` + strings.Replace(entry, `"logID":"00ff",`, "", 1) + `}`},
		"a hash that is none":     {201, "", `{"a":` + strings.Replace(entry, `["00"]`, `["0g"]`, 1) + `}`},
		"a body of another kind":  {201, "", `{"a":` + strings.Replace(whole, "BODY", "eyJhcGlWZXJzaW9uIjoiMC4wLjEiLCJraW5kIjoicnBtIn0=", 1) + `}`},
		"a body that is not JSON": {201, "", `{"a":` + strings.Replace(whole, "BODY", "AAAA", 1) + `}`},
		"no body":                 {201, "", `{"a":` + strings.Replace(whole, "BODY", "", 1) + `}`},
		"a location elsewhere":    {409, "/api/v1/log/entries/..", `{}`},
		"a location of a host":    {409, "https://elsewhere.test", `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := keylesstest.New(t, attesttest.New(t))
			server.Before = func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "log") {
					if test.location != "" {
						w.Header().Set("Location", test.location)
					}
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.answer)
				}
			}
			signer := &keyless.Signer{Services: keyless.Services{Authority: server.URL, Log: server.URL}, Pause: time.Millisecond}
			bundle, err := signer.Sign(context.Background(), attesttest.Signature(t, pdf()), keylesstest.Token(ci()))
			if bundle != nil || !errors.Is(err, diag.Code("keyless_service")) || !strings.Contains(err.Error(), "no proof of inclusion") {
				t.Errorf("%s, %v", bundle, err)
			}
			if n := len(server.Requests()); n != 2 {
				t.Errorf("%d requests, want the certificate and the entry", n)
			}
		})
	}
}
