package registry

import (
	"strings"
	"testing"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/registry/blob"
)

// The registry takes no manifest that one client reads as a manifest and another as an index, or of which
// they read different parts.
func TestConfusedManifestsAreNotTaken(t *testing.T) {
	const one = `{"mediaType":"application/octet-stream","digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0}`
	push := func(mediaType, text string) error {
		_, err := parseManifest("acme/pdf", mediaType, blob.Sum(blob.SHA256, []byte(text)), []byte(text))
		return err
	}
	good := `{"schemaVersion":2,"config":` + one + `,"layers":[` + one + `]}`
	index := `{"schemaVersion":2,"manifests":[` + one + `]}`
	for _, c := range [][2]string{{v1.MediaTypeImageManifest, good}, {v1.MediaTypeImageIndex, index}} {
		if err := push(c[0], c[1]); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string][2]string{
		"both":                     {v1.MediaTypeImageManifest, strings.Replace(good, `"layers"`, `"manifests":[],"layers"`, 1)},
		"both, as an index":        {v1.MediaTypeImageIndex, strings.Replace(index, `"manifests"`, `"layers":[],"manifests"`, 1)},
		"manifest as index":        {v1.MediaTypeImageIndex, good},
		"index as manifest":        {v1.MediaTypeImageManifest, index},
		"index as docker manifest": {"application/vnd.docker.distribution.manifest.v2+json", index},
		"twice":                    {v1.MediaTypeImageManifest, strings.Replace(good, `"layers"`, `"layers":[],"layers"`, 1)},
		"case":                     {v1.MediaTypeImageManifest, strings.Replace(good, `"layers"`, `"Layers":[],"layers"`, 1)},
		"other data":               {v1.MediaTypeImageManifest, strings.Replace(good, `"size":0`, `"size":4,"data":"ZXZpbA=="`, 1)},
		"negative size":            {v1.MediaTypeImageManifest, strings.Replace(good, `"size":0`, `"size":-1`, 1)},
		"md5":                      {v1.MediaTypeImageManifest, strings.ReplaceAll(good, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "md5:d41d8cd98f00b204e9800998ecf8427e")},
		"subject of sha1":          {v1.MediaTypeImageManifest, strings.Replace(good, `"layers"`, `"subject":{"mediaType":"x","digest":"sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709","size":0},"layers"`, 1)},
	} {
		if err := push(c[0], c[1]); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
