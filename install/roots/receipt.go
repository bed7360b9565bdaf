package roots

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// ReceiptVersion is the format version that this package reads and writes.
const ReceiptVersion = 1

// MaxReceiptBytes bounds a receipt file; 5,000 files need less than 2 MiB.
const MaxReceiptBytes = 4 << 20

// A Receipt says which release a skill's directory was installed from, and
// every byte of it. It lies beside the skills, in [ReceiptPath], and is
// committed with them. Whoever can write the skills can write it, so it is a
// claim; [Check] compares it with the files.
type Receipt struct {
	Name          string
	Tree          bundle.Digest
	Version       string
	Source        string // git, oci, registry, wellknown, marketplace, local, npm, go, r, pypi
	URL           string
	Commit        string // full git commit id, or
	Manifest      string // OCI manifest digest
	Signer        *lock.Signer
	GeneratedFrom map[string]string
	Links         []string // links to the directory, relative to the project or the home directory, slash-separated
	Files         map[string]File

	unknown map[string]json.RawMessage
}

// A File is one entry of a receipt.
type File struct {
	Size   int64       // bytes of the content, or of the link text
	SHA256 [32]byte    // of the content, or of the link text
	Mode   bundle.Kind // as in the tree digest
}

// ReceiptPath returns where the receipt of the skill in root/name is.
func ReceiptPath(root, name string) string {
	return filepath.Join(root, stateDir, name+".json")
}

// receiptJSON is a receipt's written form, without the fields of later versions.
type receiptJSON struct {
	V             int                          `json:"v"`
	Name          string                       `json:"name"`
	Tree          bundle.Digest                `json:"tree"`
	Version       string                       `json:"version,omitempty"`
	Source        string                       `json:"source,omitempty"`
	URL           string                       `json:"url,omitempty"`
	Commit        string                       `json:"commit,omitempty"`
	Manifest      string                       `json:"manifest,omitempty"`
	Signer        *signerJSON                  `json:"signer,omitempty"`
	GeneratedFrom map[string]string            `json:"generated_from,omitempty"`
	Links         []string                     `json:"links,omitempty"`
	Files         map[string][]json.RawMessage `json:"files"`
}

// signerJSON has the fields of lock.Signer, in its order.
type signerJSON struct {
	Issuer     string `json:"issuer,omitempty"`
	Identity   string `json:"identity,omitempty"`
	Repository string `json:"repository,omitempty"`
	Ref        string `json:"ref,omitempty"`
	Runner     string `json:"runner,omitempty"`
	Key        string `json:"key,omitempty"`
}

// knownFields are the names of receiptJSON in the order they are written.
func knownFields() []string {
	return []string{"v", "name", "tree", "version", "source", "url", "commit", "manifest", "signer", "generated_from", "links", "files"}
}

// ParseReceipt reads a receipt. Fields that it does not know are kept for
// [Receipt.Format]. A receipt of a later version is an error, so that nobody
// rewrites what they cannot read. Errors have the code E_RECEIPT.
func ParseReceipt(data []byte) (Receipt, error) {
	if len(data) > MaxReceiptBytes {
		return Receipt{}, badReceipt("it is larger than %d bytes", MaxReceiptBytes)
	}
	var in receiptJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return Receipt{}, badReceipt("%w", err)
	}
	if in.V != ReceiptVersion {
		return Receipt{}, badReceipt("its version is %d, known is %d", in.V, ReceiptVersion)
	}
	if !isElement(in.Name) {
		return Receipt{}, badReceipt("%q is not the name of a directory", diag.Printable(in.Name))
	}
	if sum, ok := strings.CutPrefix(string(in.Tree), treePrefix); !ok || !isSHA256(sum) {
		return Receipt{}, badReceipt("%q is not a tree digest", diag.Printable(string(in.Tree)))
	}
	r := Receipt{
		Name: in.Name, Tree: in.Tree, Version: in.Version, Source: in.Source, URL: in.URL, Commit: in.Commit,
		Manifest: in.Manifest, Signer: (*lock.Signer)(in.Signer), GeneratedFrom: in.GeneratedFrom, Links: in.Links,
		Files: make(map[string]File, len(in.Files)),
	}
	for path, fields := range in.Files {
		file, err := parseFile(fields)
		if err != nil || !isFilePath(path) {
			return Receipt{}, badReceipt("%q: not a file of a skill: [size, sha256, mode]", diag.Printable(path))
		}
		r.Files[path] = file
	}
	return r, r.keepUnknown(data)
}

// keepUnknown stores the fields of data that receiptJSON has no place for.
// The names of known fields match in any case, as encoding/json reads them.
func (r *Receipt) keepUnknown(data []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		*r = Receipt{}
		return badReceipt("%w", err)
	}
	known := knownFields()
	maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool {
		return slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, key) })
	})
	if len(all) > 0 {
		r.unknown = all
	}
	return nil
}

func parseFile(fields []json.RawMessage) (File, error) {
	if len(fields) != 3 {
		return File{}, fs.ErrInvalid
	}
	var f File
	var sum, mode string
	if err := json.Unmarshal(fields[0], &f.Size); err != nil {
		return File{}, err
	}
	if err := json.Unmarshal(fields[1], &sum); err != nil {
		return File{}, err
	}
	if err := json.Unmarshal(fields[2], &mode); err != nil {
		return File{}, err
	}
	if f.Size < 0 || !isSHA256(sum) || len(mode) != 1 || !strings.Contains("-xl", mode) {
		return File{}, fs.ErrInvalid
	}
	hex.Decode(f.SHA256[:], []byte(sum))
	f.Mode = bundle.Kind(mode[0])
	return f, nil
}

// Format returns the written form: known fields in a fixed order, then unknown
// ones by name, one file per line, so that changes are readable in a review.
// ParseReceipt(r.Format()) equals r.
func (r Receipt) Format() []byte {
	fields := map[string]any{
		"v": ReceiptVersion, "name": r.Name, "tree": r.Tree, "version": r.Version, "source": r.Source, "url": r.URL,
		"commit": r.Commit, "manifest": r.Manifest,
	}
	if r.Signer != nil {
		fields["signer"] = signerJSON(*r.Signer)
	}
	if len(r.GeneratedFrom) > 0 {
		fields["generated_from"] = r.GeneratedFrom
	}
	if len(r.Links) > 0 {
		fields["links"] = r.Links
	}
	var b bytes.Buffer
	b.WriteString("{")
	for _, key := range knownFields() {
		if value, ok := fields[key]; ok && value != "" {
			writeField(&b, key, value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.unknown)) {
		writeField(&b, key, r.unknown[key])
	}
	b.WriteString("\n  \"files\": {")
	for i, path := range slices.Sorted(maps.Keys(r.Files)) {
		if i > 0 {
			b.WriteString(",")
		}
		f := r.Files[path]
		b.WriteString("\n    ")
		writeJSON(&b, path)
		b.WriteString(": ")
		writeJSON(&b, []any{f.Size, hex.EncodeToString(f.SHA256[:]), string(rune(f.Mode))})
	}
	b.WriteString("\n  }\n}\n")
	return b.Bytes()
}

func writeField(b *bytes.Buffer, key string, value any) {
	b.WriteString("\n  ")
	writeJSON(b, key)
	b.WriteString(": ")
	writeJSON(b, value)
	b.WriteString(",")
}

// writeJSON writes value on one line. Every value in a receipt can be encoded.
func writeJSON(b *bytes.Buffer, value any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err)
	}
	b.Truncate(b.Len() - 1) // the newline that Encode adds
}

func badReceipt(format string, args ...any) error {
	e := diag.New(diag.Unmet, "E_RECEIPT", "the receipt cannot be used: "+format, args...)
	return e.Hint("restore it from version control, or take the skill over again: skl adopt")
}

// isElement reports whether name can be a directory directly below a root.
func isElement(name string) bool {
	return name != "." && name != ".." && name != stateDir && isFilePath(name) && !strings.Contains(name, "/")
}

// isFilePath reports whether path is relative, clean and without an element
// that an operating system reads as something else.
func isFilePath(path string) bool {
	return path != "." && fs.ValidPath(path) && !strings.ContainsAny(path, "\\\x00") && !strings.Contains(path, ":")
}

func isSHA256(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && s == strings.ToLower(s)
}
