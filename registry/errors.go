package registry

import (
	"context"
	"errors"
	"net/http"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// StatusOf is the HTTP status of errors of this package with a code.
func StatusOf(code string) int {
	switch code {
	case "unauthorized":
		return http.StatusUnauthorized
	case "denied", "signature_required", "name_reserved", "scan_refused", "policy_refused", auth.CodeIdentity, "second_person", "E_SIGNATURE", origin.CodeOrigin:
		return http.StatusForbidden
	case origin.CodeHost:
		return http.StatusMisdirectedRequest
	case "not_found", "unknown_namespace", "unknown_skill", "unknown_version", "unknown_manifest", "unknown_blob", "unknown_upload",
		"unknown_tag", "unknown_token", "unknown_file", "unknown_grant", "unknown_account":
		return http.StatusNotFound
	case "version_exists", "near_name", "namespace_exists", "wrong_state", "in_use":
		return http.StatusConflict
	case "blocked":
		return http.StatusGone
	case "too_large":
		return http.StatusRequestEntityTooLarge
	case "wrong_range":
		return http.StatusRequestedRangeNotSatisfiable
	case "rate_limited":
		return http.StatusTooManyRequests
	case "no_space":
		return http.StatusInsufficientStorage
	case "timeout":
		return http.StatusRequestTimeout
	case "unavailable", codeReadOnly, meta.CodeFrozen, meta.CodeNewer:
		return http.StatusServiceUnavailable
	case "invalid_digest", "invalid_namespace", "invalid_manifest", "invalid_bundle", "wrong_digest", "invalid_name", "invalid_version", "invalid_request", "not_a_skill",
		"incomplete_upload", "blob_missing":
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// Told reports whether callers are told the message of a failure of the registry itself, one with a status of 500 and more, by its code.
func Told(code string) bool {
	return code == "no_space" || code == "unavailable" || code == "corrupt" || code == codeReadOnly || code == meta.CodeFrozen || code == meta.CodeNewer
}

// Status is the HTTP status of an error of this package.
func Status(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return StatusOf(e.Code)
	}
	return http.StatusInternalServerError
}

// Explain gives errors of the stores, and of files written while a request is served, a code. What it does not
// know stays as it is, and is an internal error to whoever asked.
func Explain(err error) error {
	err = blob.Full(err)
	var known *diag.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, blob.ErrFull), errors.Is(err, meta.ErrFull):
		e := diag.New(diag.Failed, "no_space", "the registry has no space left")
		e.Err, e.Retryable = err, true
		return e
	case errors.Is(err, meta.ErrUnavailable):
		e := diag.New(diag.Failed, "unavailable", "the database of the registry does not answer")
		e.Err, e.Retryable = err, true
		return e
	case errors.Is(err, blob.ErrUnavailable):
		e := diag.New(diag.Failed, "unavailable", "the store of the registry's blobs does not answer")
		e.Err, e.Retryable = err, true
		return e
	case errors.Is(err, blob.ErrDigest):
		return diag.New(diag.Misuse, "wrong_digest", "the content does not have the digest it was sent under")
	case errors.Is(err, blob.ErrBusy):
		return diag.New(diag.Misuse, "wrong_range", "another request is writing to this upload")
	case errors.Is(err, blob.ErrOffset):
		return diag.New(diag.Misuse, "wrong_range", "the upload does not go on at this offset")
	case errors.Is(err, blob.ErrTooLarge):
		return diag.New(diag.Misuse, "too_large", "the upload is larger than this registry takes")
	case errors.Is(err, blob.ErrCorrupt):
		return damaged(err, "corrupt", "this release")
	case errors.Is(err, blob.ErrNotFound):
		return damaged(err, "corrupt", "this release")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e := diag.New(diag.Failed, "unavailable", "the request was given up")
		e.Err, e.Retryable = err, true
		return e
	}
	return err
}
