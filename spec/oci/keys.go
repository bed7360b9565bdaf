package oci

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// known are the keys by which programs go. Go's decoder takes "Layers" for "layers", and of a key that stands
// twice the last; others take neither, or the first.
var known = []string{"schemaVersion", "mediaType", "artifactType", "config", "layers", "manifests", "subject", "annotations",
	"blobs", "fsLayers", "digest", "size", "urls", "data", "platform", "name", "version", "metadata", "rootfs", "diff_ids"}

// maxDepth bounds the nesting of a manifest or config.
const maxDepth = 64

// CheckKeys refuses a JSON document of which programs read different parts: a key twice in one object, a key
// that is a known one but for its case, or more behind its end.
func CheckKeys(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := checkValue(dec, 0, false); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return refuse(CodeMalformed, "there is more behind the end of the JSON value")
	}
	return nil
}

// checkValue reads one value; free says that keys are anybody's, as those of annotations.
func checkValue(dec *json.Decoder, depth int, free bool) error {
	if depth > maxDepth {
		return refuse(CodeMalformed, "the JSON value is nested more than %d deep", maxDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return refuse(CodeMalformed, "the JSON value is damaged")
	}
	open, _ := token.(json.Delim)
	if open != '{' && open != '[' {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		below := free
		if open == '{' {
			token, err := dec.Token()
			key, ok := token.(string)
			if err != nil || !ok {
				return refuse(CodeMalformed, "the JSON value is damaged")
			}
			if seen[key] {
				return refuse(CodeMalformed, "the key %s stands twice", quoted(key))
			}
			seen[key] = true
			if other := spelled(key); !free && other != "" {
				return refuse(CodeMalformed, "the key %s is spelled %q", quoted(key), other)
			}
			below = free || key == "annotations" || key == "metadata" || strings.EqualFold(key, "labels")
		}
		if err := checkValue(dec, depth+1, below); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return refuse(CodeMalformed, "the JSON value is damaged")
	}
	return nil
}

// spelled is the known key that key is but for its case, "" if it is none or spelled so.
func spelled(key string) string {
	for _, k := range known {
		if key != k && strings.EqualFold(key, k) {
			return k
		}
	}
	return ""
}
