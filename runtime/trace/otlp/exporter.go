package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

const (
	mediaProtobuf = "application/x-protobuf"
	mediaJSON     = "application/json"

	defaultEndpoint = "http://localhost:4318"
	defaultTimeout  = 10 * time.Second // of one request
	firstPause      = 200 * time.Millisecond
	maxPause        = time.Second
	maxAnswer       = 64 << 10 // bytes of an answer that are read
)

// An exporter sends batches of spans by OTLP/HTTP. OpenTelemetry's own SDK and exporter, which do the same and more, are 750 KB of the
// program; tests hold this one against them. See https://opentelemetry.io/docs/specs/otlp/ and https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
type exporter struct {
	url     string
	media   string
	headers map[string]string
	gzip    bool
	client  *http.Client

	mu    sync.Mutex // guards what is below
	spans int        // that the collector took
	err   error      // why it did not take others
}

// newExporter reads the variables that the specification names, those for traces before those for all signals; an endpoint of
// cfg counts before both. Its error has code [CodeEndpoint], and names the variable without its value where that may be a secret.
func newExporter(cfg Config) (*exporter, error) {
	env := variables{cfg.Getenv}
	x := &exporter{media: mediaProtobuf, headers: map[string]string{}}
	var err error
	if x.url, err = env.endpoint(cfg.Endpoint); err != nil {
		return nil, err
	}
	switch name, value := env.get("PROTOCOL"); value {
	case "", "http/protobuf":
	case "http/json":
		x.media = mediaJSON
	default:
		return nil, unusable(name, "%q is not http/protobuf or http/json", value)
	}
	switch name, value := env.get("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		x.gzip = true
	default:
		return nil, unusable(name, "%q is not gzip or none", value)
	}
	timeout := defaultTimeout
	if name, value := env.get("TIMEOUT"); value != "" {
		ms, err := strconv.Atoi(value)
		if err != nil || ms < 0 || ms > int(time.Hour/time.Millisecond) {
			return nil, unusable(name, "%q is not a number of milliseconds", value)
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	if err := x.addHeaders(env.get("HEADERS")); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig, err = env.certificates(); err != nil {
		return nil, err
	}
	x.client = &http.Client{Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // it would carry the headers elsewhere
	return x, nil
}

// addHeaders adds those of a variable: NAME=VALUE, with commas between and percent signs as in a URL.
func (x *exporter) addHeaders(variable, text string) error {
	for i, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name, nameErr := url.PathUnescape(strings.TrimSpace(name))
		value, valueErr := url.PathUnescape(strings.TrimSpace(value))
		if !ok || nameErr != nil || valueErr != nil || name == "" || strings.ContainsAny(name+value, "\r\n\x00") {
			return unusable(variable, "its part %d is not NAME=VALUE", i+1)
		}
		x.headers[name] = value
	}
	return nil
}

func unusable(variable, format string, args ...any) error {
	return diag.New(diag.Misuse, CodeEndpoint, "%s: %s", variable, fmt.Sprintf(format, args...))
}

// variables reads OTEL_EXPORTER_OTLP_ and what follows.
type variables struct{ getenv func(string) string }

func (v variables) value(name string) string {
	if v.getenv == nil {
		return ""
	}
	return strings.TrimSpace(v.getenv(name))
}

// get is the variable for traces, else that for all signals.
func (v variables) get(name string) (variable, value string) {
	for _, variable = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
		if value = v.value(variable); value != "" {
			return variable, value
		}
	}
	return variable, ""
}

// endpoint is where spans go: configured and the variable for all signals are the address of a collector, that for traces is the
// address of the resource itself.
func (v variables) endpoint(configured string) (string, error) {
	variable, text := v.get("ENDPOINT")
	if configured != "" {
		variable, text = "", configured
	}
	text = cmp.Or(text, defaultEndpoint)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		e := diag.New(diag.Misuse, CodeEndpoint, "%q is not the address of a collector", diag.Printable(text))
		if variable != "" {
			e = diag.New(diag.Misuse, CodeEndpoint, "%s is not the address of a collector", variable) // it may hold a password
		}
		return "", e.Hint(defaultEndpoint)
	}
	if strings.Contains(variable, "TRACES") {
		u.Path = cmp.Or(u.Path, "/")
	} else {
		u.Path = path.Join("/", u.Path, "v1", "traces")
	}
	return u.String(), nil
}

// certificates are the authorities and the certificate of our own that the variables name; nil if they name none.
func (v variables) certificates() (*tls.Config, error) {
	var cfg tls.Config
	if name, file := v.get("CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		cfg.RootCAs = x509.NewCertPool()
		if err == nil && !cfg.RootCAs.AppendCertsFromPEM(pem) {
			err = errors.New("it holds no certificate")
		}
		if err != nil {
			return nil, unusable(name, "%v", err)
		}
	}
	name, file := v.get("CLIENT_CERTIFICATE")
	other, key := v.get("CLIENT_KEY")
	switch {
	case file != "" && key != "":
		pair, err := tls.LoadX509KeyPair(file, key)
		if err != nil {
			return nil, unusable(name, "%v", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	case file != "":
		return nil, unusable(name, "there is no %s", other)
	case key != "":
		return nil, unusable(other, "there is no %s", name)
	}
	if cfg.RootCAs == nil && cfg.Certificates == nil {
		return nil, nil
	}
	return &cfg, nil
}

// export sends r and keeps what came of it.
func (x *exporter) export(ctx context.Context, r request) {
	rejected, err := x.send(ctx, r)
	n := r.count()
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.err = err
	}
	x.spans += n - min(rejected, n)
}

// taken is how many spans the collector took, and the last reason why it did not take others.
func (x *exporter) taken() (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spans, x.err
}

// send posts r, again after a pause where the collector asks for that, for at most [FlushTimeout]. It returns how many spans were not taken.
func (x *exporter) send(ctx context.Context, r request) (rejected int, err error) {
	all := r.count()
	body := r.append(nil)
	if x.media == mediaJSON {
		if body, err = json.Marshal(r); err != nil {
			return all, err
		}
	}
	if x.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(body); err != nil {
			return all, err
		}
		if err := w.Close(); err != nil {
			return all, err
		}
		body = packed.Bytes()
	}
	end := time.Now().Add(FlushTimeout)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		rejected, wait, err := x.post(ctx, body)
		if err == nil || wait == 0 {
			if err != nil && rejected == 0 {
				rejected = all
			}
			return rejected, err
		}
		wait = max(wait, pause)
		if time.Now().Add(wait).After(end) {
			return all, err
		}
		select {
		case <-ctx.Done():
			return all, err
		case <-time.After(wait):
		}
	}
}

// post sends one request. wait is 0 if there is no use in sending it again.
func (x *exporter) post(ctx context.Context, body []byte) (rejected int, wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set("User-Agent", "skl")
	for name, value := range x.headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", x.media)
	if x.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := x.client.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return 0, 0, err
	case resp.StatusCode/100 == 2:
		n, message := refusal(resp.Header.Get("Content-Type"), answer)
		if n == 0 && message == "" {
			return 0, 0, nil
		}
		return n, 0, fmt.Errorf("the collector refused %d: %s", n, diag.Clip(diag.Printable(message), 200))
	}
	err = fmt.Errorf("%s: %s", resp.Status, diag.Clip(diag.Printable(strings.TrimSpace(string(answer))), 200))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		wait = time.Millisecond
		if seconds, aerr := strconv.Atoi(resp.Header.Get("Retry-After")); aerr == nil && seconds > 0 {
			wait = time.Duration(min(seconds, 3600)) * time.Second
		}
	}
	return 0, wait, err
}
