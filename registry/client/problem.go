package client

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// maxHints bounds what a registry may suggest.
const maxHints = 5

// problem is the error of an answer that is no success. What the registry says is text of a
// stranger: it is cut to one visible line.
func (c *Client) problem(status int, header http.Header, body []byte, address string) error {
	var p wire.Problem
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if media == wire.MediaProblem {
		json.Unmarshal(body, &p) // what cannot be read is empty
	}
	if p.Code == "" || !isCode(p.Code) {
		return c.stranger(status, address)
	}
	sentence := clean(p.Detail)
	if sentence == "" {
		sentence = clean(p.Title)
	}
	e := diag.New(classOf(status, p.Code), p.Code, "%s: %s", c.Host(), sentence)
	e.Retryable = origin.Busy(status)
	if status == http.StatusUnauthorized {
		return e.Hint("skl login %s", c.URL())
	}
	for _, h := range p.Hints[:min(len(p.Hints), maxHints)] {
		if h = clean(h); h != "" {
			e.Hint("%s", h)
		}
	}
	if status == http.StatusForbidden && p.Code == "denied" && len(e.Hints) == 0 { // the registry knows who asks, and says what else would do
		e.Hint("skl login %s", c.URL())
	}
	return e
}

// classOf is how a program should react to a refusal.
func classOf(status int, code string) diag.Class {
	switch code {
	case "version_exists", "near_name", "second_person", "signature_required", "scan_refused", "policy_refused", "identity_refused", "name_reserved", "blocked",
		"invalid_bundle", "invalid_manifest", "not_a_skill", "E_SIGNATURE":
		return diag.Refused
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests,
		status == http.StatusRequestTimeout, status == http.StatusRequestEntityTooLarge, status >= 500:
		return diag.Failed
	case status == http.StatusGone:
		return diag.Refused
	}
	return diag.Misuse
}

// stranger is the error of a server that does not answer as a registry of skills does.
func (c *Client) stranger(status int, address string) error {
	switch {
	case status == http.StatusUnauthorized:
		return diag.New(diag.Failed, "unauthorized", "%s wants to know who is asking", c.Host()).Hint("skl login %s", c.URL())
	case status == http.StatusTooManyRequests:
		e := diag.New(diag.Failed, "rate_limited", "%s answers that there were too many requests", c.Host())
		e.Retryable = true
		return e
	case status >= 500:
		e := diag.New(diag.Failed, "http_status", "%s answers with status %d", withoutQuery(address), status)
		e.Retryable = origin.Busy(status)
		return e
	}
	return diag.New(diag.Failed, "not_a_registry", "%s answers with status %d, and not as a registry of skills does", withoutQuery(address), status).
		Hint("is %s the address of a registry?", c.URL())
}

func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}

// isCode reports whether s can be the code of an error.
func isCode(s string) bool {
	if len(s) > 64 {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return s != ""
}

// clean is s as one visible line of at most 500 bytes.
func clean(s string) string {
	s = strings.TrimSpace(s)
	if first, _, ok := strings.Cut(s, "\n"); ok {
		s = strings.TrimSpace(first)
	}
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	return diag.Printable(s)
}
