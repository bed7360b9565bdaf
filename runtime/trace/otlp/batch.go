package otlp

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

const (
	batchSize = 512
	batchTime = time.Second
)

// A batch gathers spans that ended and sends them, batchSize together or after batchTime, whichever comes first. add is called by one goroutine.
type batch struct {
	queue chan span
	done  chan struct{} // closed when the last span was sent or lost
	sent  *exporter
	about sender
	stop  context.CancelFunc
}

// A sender is the resource that spans are of.
type sender struct {
	attributes keyValues
	version    string
}

func newBatch(sent *exporter, about sender) *batch {
	ctx, stop := context.WithCancel(context.Background())
	b := &batch{queue: make(chan span, QueueSize), done: make(chan struct{}), sent: sent, about: about, stop: stop}
	go b.run(ctx)
	return b
}

// add queues s; with a full queue it is lost.
func (b *batch) add(s span) {
	select {
	case b.queue <- s:
	default:
	}
}

func (b *batch) run(ctx context.Context) {
	defer close(b.done)
	tick := time.NewTicker(batchTime)
	defer tick.Stop()
	var list []span
	send := func() {
		if len(list) > 0 {
			b.sent.export(ctx, b.request(list))
			list = nil
		}
	}
	for {
		select {
		case s, more := <-b.queue:
			if !more {
				send()
				return
			}
			if list = append(list, s); len(list) == batchSize {
				send()
			}
		case <-tick.C:
			send()
		}
	}
}

func (b *batch) request(list []span) request {
	var r resourceSpans
	var of scopeSpans
	r.Resource.keyValues = b.about.attributes
	of.Scope.Name, of.Scope.Version, of.Spans = "skl", b.about.version, list
	r.ScopeSpans = []scopeSpans{of}
	return request{[]resourceSpans{r}}
}

// close sends what is queued, for at most limit. Its error is that of the time.
func (b *batch) close(limit time.Duration) error {
	close(b.queue)
	defer b.stop()
	select {
	case <-b.done:
		return nil
	case <-time.After(limit):
		b.stop()
		<-b.done // its requests have the context that just ended
		return context.DeadlineExceeded
	}
}

// sender reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. Its error has code [CodeEndpoint].
func (v variables) sender(version string) (sender, error) {
	service := keyValue{"service.name", textValue("skl")}
	out := sender{version: version}
	out.attributes.Attributes = []keyValue{service, {"service.version", textValue(version)}}
	set := func(name, text string) {
		for i, a := range out.attributes.Attributes {
			if a.Key == name {
				out.attributes.Attributes[i].Value = textValue(text)
				return
			}
		}
		out.attributes.Attributes = append(out.attributes.Attributes, keyValue{name, textValue(text)})
	}
	const variable = "OTEL_RESOURCE_ATTRIBUTES"
	for i, pair := range strings.Split(v.value(variable), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, text, ok := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(text))
		if name = strings.TrimSpace(name); !ok || err != nil || name == "" {
			return out, unusable(variable, "its part %d is not NAME=VALUE", i+1)
		}
		set(clean(name), clean(text))
	}
	if name := v.value("OTEL_SERVICE_NAME"); name != "" {
		set("service.name", clean(name))
	}
	return out, nil
}

// clean is a text that a collector takes: one that is no UTF-8 would lose a whole batch.
func clean(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), MaxText)], "\ufffd")
}

// sampled decides as OTEL_TRACES_SAMPLER says whether the trace of a run is sent; a run is no part of another trace, so that the samplers
// by a parent are those without. Its error has code [CodeEndpoint].
func (v variables) sampled(trace id) (bool, error) {
	if strings.EqualFold(v.value("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	const variable = "OTEL_TRACES_SAMPLER"
	switch name := v.value(variable); strings.TrimPrefix(name, "parentbased_") {
	case "", "always_on":
		return true, nil
	case "always_off":
		return false, nil
	case "traceidratio":
		ratio := 1.0
		if text := v.value(variable + "_ARG"); text != "" {
			var err error
			if ratio, err = strconv.ParseFloat(text, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
				return false, unusable(variable+"_ARG", "%q is not a number from 0 to 1", diag.Printable(text))
			}
		}
		return ratio == 1 || binary.BigEndian.Uint64(trace[8:16])>>1 < uint64(ratio*math.MaxInt64), nil
	default:
		return false, unusable(variable, "%q is not always_on, always_off or traceidratio, with or without parentbased_ before it", diag.Printable(name))
	}
}

// newID is n random bytes.
func newID(n int) id {
	b := make(id, n)
	rand.Read(b) // never fails
	return b
}

// A live span is one that has not ended.
type live struct{ span }

func (s *live) set(list ...keyValue) {
next:
	for _, a := range list {
		for i, had := range s.Attributes {
			if had.Key == a.Key {
				s.Attributes[i] = a
				continue next
			}
		}
		s.Attributes = append(s.Attributes, a)
	}
}
