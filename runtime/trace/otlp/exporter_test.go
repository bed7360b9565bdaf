package otlp

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skl-project/skl/spec/diag"
)

// sample are spans with everything that a run sets, and with zeros.
func sample(t *testing.T) []sdk.ReadOnlySpan {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "skl"), attribute.String("empty", ""))))
	tracer := provider.Tracer("skl", trace.WithInstrumentationVersion("1.2.3"))
	ctx, root := tracer.Start(context.Background(), "invoke_workflow ü", trace.WithTimestamp(time.Unix(1700000000, 1)))
	_, child := tracer.Start(ctx, "chat", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.Bool("no", false), attribute.Bool("yes", true), attribute.Int("zero", 0), attribute.Int("least", -1), attribute.String("none", "")))
	child.AddEvent("decided", trace.WithTimestamp(time.Unix(1700000001, 0)), trace.WithAttributes(attribute.String("how", "model")))
	child.AddEvent("bare")
	child.SetStatus(codes.Error, "it failed")
	child.End()
	root.SetStatus(codes.Ok, "")
	root.End()
	return recorder.Ended()
}

// received is what a collector was sent last.
type received struct {
	header http.Header
	body   []byte
}

func listen(t *testing.T, answer func(w http.ResponseWriter)) (string, *received) {
	t.Helper()
	got := new(received)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.header = r.Header
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(body)
		}
		got.body, _ = io.ReadAll(body)
		if answer != nil {
			answer(w)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func environment(vars map[string]string) func(string) string {
	return func(name string) string {
		return vars["OTEL_EXPORTER_OTLP_"+strings.TrimPrefix(name, "OTEL_EXPORTER_OTLP_")]
	}
}

// Both encodings say what OpenTelemetry's own exporter says of the same spans.
func TestMessagesAsTheSDK(t *testing.T) {
	spans := sample(t)
	url, got := listen(t, nil)
	theirs, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(url+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	var want collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(got.body, &want); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"http/protobuf", "http/json"} {
		for _, compression := range []string{"none", "gzip"} {
			x, err := newExporter(Config{Endpoint: url, Getenv: environment(map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_COMPRESSION": compression})})
			if err != nil {
				t.Fatal(err)
			}
			if x.export(t.Context(), requestOf(spans)); x.err != nil || x.spans != 2 {
				t.Fatalf("%v, %d spans", x.err, x.spans)
			}
			var has collector.ExportTraceServiceRequest
			if protocol == "http/json" {
				// Ids are hexadecimal in OTLP, and base64 for protojson: only these are compared as text.
				text := string(got.body)
				for _, s := range want.ResourceSpans[0].ScopeSpans[0].Spans {
					for _, b := range [][]byte{s.TraceId, s.SpanId} {
						if !strings.Contains(string(got.body), `"`+hexOf(b)+`"`) {
							t.Errorf("%s: no id %x in %s", protocol, b, got.body)
						}
						text = strings.ReplaceAll(text, `"`+hexOf(b)+`"`, `"`+base64Of(b)+`"`)
					}
				}
				err = protojson.Unmarshal([]byte(text), &has)
			} else {
				err = proto.Unmarshal(got.body, &has)
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", protocol, err, got.body)
			}
			if !proto.Equal(&want, &has) {
				t.Errorf("%s, %s:\n%s\nwant\n%s", protocol, compression, protojson.Format(&has), protojson.Format(&want))
			}
			media := map[string]string{"http/protobuf": mediaProtobuf, "http/json": mediaJSON}[protocol]
			if got.header.Get("Content-Type") != media {
				t.Errorf("media type %q", got.header.Get("Content-Type"))
			}
		}
	}
}

// The variables that say where and how; what cannot be used is refused by its name.
func TestVariables(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		vars     map[string]string
		endpoint string // of the configuration
		url      string // "" is refused
		says     string
	}{
		{nil, "", "http://localhost:4318/v1/traces", ""},
		{nil, "https://c.example/base/", "https://c.example/base/v1/traces", ""},
		{map[string]string{"ENDPOINT": "http://c.example:1"}, "", "http://c.example:1/v1/traces", ""},
		{map[string]string{"TRACES_ENDPOINT": "http://c.example:1"}, "", "http://c.example:1/", ""},
		{map[string]string{"TRACES_ENDPOINT": "http://c.example/t", "ENDPOINT": "http://other"}, "", "http://c.example/t", ""},
		{map[string]string{"TRACES_ENDPOINT": "http://c.example/t"}, "http://mine", "http://mine/v1/traces", ""},
		{map[string]string{"ENDPOINT": "c.example:4318"}, "", "", "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{map[string]string{"TRACES_ENDPOINT": "ftp://u:secret@c.example"}, "", "", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
		{map[string]string{"PROTOCOL": "grpc"}, "", "", `OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not http/protobuf or http/json`},
		{map[string]string{"TRACES_COMPRESSION": "br"}, "", "", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION"},
		{map[string]string{"TIMEOUT": "10s"}, "", "", "OTEL_EXPORTER_OTLP_TIMEOUT"},
		{map[string]string{"HEADERS": "authorization=secret,secret"}, "", "", "OTEL_EXPORTER_OTLP_HEADERS: its part 2"},
		{map[string]string{"HEADERS": "a=b%0d%0asecret"}, "", "", "OTEL_EXPORTER_OTLP_HEADERS: its part 1"},
		{map[string]string{"CERTIFICATE": filepath.Join(dir, "none.pem")}, "", "", "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		{map[string]string{"CERTIFICATE": empty}, "", "", "it holds no certificate"},
		{map[string]string{"CLIENT_KEY": empty}, "", "", "there is no OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
		{map[string]string{"CLIENT_CERTIFICATE": empty, "CLIENT_KEY": empty}, "", "", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
	} {
		vars := map[string]string{}
		for name, value := range maps.All(tt.vars) {
			vars["OTEL_EXPORTER_OTLP_"+name] = value
		}
		x, err := newExporter(Config{Endpoint: tt.endpoint, Getenv: environment(vars)})
		switch {
		case tt.url != "":
			if err != nil || x.url != tt.url {
				t.Errorf("%v: %v, %v; want %s", tt.vars, x, err, tt.url)
			}
		case diag.ClassOf(err) != diag.Misuse || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "secret"):
			t.Errorf("%v: %v; want %s", tt.vars, err, tt.says)
		}
	}
}

// A collector of one's own authority is believed, and no other.
func TestCertificate(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", file} {
		x, err := newExporter(Config{Endpoint: server.URL, Getenv: environment(map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": name})})
		if err != nil {
			t.Fatal(err)
		}
		x.export(t.Context(), requestOf(sample(t)))
		if _, unknown := x.err.(interface{ Unwrap() error }); (name == "") != unknown {
			t.Errorf("with %q: %v", name, x.err)
		}
	}
}

// Spans that the collector did not take are counted, in both encodings of its answer; an answer that nobody can read refuses none.
func TestRefusedSpans(t *testing.T) {
	partial, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too long\x1b[2J"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		media, body string
		taken       int
		says        string
	}{
		{mediaProtobuf, string(partial), 1, "too long"},
		{mediaJSON, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too long"}}`, 1, "too long"},
		{mediaJSON, `{"partialSuccess":{"rejectedSpans":99,"errorMessage":"more than there were"}}`, 0, "more than"},
		{mediaProtobuf, "", 2, ""},
		{mediaProtobuf, "\x0a\xff\xff\xff\xff\x0f", 2, ""},
		{mediaJSON, "no JSON", 2, ""},
	} {
		url, _ := listen(t, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", tt.media)
			io.WriteString(w, tt.body)
		})
		x, err := newExporter(Config{Endpoint: url})
		if err != nil {
			t.Fatal(err)
		}
		x.export(t.Context(), requestOf(sample(t)))
		if x.spans != tt.taken || (x.err != nil) != (tt.says != "") || x.err != nil && (!strings.Contains(x.err.Error(), tt.says) || strings.Contains(x.err.Error(), "\x1b")) {
			t.Errorf("%q: %d taken, %v; want %d, %s", tt.body, x.spans, x.err, tt.taken, tt.says)
		}
	}
}

// An answer is bytes of a stranger.
func FuzzRefusal(f *testing.F) {
	f.Add(mediaProtobuf, []byte("\x0a\x04\x08\x01\x12\x00"))
	f.Add(mediaJSON, []byte(`{"partialSuccess":{"rejectedSpans":"1"}}`))
	f.Fuzz(func(t *testing.T, media string, answer []byte) {
		if n, _ := refusal(media, answer); n < 0 {
			t.Error(n)
		}
	})
}

func hexOf(b []byte) string    { return hex.EncodeToString(b) }
func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// requestOf puts spans, all of one provider and one tracer, into a request.
func requestOf(spans []sdk.ReadOnlySpan) request {
	if len(spans) == 0 {
		return request{}
	}
	of, list := resourceSpans{}, scopeSpans{}
	if r := spans[0].Resource(); r != nil {
		of.Resource.keyValues, of.SchemaURL = attributesOf(r.Attributes(), 0), r.SchemaURL()
	}
	list.Scope.Name, list.Scope.Version = spans[0].InstrumentationScope().Name, spans[0].InstrumentationScope().Version
	for _, s := range spans {
		list.Spans = append(list.Spans, spanOf(s))
	}
	of.ScopeSpans = []scopeSpans{list}
	return request{[]resourceSpans{of}}
}

func spanOf(s sdk.ReadOnlySpan) span {
	trace, own := s.SpanContext().TraceID(), s.SpanContext().SpanID()
	out := span{TraceID: trace[:], SpanID: own[:], Flags: uint32(s.SpanContext().TraceFlags()) | fromLocal, Name: s.Name(), Kind: int(s.SpanKind()),
		Start: nano(s.StartTime()), End: nano(s.EndTime()), keyValues: attributesOf(s.Attributes(), s.DroppedAttributes()), DroppedEvents: s.DroppedEvents()}
	if parent := s.Parent().SpanID(); parent.IsValid() {
		out.ParentID = parent[:]
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, event{nano(e.Time), e.Name, attributesOf(e.Attributes, e.DroppedAttributeCount)})
	}
	switch s.Status().Code {
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status.Code, out.Status.Message = 2, s.Status().Description
	}
	return out
}

func attributesOf(list []attribute.KeyValue, dropped int) keyValues {
	out := keyValues{Dropped: dropped}
	for _, a := range list {
		v := value{}
		switch a.Value.Type() {
		case attribute.BOOL:
			b := a.Value.AsBool()
			v.Bool = &b
		case attribute.INT64:
			n := a.Value.AsInt64()
			v.Number = &n
		default:
			text := a.Value.String()
			v.Text = &text
		}
		out.Attributes = append(out.Attributes, keyValue{string(a.Key), v})
	}
	return out
}

// The environment says as whom spans are sent, and whether.
func TestSenderAndSampler(t *testing.T) {
	half := id("\xff\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff")
	over := id("\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff")
	for _, tt := range []struct {
		vars  map[string]string
		trace id
		sent  bool
		says  string // of a refusal
	}{
		{nil, half, true, ""},
		{map[string]string{"OTEL_SDK_DISABLED": "TRUE"}, half, false, ""},
		{map[string]string{"OTEL_TRACES_SAMPLER": "always_off"}, half, false, ""},
		{map[string]string{"OTEL_TRACES_SAMPLER": "parentbased_always_off"}, half, false, ""},
		{map[string]string{"OTEL_TRACES_SAMPLER": "parentbased_always_on"}, half, true, ""},
		{map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.6"}, half, true, ""},
		{map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.6"}, over, false, ""},
		{map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio"}, over, true, ""},
		{map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}, half, false, ""},
		{map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "NaN"}, half, false, "OTEL_TRACES_SAMPLER_ARG"},
		{map[string]string{"OTEL_TRACES_SAMPLER": "jaeger_remote"}, half, false, "OTEL_TRACES_SAMPLER"},
	} {
		sent, err := variables{func(name string) string { return tt.vars[name] }}.sampled(tt.trace)
		if sent != tt.sent || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v, %v", tt.vars, sent, err)
		}
	}
	vars := map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "service.name=other, team=d%20ocs,,", "OTEL_SERVICE_NAME": "nightly"}
	about, err := variables{func(name string) string { return vars[name] }}.sender("1.2")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, a := range about.attributes.Attributes {
		got[a.Key] = *a.Value.Text
	}
	if want := map[string]string{"service.name": "nightly", "service.version": "1.2", "team": "d ocs"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	vars["OTEL_RESOURCE_ATTRIBUTES"] = "team"
	if _, err := (variables{func(name string) string { return vars[name] }}).sender(""); err == nil {
		t.Error("a part that is not NAME=VALUE was passed over")
	}
}
