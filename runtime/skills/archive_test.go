package skills

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"flag"
	"io"
	"io/fs"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write skills.zip anew")

// The archive holds the directories beside it, and nothing else.
func TestArchive(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	want := map[string]string{}
	for _, dir := range []string{"canopy", "canopy-debug", "canopy-runtime"} {
		err := fs.WalkDir(os.DirFS("."), dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			want[path] = string(text)
			w, err := z.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Deflate})
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("skills.zip", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	err := fs.WalkDir(FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(FS(), path)
		if string(text) != want[path] {
			t.Errorf("%s is not what the directory has; go test ./runtime/skills -run TestArchive -update writes it", path)
		}
		delete(want, path)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for path := range want {
		t.Errorf("%s is missing; go test ./runtime/skills -run TestArchive -update writes it", path)
	}
}
