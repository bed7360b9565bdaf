package roots

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// ReceiptVersion is the format version that this package reads and writes.
const ReceiptVersion = 1

// MaxReceiptBytes bounds a receipt file; 5,000 files need less than 2 MiB.
const MaxReceiptBytes = 4 << 20

// CodeConflict is the code of a receipt with the markers of a merge.
const CodeConflict = "E_RECEIPT_CONFLICT"

// A Receipt says which release a skill's directory was installed from, and
// every byte of it. It lies beside the skills, in [ReceiptPath], and is
// committed with them. Whoever can write the skills can write it, so it is a
// claim; [Check] compares it with the files.
type Receipt struct {
	Name          string
	Tree          bundle.Digest
	Version       string
	Source        string // git, oci, registry, embedded, wellknown, marketplace, local, npm, go, r, pypi
	URL           string
	Of            string     // namespace/name on a registry, "" if it is not from one
	Commit        ref.Commit // of a git repository, or
	Manifest      ref.Digest // of the OCI manifest
	Signer        *lock.Signer
	GeneratedFrom map[string]string
	Links         []string // links to the directory, or copies of it, below the project or the home directory: DIR/name, slash-separated
	CopyOf        string   // of a copy that an agent loads: the directory it is a copy of, written like Links; "" for a skill of its own
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
//
//go:noinline
func ReceiptPath(root, name string) string {
	return filepath.Join(root, stateDir, name+".json")
}

// FS is fsys, the directory of the skill, with the modes of the receipt where the disk has none.
func (r Receipt) FS(fsys fs.FS) fs.FS {
	if durable.HasModes {
		return fsys
	}
	return durable.WithModes(fsys, func(name string) bool {
		if f, ok := r.Files[name]; ok && f.Mode != bundle.Link {
			return f.Mode == bundle.Executable
		}
		info, err := fs.Stat(fsys, name)
		return err == nil && info.Mode()&0o111 != 0
	})
}

// Reading is read, with the modes of the receipt where the disk has none.
func (r Receipt) Reading(read func(fs.FS, bundle.Sink) error) func(fs.FS, bundle.Sink) error {
	return func(fsys fs.FS, sink bundle.Sink) error { return read(r.FS(fsys), sink) }
}

// FS is fsys, the directory dir: of a skill that has a receipt beside it, [Receipt.FS].
func FS(fsys fs.FS, dir string) fs.FS {
	if durable.HasModes {
		return fsys
	}
	r, err := ReadReceipt(filepath.Dir(dir), filepath.Base(dir))
	if err != nil {
		return fsys
	}
	return r.FS(fsys)
}

// receiptJSON is a receipt's written form, without the fields of later versions.
type receiptJSON struct {
	V             int                 `json:"v"`
	Name          string              `json:"name"`
	Tree          bundle.Digest       `json:"tree"`
	Version       string              `json:"version,omitempty"`
	Source        string              `json:"source,omitempty"`
	URL           string              `json:"url,omitempty"`
	Of            string              `json:"of,omitempty"`
	Commit        ref.Commit          `json:"commit,omitempty"`
	Manifest      ref.Digest          `json:"manifest,omitempty"`
	Signer        *signerJSON         `json:"signer,omitempty"`
	GeneratedFrom map[string]string   `json:"generated_from,omitempty"`
	Links         []string            `json:"links,omitempty"`
	CopyOf        string              `json:"copy_of,omitempty"`
	Files         map[string]fileJSON `json:"files"`
}

// signerJSON has the fields of lock.Signer, in its order.
type signerJSON struct {
	Kind       string `json:"kind,omitempty"`
	Issuer     string `json:"issuer,omitempty"`
	Identity   string `json:"identity,omitempty"`
	Repository string `json:"repository,omitempty"`
	Ref        string `json:"ref,omitempty"`
	Runner     string `json:"runner,omitempty"`
	Key        string `json:"key,omitempty"`
}

// knownFields are the names of receiptJSON in the order they are written.
func knownFields() []string {
	return []string{"v", "name", "tree", "version", "source", "url", "of", "commit", "manifest", "signer", "generated_from", "links", "copy_of", "files"}
}

// ParseReceipt reads a receipt. Fields that it does not know are kept for
// [Receipt.Format]. A receipt of a later version is an error, so that nobody
// rewrites what they cannot read. Errors have the code E_RECEIPT, those of a
// receipt with the markers of a merge [CodeConflict].
func ParseReceipt(data []byte) (Receipt, error) {
	if len(data) > MaxReceiptBytes {
		return Receipt{}, badReceipt("it is larger than %d bytes", MaxReceiptBytes)
	}
	if line := conflict.Line(data); line > 0 {
		return Receipt{}, diag.New(diag.Unmet, CodeConflict, "the receipt holds the markers of an unfinished merge").At(diag.Position{Line: line})
	}
	if why := diag.Encoding(data); why != "" {
		return Receipt{}, badReceipt("it %s", why).Hint(diag.EncodingHint)
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
	if _, err := bundle.ParseDigest(string(in.Tree)); err != nil {
		return Receipt{}, badReceipt("%w", err)
	}
	if _, ok := ref.ParseCommit(string(in.Commit)); !ok && in.Commit != "" {
		return Receipt{}, badReceipt("%q is not a full commit id", diag.Printable(string(in.Commit)))
	}
	if _, ok := ref.ParseDigest(string(in.Manifest)); !ok && in.Manifest != "" {
		return Receipt{}, badReceipt("%q is not the digest of a manifest", diag.Printable(string(in.Manifest)))
	}
	r := Receipt{
		Name: in.Name, Tree: in.Tree, Version: in.Version, Source: in.Source, URL: in.URL, Of: in.Of, Commit: in.Commit,
		Manifest: in.Manifest, Signer: (*lock.Signer)(in.Signer), GeneratedFrom: in.GeneratedFrom, Links: in.Links, CopyOf: in.CopyOf,
		Files: make(map[string]File, len(in.Files)),
	}
	for _, link := range in.Links {
		if err := bundle.CheckPath(link); err != nil || path.Base(link) != in.Name {
			return Receipt{}, badReceipt("%q is not a place of a link to %s", diag.Printable(link), in.Name)
		}
	}
	if err := bundle.CheckPath(in.CopyOf); in.CopyOf != "" && (err != nil || path.Base(in.CopyOf) != in.Name) {
		return Receipt{}, badReceipt("%q is not the place of what %s is a copy of", diag.Printable(in.CopyOf), in.Name)
	}
	for path, file := range in.Files {
		if err := bundle.CheckPath(path); err != nil {
			return Receipt{}, badReceipt("%w", err)
		}
		r.Files[path] = File(file)
	}
	if err := r.keepUnknown(data); err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// keepUnknown stores the fields of data that receiptJSON has no place for.
// The names of known fields match in any case, as encoding/json reads them.
func (r *Receipt) keepUnknown(data []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
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

// fileJSON is a File as a receipt writes it: [size,"sha256","mode"].
type fileJSON File

// UnmarshalJSON reads the three fields by hand: a project has thousands of them.
func (f *fileJSON) UnmarshalJSON(data []byte) error {
	text := string(bytes.Trim(data, "[]"))
	size, rest, _ := strings.Cut(text, ",")
	sum, mode, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseInt(strings.TrimSpace(size), 10, 64)
	sum, sumOK := unquote(sum)
	mode, modeOK := unquote(mode)
	if err != nil || n < 0 || !sumOK || !isSHA256(sum) || !modeOK || len(mode) != 1 || !strings.Contains("-xl", mode) {
		return fmt.Errorf("%q is not [size, sha256, mode] of a file", diag.Printable(string(data[:min(len(data), 100)])))
	}
	hex.Decode(f.SHA256[:], []byte(sum))
	f.Size, f.Mode = n, bundle.Kind(mode[0])
	return nil
}

func unquote(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", false
	}
	return s[1 : len(s)-1], true
}

// Format returns the written form: known fields in a fixed order, then unknown
// ones by name, one file per line, so that changes are readable in a review.
// ParseReceipt(r.Format()) equals r.
func (r Receipt) Format() []byte {
	fields := map[string]any{
		"v": ReceiptVersion, "name": r.Name, "tree": r.Tree, "version": r.Version, "source": r.Source, "url": r.URL, "of": r.Of,
		"commit": string(r.Commit), "manifest": string(r.Manifest), "copy_of": r.CopyOf,
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

//go:noinline
func badReceipt(format string, args ...any) *diag.Error {
	return diag.New(diag.Unmet, "E_RECEIPT", "the receipt cannot be used: "+format, args...)
}

// isElement reports whether name can be a directory directly below a root.
func isElement(name string) bool {
	return bundle.CheckPath(name) == nil && !strings.ContainsAny(name, "/:") && !strings.HasPrefix(name, stateDir)
}

// isSHA256 reports whether s is 64 lower-case hex digits.
func isSHA256(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}
