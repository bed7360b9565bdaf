package oci_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// A document of which two programs may see different things, or whose digests are weaker than they look, is refused.
func TestConfusedManifests(t *testing.T) {
	const hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	desc := func(d, more string) string {
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":0%s}`, oci.LayerSkill, d, more)
	}
	good := desc("sha256:"+hex, "")
	config := strings.Replace(good, oci.LayerSkill, oci.ConfigSkill, 1)
	manifest := func(layers, more string) string {
		return `{"schemaVersion":2,"artifactType":"` + oci.ArtifactSkill + `","config":` + config + `,"layers":[` + layers + `]` + more + `}`
	}
	if _, err := oci.Read(v1.MediaTypeImageManifest, []byte(manifest(good, ""))); err != nil {
		t.Fatal(err)
	}
	other := desc("sha256:"+strings.Repeat("1", 64), "")
	for name, c := range map[string]struct{ served, text string }{
		"manifest and index":           {v1.MediaTypeImageManifest, manifest(good, `,"manifests":[]`)},
		"manifest served as an index":  {v1.MediaTypeImageIndex, manifest(good, "")},
		"other type in its own field":  {v1.MediaTypeImageManifest, manifest(good, `,"mediaType":"`+v1.MediaTypeImageIndex+`"`)},
		"layers twice":                 {v1.MediaTypeImageManifest, manifest(good, `,"layers":[`+other+`]`)},
		"Layers":                       {v1.MediaTypeImageManifest, manifest(good, `,"Layers":[`+other+`]`)},
		"MANIFESTS":                    {v1.MediaTypeImageManifest, manifest(good, `,"MANIFESTS":null`)},
		"layers with a long s":         {v1.MediaTypeImageManifest, manifest(good, `,"layer\u017f":[`+other+`]`)},
		"digest twice in a descriptor": {v1.MediaTypeImageManifest, manifest(desc("sha256:"+hex, `,"digest":"sha256:`+strings.Repeat("1", 64)+`"`), "")},
		"more behind the end":          {v1.MediaTypeImageManifest, manifest(good, "") + manifest(other, "")},
		"md5":                          {v1.MediaTypeImageManifest, manifest(desc("md5:"+hex[:32], ""), "")},
		"sha1":                         {v1.MediaTypeImageManifest, manifest(desc("sha1:"+hex[:40], ""), "")},
		"sha384":                       {v1.MediaTypeImageManifest, manifest(desc("sha384:"+hex+hex[:32], ""), "")},
		"unknown algorithm":            {v1.MediaTypeImageManifest, manifest(desc("sha256+b64:"+hex, ""), "")},
		"upper-case hex":               {v1.MediaTypeImageManifest, manifest(desc("sha256:"+strings.ToUpper(hex), ""), "")},
		"upper-case algorithm":         {v1.MediaTypeImageManifest, manifest(desc("SHA256:"+hex, ""), "")},
		"short hex":                    {v1.MediaTypeImageManifest, manifest(desc("sha256:"+hex[:62], ""), "")},
		"sha512 with the hex of 256":   {v1.MediaTypeImageManifest, manifest(desc("sha512:"+hex, ""), "")},
		"path in the digest":           {v1.MediaTypeImageManifest, manifest(desc("sha256:../../../etc/passwd", ""), "")},
		"no digest":                    {v1.MediaTypeImageManifest, manifest(desc("", ""), "")},
		"other data":                   {v1.MediaTypeImageManifest, manifest(desc("sha256:"+hex, `,"data":"ZXZpbA=="`), "")},
		"addresses":                    {v1.MediaTypeImageManifest, manifest(desc("sha256:"+hex, `,"urls":["https://example.com"]`), "")},
		"two layers of one skill":      {v1.MediaTypeImageManifest, manifest(good+","+other, "")},
		"deep":                         {v1.MediaTypeImageManifest, manifest(good, `,"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100))},
	} {
		a, err := oci.Read(c.served, []byte(c.text))
		e, ok := errors.AsType[*diag.Error](err)
		if !ok || e.Class != diag.Refused || a != nil {
			t.Errorf("%s: %+v, %v, want a refusal", name, a, err)
		}
	}
	if err := oci.CheckDigest(digest.Digest("sha512:" + hex + hex)); err != nil {
		t.Errorf("sha512: %v", err)
	}
}
