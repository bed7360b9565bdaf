package keyless

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"

	"github.com/skl-project/skl/spec/diag"
)

// A certificateRequest is a request to Fulcio's POST /api/v2/signingCert.
type certificateRequest struct {
	PublicKeyRequest struct {
		PublicKey struct {
			Algorithm string `json:"algorithm"`
			Content   string `json:"content"` // PEM
		} `json:"publicKey"`
		Proof []byte `json:"proofOfPossession"` // signature of the subject
	} `json:"publicKeyRequest"`
}

// A certificateChain is a chain in Fulcio's answer, the leaf first, in PEM.
type certificateChain struct {
	Chain struct {
		Certificates []string `json:"certificates"`
	} `json:"chain"`
}

// certify returns a certificate of the authority, in DER, which says that key is of
// the subject of token.
func (s *Signer) certify(ctx context.Context, key *ecdsa.PrivateKey, subject, token string) ([]byte, error) {
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	var request certificateRequest
	request.PublicKeyRequest.PublicKey.Algorithm = "ECDSA"
	request.PublicKeyRequest.PublicKey.Content = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	if request.PublicKeyRequest.Proof, err = signed(key, []byte(subject)); err != nil {
		return nil, err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	s.Progress.Send(diag.Event{Stage: "certify", Name: subject})
	address := s.Services.Authority
	got, err := s.send(ctx, call{what: whatAuthority, base: address, path: "/api/v2/signingCert", body: body, token: token})
	if err != nil {
		return nil, asService(ctx, err, whatAuthority, address, "gave no certificate")
	}
	var answered struct {
		Embedded certificateChain `json:"signedCertificateEmbeddedSct"`
		Detached certificateChain `json:"signedCertificateDetachedSct"`
	}
	if err := json.Unmarshal(got.text, &answered); err != nil {
		return nil, asService(ctx, err, whatAuthority, address, "gave no certificate")
	}
	chain := append(answered.Embedded.Chain.Certificates, answered.Detached.Chain.Certificates...)
	if len(chain) == 0 {
		return nil, serviceError(whatAuthority, address, "gave no certificate")
	}
	block, _ := pem.Decode([]byte(chain[0]))
	if block == nil {
		return nil, serviceError(whatAuthority, address, "gave a damaged certificate")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, serviceError(whatAuthority, address, "gave a damaged certificate")
	}
	if !key.PublicKey.Equal(leaf.PublicKey) {
		return nil, serviceError(whatAuthority, address, "gave a certificate for another key")
	}
	return block.Bytes, nil
}
