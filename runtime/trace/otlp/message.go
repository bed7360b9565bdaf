package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of OTLP as far as spans of a run need them: written as protobuf by append, with the numbers of
// opentelemetry/proto/{collector/trace,trace,common,resource}/v1, and as JSON by their tags, where 64-bit numbers are strings.

type request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   struct{ keyValues } `json:"resource"`
	ScopeSpans []scopeSpans        `json:"scopeSpans"`
	SchemaURL  string              `json:"schemaUrl,omitempty"`
}

type scopeSpans struct {
	Scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	} `json:"scope"`
	Spans []span `json:"spans"`
}

type span struct {
	TraceID  id     `json:"traceId"`
	SpanID   id     `json:"spanId"`
	ParentID id     `json:"parentSpanId,omitempty"`
	Flags    uint32 `json:"flags"`
	Name     string `json:"name"`
	Kind     int    `json:"kind"`
	Start    nano   `json:"startTimeUnixNano"`
	End      nano   `json:"endTimeUnixNano"`
	keyValues
	Events        []event `json:"events,omitempty"`
	DroppedEvents int     `json:"droppedEventsCount,omitempty"`
	Status        struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	} `json:"status"`
}

type event struct {
	Time nano   `json:"timeUnixNano"`
	Name string `json:"name"`
	keyValues
}

// keyValues are attributes, and how many there were besides.
type keyValues struct {
	Attributes []keyValue `json:"attributes,omitempty"`
	Dropped    int        `json:"droppedAttributesCount,omitempty"`
}

type keyValue struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// A value is one of the kinds that this package sets.
type value struct {
	Text   *string `json:"stringValue,omitempty"`
	Bool   *bool   `json:"boolValue,omitempty"`
	Number *int64  `json:"intValue,omitempty,string"`
}

type (
	id   []byte // hexadecimal in JSON
	nano time.Time
)

func (i id) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(i)) }

func (n nano) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatUint(n.unix(), 10)) }

func (n nano) unix() uint64 { return uint64(max(time.Time(n).UnixNano(), 0)) }

const (
	fromLocal    = 0x100 // of Flags: they tell whether a parent is remote, and it is not
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

func textValue(s string) value { return value{Text: &s} }

// flag is an attribute that is true.
func flag(name string) keyValue {
	yes := true
	return keyValue{name, value{Bool: &yes}}
}

func (r request) count() (n int) {
	for _, of := range r.ResourceSpans {
		for _, list := range of.ScopeSpans {
			n += len(list.Spans)
		}
	}
	return n
}

// message appends field number n, a message that fill writes.
func message(b []byte, n protowire.Number, fill func([]byte) []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), fill(nil))
}

func bytesField[T ~[]byte | ~string](b []byte, n protowire.Number, v T) []byte {
	if len(v) == 0 {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), string(v))
}

func varint(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func fixed(b []byte, n protowire.Number, v nano) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), v.unix())
}

func (r request) append(b []byte) []byte {
	for _, of := range r.ResourceSpans {
		b = message(b, 1, of.append)
	}
	return b
}

func (r resourceSpans) append(b []byte) []byte {
	b = message(b, 1, func(b []byte) []byte { return r.Resource.append(b, 1, 2) })
	for _, list := range r.ScopeSpans {
		b = message(b, 2, list.append)
	}
	return bytesField(b, 3, r.SchemaURL)
}

func (s scopeSpans) append(b []byte) []byte {
	b = message(b, 1, func(b []byte) []byte { return bytesField(bytesField(b, 1, s.Scope.Name), 2, s.Scope.Version) })
	for _, one := range s.Spans {
		b = message(b, 2, one.append)
	}
	return b
}

func (s span) append(b []byte) []byte {
	b = bytesField(bytesField(b, 1, s.TraceID), 2, s.SpanID)
	b = bytesField(bytesField(b, 4, s.ParentID), 5, s.Name)
	b = fixed(fixed(varint(b, 6, uint64(s.Kind)), 7, s.Start), 8, s.End)
	b = s.keyValues.append(b, 9, 10)
	for _, e := range s.Events {
		b = message(b, 11, func(b []byte) []byte {
			return e.keyValues.append(bytesField(fixed(b, 1, e.Time), 2, e.Name), 3, 4)
		})
	}
	b = varint(b, 12, uint64(s.DroppedEvents))
	b = message(b, 15, func(b []byte) []byte { return varint(bytesField(b, 2, s.Status.Message), 3, uint64(s.Status.Code)) })
	return protowire.AppendFixed32(protowire.AppendTag(b, 16, protowire.Fixed32Type), s.Flags)
}

// append writes the attributes as fields of number n, and their count of dropped ones as that of number dropped.
func (k keyValues) append(b []byte, n, dropped protowire.Number) []byte {
	for _, a := range k.Attributes {
		b = message(b, n, func(b []byte) []byte { return message(bytesField(b, 1, a.Key), 2, a.Value.append) })
	}
	return varint(b, dropped, uint64(k.Dropped))
}

// append writes the one kind that v has, also where it is its zero: that is a value too.
func (v value) append(b []byte) []byte {
	switch {
	case v.Bool != nil:
		return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), protowire.EncodeBool(*v.Bool))
	case v.Number != nil:
		return protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(*v.Number))
	case v.Text != nil:
		return protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), *v.Text)
	}
	return b
}

// refusal is what an answer says of spans that were not taken: partial_success. An answer that cannot be read says nothing.
func refusal(media string, answer []byte) (rejected int, message string) {
	if strings.HasPrefix(media, mediaJSON) {
		var a struct {
			PartialSuccess struct {
				RejectedSpans json.RawMessage `json:"rejectedSpans"` // a number, or one in quotes
				ErrorMessage  string          `json:"errorMessage"`
			} `json:"partialSuccess"`
		}
		if json.Unmarshal(answer, &a) != nil {
			return 0, ""
		}
		rejected, _ = strconv.Atoi(strings.Trim(string(a.PartialSuccess.RejectedSpans), `"`))
		return max(rejected, 0), a.PartialSuccess.ErrorMessage
	}
	partial := fieldOf(answer, 1)
	number, _ := protowire.ConsumeVarint(fieldOf(partial, 1))
	return int(min(number, 1<<30)), string(fieldOf(partial, 2))
}

// fieldOf is the last field number n of a message: its bytes, or those of its varint; nil if there is none.
func fieldOf(b []byte, n protowire.Number) (found []byte) {
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return found
		}
		b = b[size:]
		if size = protowire.ConsumeFieldValue(number, kind, b); size < 0 {
			return found
		}
		if number == n {
			found = b[:size]
			if kind == protowire.BytesType {
				found, _ = protowire.ConsumeBytes(b)
			}
		}
		b = b[size:]
	}
	return found
}
