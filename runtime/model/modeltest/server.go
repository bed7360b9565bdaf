package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Server answers by a script until it is closed. Its methods may be called
// concurrently.
type Server struct {
	URL string // base URL as clients of the protocol want it, without a slash at the end

	script Script
	http   *http.Server
	closed chan struct{}

	mu       sync.Mutex // guards what is below
	requests []Recorded
	count    int
}

// NewAnthropic starts a server whose URL is the base of the Messages API.
func NewAnthropic(s Script) *Server { return start(s, "") }

// NewOpenAI starts a server whose URL is the base of chat completions and
// responses.
func NewOpenAI(s Script) *Server { return start(s, "/v1") }

// start panics when there is no loopback to listen on: no test can go on.
func start(s Script, suffix string) *Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("modeltest: " + err.Error())
	}
	server := &Server{URL: "http://" + l.Addr().String() + suffix, script: s, closed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", server.serve(anthropic{}))
	mux.HandleFunc("POST /v1/messages/count_tokens", server.countTokens)
	mux.HandleFunc("POST /v1/chat/completions", server.serve(chat{}))
	mux.HandleFunc("POST /v1/responses", server.serve(responses{}))
	server.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.http.Serve(l) }() // ends by Close
	return server
}

// Close ends the server and all connections.
func (s *Server) Close() {
	close(s.closed)
	_ = s.http.Close()
}

// Requests gives what was asked so far, in the order of arrival, without the
// counting of tokens.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Recorded(nil), s.requests...)
}

// Wait returns when n requests have come, or with ctx's error.
func (s *Server) Wait(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		have := s.count
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d requests came: %w", have, n, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// A protocol reads requests and writes answers in its own words.
type protocol interface {
	parse(body []byte, r *Recorded) error
	// fail is the body of an error.
	fail(status int, message string) any
	// whole is the body of an answer, events the stream of one.
	whole(r Recorded, t Turn) any
	events(r Recorded, t Turn) []event
	// overload is an error inside of a stream.
	overload() event
}

// An event of a stream. With an empty name the line of the name is left out.
type event struct {
	name string
	data any // a string is sent as it is
}

func (s *Server) serve(p protocol) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(io.LimitReader(req.Body, 64<<20))
		if err != nil {
			return
		}
		r := Recorded{Path: req.URL.Path, Header: req.Header.Clone(), Body: body}
		if err := p.parse(body, &r); err != nil {
			writeJSON(w, http.StatusBadRequest, p.fail(http.StatusBadRequest, err.Error()))
			return
		}
		s.mu.Lock()
		s.count++
		r.N = s.count
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		t := s.script(r)
		t.count(r)
		if t.RetryAfter != "" {
			w.Header().Set("Retry-After", t.RetryAfter)
		}
		switch {
		case t.Fault == Mute:
			s.hang(req.Context())
			return
		case t.Fault == Drop:
			panic(http.ErrAbortHandler)
		case t.Fault == Redirect:
			http.Redirect(w, req, "/elsewhere", http.StatusTemporaryRedirect)
			return
		case t.Fault == ContentType:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html><body>Welcome</body></html>")
			return
		case t.Status != 0:
			if t.Fault == Malformed {
				w.WriteHeader(t.Status)
				fmt.Fprint(w, "{not json")
				return
			}
			writeJSON(w, t.Status, p.fail(t.Status, t.Message))
			return
		case r.Stream:
			s.stream(w, req.Context(), p, r, t)
		case t.Fault == Hang:
			s.hang(req.Context())
		case t.Fault == Malformed:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{not json")
		default:
			writeJSON(w, http.StatusOK, p.whole(r, t))
		}
	}
}

func (s *Server) stream(w http.ResponseWriter, ctx context.Context, p protocol, r Recorded, t Turn) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flush := func() { _ = http.NewResponseController(w).Flush() }
	events := p.events(r, t)
	middle := len(events) / 2
	for i, e := range events {
		text := render(e)
		if i == middle {
			switch t.Fault {
			case Truncate:
				_, _ = io.WriteString(w, text[:len(text)/2])
				flush()
				panic(http.ErrAbortHandler)
			case Unfinished:
				return
			case Malformed:
				text = render(event{e.name, `{"type": not json`})
			case Overload:
				text = render(p.overload())
			case Hang:
				flush()
				s.hang(ctx)
				return
			}
		}
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
		flush()
	}
}

func render(e event) string {
	text := ""
	if e.name != "" {
		text = "event: " + e.name + "\n"
	}
	data, ok := e.data.(string)
	if !ok {
		b, err := json.Marshal(e.data)
		if err != nil {
			panic("modeltest: " + err.Error()) // all data is made here or was checked by the decoder
		}
		data = string(b)
	}
	return text + "data: " + data + "\n\n"
}

func (s *Server) hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.closed:
	}
}

func (s *Server) countTokens(w http.ResponseWriter, req *http.Request) {
	n, _ := io.Copy(io.Discard, io.LimitReader(req.Body, 64<<20))
	writeJSON(w, http.StatusOK, map[string]any{"input_tokens": n/4 + 1})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// count fills in roughly what the turn costs.
func (t *Turn) count(r Recorded) {
	if t.InputTokens == 0 {
		t.InputTokens = len(r.Body)/4 + 1
	}
	if t.OutputTokens == 0 {
		n := len(t.Text) + len(t.Value)
		for _, u := range t.Tools {
			n += len(u.Name) + len(u.Input)
		}
		t.OutputTokens = n/4 + 1
	}
}

// say is the text of the turn for protocols and requests without a tool for
// the answer.
func (t *Turn) say() string {
	if t.Value == nil {
		return t.Text
	}
	return t.Text + string(t.Value)
}

// raw is the input as it goes over the wire.
func (u Use) raw() string {
	switch {
	case u.Raw != "":
		return u.Raw
	case u.Input == nil:
		return "{}"
	}
	return string(u.Input)
}

// wireName finds the tool that name means among those of r.
func wireName(r Recorded, name string) string {
	for _, tool := range r.Tools {
		if tool == name {
			return name
		}
	}
	for _, tool := range r.Tools {
		if strings.HasSuffix(tool, "__"+name) {
			return tool
		}
	}
	return name
}

// pieces cuts s into what a stream says at a time.
func pieces(s string) []string {
	var list []string
	for len(s) > 0 {
		n := min(len(s), 16)
		for n < len(s) && s[n]&0xC0 == 0x80 { // not inside of a character
			n++
		}
		list, s = append(list, s[:n]), s[n:]
	}
	return list
}
