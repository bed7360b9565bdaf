package s3

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// An Address is s3://bucket/prefix?endpoint=URL&region=NAME&path_style=BOOL. Without an endpoint it is Amazon's of the region,
// without a region that is us-east-1. The bucket is part of the path of requests with path_style, and by default with an endpoint.
//
// It holds no key. That comes from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, from the file of credentials that AWS_SHARED_CREDENTIALS_FILE
// or the home directory names, or from the role of the machine, container or pod.
type Address struct {
	text     string
	bucket   string
	prefix   string // "" or with a slash at its end
	endpoint url.URL
	region   string
	path     bool
}

// String is the address as it was written.
func (a Address) String() string { return a.text }

// ParseAddress reads an address. It refuses one without TLS beyond loopback.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.Fragment != "" {
		return Address{}, invalid("%s is no place for blobs", diag.Brief(text, 160))
	}
	if u.User != nil {
		return Address{}, diag.New(diag.Misuse, "invalid_blobs", "the address of the blobs holds a key").
			Hint("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, and leave it out here")
	}
	a := Address{text: text, bucket: u.Host, prefix: strings.Trim(u.Path, "/"), region: "us-east-1"}
	if err := s3utils.CheckValidBucketNameStrict(a.bucket); err != nil {
		return Address{}, invalid("%s is not the name of a bucket: %w", diag.Brief(a.bucket, 80), err)
	}
	if a.prefix != "" {
		a.prefix += "/"
	}
	if slices.ContainsFunc(strings.Split(a.prefix, "/"), func(part string) bool { return part == "." || part == ".." }) ||
		strings.Contains(a.prefix, "//") || strings.ContainsFunc(a.prefix, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }) || len(a.prefix) > 500 {
		return Address{}, invalid("%s is not a prefix for blobs: letters, digits and slashes are", diag.Brief(a.prefix, 80))
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, invalid("what is behind the question mark of the address of the blobs cannot be read")
	}
	for name, values := range query {
		if err := a.set(name, values); err != nil {
			return Address{}, err
		}
	}
	if a.endpoint.Host == "" {
		a.endpoint = url.URL{Scheme: "https", Host: "s3." + a.region + ".amazonaws.com"}
	}
	return a, nil
}

// set takes a parameter.
func (a *Address) set(name string, values []string) (err error) {
	if len(values) != 1 || values[0] == "" {
		return invalid("the address of the blobs has no one value for %s", diag.Brief(name, 80))
	}
	value := values[0]
	switch name {
	case "region":
		a.region = value
		if strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			err = invalid("%s is not the name of a region", diag.Brief(value, 80))
		}
	case "path_style":
		if a.path, err = strconv.ParseBool(value); err != nil {
			err = invalid("path_style is true or false")
		}
	case "endpoint":
		err = a.setEndpoint(value)
	default:
		err = invalid("the address of the blobs has no parameter %s: endpoint, region, path_style", diag.Brief(name, 80))
	}
	return err
}

func (a *Address) setEndpoint(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return invalid("the endpoint %s is not https:// and a host", diag.Brief(value, 80))
	}
	if u.Scheme == "http" && !origin.Loopback(u.Host) {
		return diag.New(diag.Refused, "tls_needed", "the blobs on %s would cross the network in the clear", u.Host).
			Hint("give it an endpoint that begins with https://")
	}
	a.endpoint = url.URL{Scheme: u.Scheme, Host: u.Host}
	return nil
}

func invalid(format string, args ...any) error {
	return diag.New(diag.Misuse, "invalid_blobs", format, args...).Hint("it is s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME")
}

// connect makes a client. It asks nothing.
func (a Address) connect() (*bucket, error) {
	lookup := minio.BucketLookupDNS
	if a.path || !strings.HasSuffix(a.endpoint.Host, ".amazonaws.com") {
		lookup = minio.BucketLookupPath
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = answerTime
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	transport.MaxIdleConnsPerHost = 64
	transport.DisableCompression = true
	client, err := minio.NewCore(a.endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Transport: transport, Timeout: answerTime}},
		}),
		Secure: a.endpoint.Scheme == "https", Transport: transport, Region: a.region, BucketLookup: lookup, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.text, err)
	}
	return &bucket{Core: client, name: a.bucket, prefix: a.prefix}, nil
}

// explain is an error of opening the store, to whoever names its address.
func (a Address) explain(err error) error {
	if !errors.Is(err, blob.ErrUnavailable) {
		return err
	}
	e := diag.New(diag.Failed, "unavailable", "the bucket %s on %s is not available: %s", a.bucket, a.endpoint.Host, reason(err)).
		Hint("does it exist, and do AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role, give a key for it?")
	e.Err, e.Retryable = err, true
	return e
}
