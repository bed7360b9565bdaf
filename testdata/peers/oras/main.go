// Command oras does with the library of the oras project what its command does: push, pull, copy with
// referrers, attach and discover. The command itself is not to be had as a module here.
//
//	oras push     REF FILE...                 [-type T]
//	oras pull     REF [DIR]                   into the working directory if none is named
//	oras login    HOST                        with -username and -password-stdin; kept where docker keeps credentials
//	oras copy     FROM TO                     with -r also what refers to it
//	oras attach   REF FILE -type T
//	oras discover REF                         prints "TYPE DIGEST" of each referrer
//	oras tags     HOST/REPO
//
// As with the command of the project flags may stand behind arguments. All registries are asked over plain HTTP. With -user and
// -password both sides get these credentials, otherwise those that login, docker or crane keep.
// Push and attach print the digest of the manifest.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

var (
	user         = flag.String("user", "", "user name")
	password     = flag.String("password", "", "password")
	artifactType = flag.String("type", "application/vnd.example.note", "artifact type")
	recursive    = flag.Bool("r", false, "copy referrers too")
	fromStdin    = flag.Bool("password-stdin", false, "read the password from standard input")
	_            = flag.Bool("plain-http", true, "ask over plain HTTP, as it does anyway")
)

func main() {
	flag.StringVar(user, "username", "", "user name")
	var args []string
	for rest := os.Args[1:]; ; {
		flag.CommandLine.Parse(rest)
		if flag.NArg() == 0 {
			break
		}
		args, rest = append(args, flag.Arg(0)), flag.Args()[1:]
	}
	if len(args) == 0 {
		args = []string{""}
	}
	if err := run(context.Background(), args[0], args); err != nil {
		fmt.Fprintln(os.Stderr, "oras:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command string, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("no command or reference")
	}
	if command == "login" {
		return login(ctx, args[1])
	}
	repo, err := open(args[1])
	if err != nil {
		return err
	}
	reference := repo.Reference.Reference
	switch {
	case command == "push" && len(args) > 2:
		return push(ctx, repo, args[2:], nil, reference)
	case command == "attach" && len(args) == 3:
		subject, err := repo.Resolve(ctx, reference)
		if err != nil {
			return err
		}
		return push(ctx, repo, args[2:], &subject, "")
	case command == "pull" && len(args) <= 3:
		return pull(ctx, repo, reference, append(args, ".")[2])
	case command == "copy" && len(args) == 3:
		to, err := open(args[2])
		if err != nil {
			return err
		}
		if *recursive {
			_, err = oras.ExtendedCopy(ctx, repo, reference, to, to.Reference.Reference, oras.DefaultExtendedCopyOptions)
		} else {
			_, err = oras.Copy(ctx, repo, reference, to, to.Reference.Reference, oras.DefaultCopyOptions)
		}
		return err
	case command == "discover":
		subject, err := repo.Resolve(ctx, reference)
		if err != nil {
			return err
		}
		return repo.Referrers(ctx, subject, "", func(found []v1.Descriptor) error {
			for _, d := range found {
				fmt.Println(d.ArtifactType, d.Digest)
			}
			return nil
		})
	case command == "tags":
		return repo.Tags(ctx, "", func(tags []string) error {
			for _, tag := range tags {
				fmt.Println(tag)
			}
			return nil
		})
	}
	return fmt.Errorf("no such command, or not with these arguments: %q", args)
}

func open(text string) (*remote.Repository, error) {
	reference, err := registry.ParseReference(text)
	if err != nil {
		return nil, err
	}
	repo, err := remote.NewRepository(reference.Registry + "/" + reference.Repository)
	if err != nil {
		return nil, err
	}
	repo.Reference.Reference = reference.Reference
	repo.PlainHTTP = true
	client := &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache()}
	if *password != "" {
		client.Credential = auth.StaticCredential(reference.Registry, auth.Credential{Username: *user, Password: *password})
	} else if store, err := kept(); err == nil {
		client.Credential = credentials.Credential(store)
	}
	repo.Client = client
	return repo, nil
}

// kept is where docker keeps credentials.
func kept() (credentials.Store, error) {
	return credentials.NewStoreFromDocker(credentials.StoreOptions{AllowPlaintextPut: true})
}

// login shows a credential to a registry, and keeps it.
func login(ctx context.Context, host string) error {
	if *fromStdin {
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		*password = strings.TrimSpace(string(text))
	}
	store, err := kept()
	if err != nil {
		return err
	}
	r, err := remote.NewRegistry(host)
	if err != nil {
		return err
	}
	r.PlainHTTP = true
	return credentials.Login(ctx, store, r, auth.Credential{Username: *user, Password: *password})
}

// push stores files as an artifact, attached to subject if there is one.
func push(ctx context.Context, repo *remote.Repository, files []string, subject *v1.Descriptor, tag string) error {
	scratch, err := os.MkdirTemp("", "oras")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	store, err := file.New(scratch)
	if err != nil {
		return err
	}
	defer store.Close()
	options := oras.PackManifestOptions{Subject: subject}
	for _, name := range files {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		d, err := store.Add(ctx, filepath.Base(name), "", path)
		if err != nil {
			return err
		}
		options.Layers = append(options.Layers, d)
	}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, *artifactType, options)
	if err != nil {
		return err
	}
	if err := oras.CopyGraph(ctx, store, repo, manifest, oras.DefaultCopyGraphOptions); err != nil {
		return err
	}
	if tag != "" {
		if err := repo.Tag(ctx, manifest, tag); err != nil {
			return err
		}
	}
	fmt.Println(manifest.Digest)
	return nil
}

func pull(ctx context.Context, repo *remote.Repository, reference, dir string) error {
	store, err := file.New(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = oras.Copy(ctx, repo, reference, store, reference, oras.DefaultCopyOptions)
	return err
}
