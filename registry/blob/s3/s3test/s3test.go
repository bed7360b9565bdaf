// Package s3test starts an S3 server for tests: one for the process, on a free port of 127.0.0.1, with a directory of its own. It
// stops when the process ends, however that is. It is versitygw, as testdata/peers fixes it. The environment variable SKL_TEST_S3 names
// another endpoint, with a bucket that is called as [Bucket] and the key in AWS_ACCESS_KEY_ID.
package s3test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/skl-project/skl/registry/oci/peertest"
	"github.com/skl-project/skl/registry/registrytest/keep"
)

// Bucket is the name of the bucket that all tests share; each has a prefix of its own.
const Bucket = "skl-tests"

// variable names a server that is there already.
const variable = "SKL_TEST_S3"

var shared struct {
	once     sync.Once
	endpoint string
	err      error
}

// errMissing says that the server cannot be had here.
var errMissing = errors.New("there is no S3 server")

// Address returns a place for blobs that holds nothing. Without a server the test is skipped; with SKL_TEST_REQUIRE=all it fails.
func Address(t testing.TB) string {
	t.Helper()
	address, err := Place()
	if errors.Is(err, errMissing) {
		peertest.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Place is Address for what is no test.
func Place() (string, error) {
	endpoint, err := Endpoint()
	if err != nil {
		return "", err
	}
	return At(endpoint), nil
}

// Endpoint is the URL of the server.
func Endpoint() (string, error) {
	shared.once.Do(func() {
		if shared.endpoint = os.Getenv(variable); shared.endpoint == "" {
			if shared.endpoint, shared.err = start(); shared.err == nil {
				os.Setenv(variable, shared.endpoint) // for the processes that tests start
			}
		}
	})
	return shared.endpoint, shared.err
}

// At is a place for blobs that holds nothing, on the shared server by way of an endpoint.
func At(endpoint string) string {
	return fmt.Sprintf("s3://%s/%s?endpoint=%s", Bucket, "test-"+strings.ToLower(rand.Text()[:12]), url.QueryEscape(endpoint))
}

// Client is one for the shared server, behind the back of what is tested.
func Client(t testing.TB) *minio.Core {
	t.Helper()
	endpoint, err := Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func client(endpoint string) (*minio.Core, error) {
	return minio.NewCore(strings.TrimPrefix(endpoint, "http://"), &minio.Options{Creds: credentials.NewEnvAWS(), Region: "us-east-1", BucketLookup: minio.BucketLookupPath})
}

func start() (string, error) {
	if _, err := exec.LookPath("sh"); err != nil {
		return "", fmt.Errorf("%w: %w", errMissing, err)
	}
	program, err := peertest.Build(peertest.Gateway)
	if err != nil {
		return "", fmt.Errorf("%w: %s cannot be built here: %w", errMissing, filepath.Base(peertest.Gateway), err)
	}
	dir, err := os.MkdirTemp("", "skl-s3-")
	if err != nil {
		return "", err
	}
	for _, sub := range []string{"data", "attributes"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return "", err
		}
	}
	os.Setenv("AWS_ACCESS_KEY_ID", "skl")
	os.Setenv("AWS_SECRET_ACCESS_KEY", rand.Text())
	host := ""
	if err := keep.OnFreePort(func(port int) error {
		host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		return serve(program, dir, host)
	}); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return "http://" + host, nil
}

// serve starts the server, which stops when this process ends, and makes the bucket.
func serve(program, dir, host string) error {
	cmd := exec.Command(program, "--port", host, "--quiet", "--keep-alive", "--health", "/health", "posix", "--sidecar", filepath.Join(dir, "attributes"), filepath.Join(dir, "data"))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+os.Getenv("AWS_ACCESS_KEY_ID"), "ROOT_SECRET_KEY="+os.Getenv("AWS_SECRET_ACCESS_KEY"))
	_, err := keep.Start(cmd, "TERM", dir, func(ended <-chan error) error {
		if err := answers("http://"+host+"/health", ended); err != nil {
			return err
		}
		return makeBucket("http://" + host)
	})
	return err
}

func makeBucket(endpoint string) error {
	c, err := client(endpoint)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return c.MakeBucket(ctx, Bucket, minio.MakeBucketOptions{})
}

// answers waits until the server answers.
func answers(address string, ended <-chan error) error {
	for deadline, tick := time.After(time.Minute), time.Tick(50*time.Millisecond); ; {
		r, err := http.Get(address)
		if err == nil {
			r.Body.Close()
			return nil
		}
		select {
		case <-tick:
		case e := <-ended:
			return errors.Join(err, e)
		case <-deadline:
			return err
		}
	}
}
