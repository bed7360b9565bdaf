//go:build ignore

// Writes what a release holds beside the program: the pages of the manual, compressed, and the completion script of each shell.
//
//	go run cmd/skl/internal/release/papers.go -version 1.4.2 -date 2026-11-23T01:44:42Z DIR
//
// DIR/man and DIR/completions are written anew.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
)

// completions are the files that packages install, by shell.
var completions = map[string]string{"bash": "skl.bash", "zsh": "_skl", "fish": "skl.fish", "powershell": "skl.ps1"}

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "`VERSION` that the pages name")
	date := flag.String("date", "", "`TIME` of the commit, in the form of RFC 3339")
	flag.Parse()
	if flag.NArg() != 1 || *version == "" {
		log.Fatal("usage: papers.go -version VERSION -date TIME DIR")
	}
	day, err := time.Parse(time.RFC3339, *date)
	if err != nil {
		log.Fatalf("-date: %v", err)
	}
	if err := write(flag.Arg(0), *version, day); err != nil {
		log.Fatal(err)
	}
}

func write(dir, version string, day time.Time) error {
	files := map[string][]byte{}
	for name, text := range cli.Manual(version, day).Pages() {
		small, err := compressed(text)
		if err != nil {
			return err
		}
		files[filepath.Join("man", name+".gz")] = small
	}
	for shell, name := range completions {
		var out, errs bytes.Buffer
		if code := cli.Run(context.Background(), []string{"completion", shell}, cli.Process{Dir: dir, Stdout: &out, Stderr: &errs}); code != 0 {
			return fmt.Errorf("skl completion %s: exit %d: %s", shell, code, errs.Bytes())
		}
		files[filepath.Join("completions", name)] = out.Bytes()
	}
	for _, part := range []string{"man", "completions"} {
		if err := os.RemoveAll(filepath.Join(dir, part)); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(dir, part), 0o755); err != nil {
			return err
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compressed has no time and no name in its header: the same page gives the same bytes.
func compressed(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
