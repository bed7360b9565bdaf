package keyless

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/skl-project/skl/spec/diag"
)

// Ambient asks the CI job that this process runs in for an identity token:
// GitHub Actions, with the permission "id-token: write". An empty audience means
// "sigstore". Outside of such a job the error is a *diag.Error of class
// NeedsInput, code keyless_token.
func Ambient(ctx context.Context, getenv func(string) string, client *http.Client, audience string) (string, error) {
	address, secret := getenv("ACTIONS_ID_TOKEN_REQUEST_URL"), getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
	if address == "" || secret == "" {
		return "", diag.New(diag.NeedsInput, "keyless_token", "there is no identity token, and this is not a CI job that could give one").
			Hint("set SIGSTORE_ID_TOKEN").
			Hint("in GitHub Actions, give the job the permission id-token: write")
	}
	const what = "token service of the CI job"
	u, err := secure(what, address)
	if err != nil {
		return "", err
	}
	if audience == "" {
		audience = "sigstore"
	}
	query := u.Query()
	query.Set("audience", audience)
	target := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath, RawQuery: query.Encode()}
	s := &Signer{Client: client}
	origin := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	target.Scheme, target.Host = "", ""
	got, err := s.send(ctx, call{what: what, base: origin, path: target.String(), method: http.MethodGet, token: secret})
	if err != nil {
		return "", err
	}
	var answer struct {
		Value string `json:"value"`
	}
	if err := json.Unmarshal(got.text, &answer); err != nil || answer.Value == "" {
		return "", serviceError(what, origin, "gave no token")
	}
	return answer.Value, nil
}
