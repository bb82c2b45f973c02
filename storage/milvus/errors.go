package milvus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// ErrNoCollection is returned if a collection does not exist: it was never created, was dropped, or
// Milvus lost its data.
var ErrNoCollection = errors.New("no such collection in Milvus")

const retryAfter = time.Second

// Error codes of Milvus, see https://github.com/milvus-io/milvus/blob/master/pkg/util/merr/errors.go.
// milvus-lite uses the same codes for these errors, except for missing indexes.
const (
	codeRateLimit      = 8
	codeNoCollection   = 100
	codeNotLoaded      = 101
	codeNotFullyLoaded = 103
	codeInvalid        = 1100
	codeNoAlias        = 1600
	legacyNoCollection = int32(commonpb.ErrorCode_CollectionNotExists)
	legacyRateLimit    = int32(commonpb.ErrorCode_RateLimit)
	legacyIllegal      = int32(commonpb.ErrorCode_IllegalArgument)
	legacyIllegalLite  = 6
)

// serverError is an error that the server returned.
type serverError struct {
	code, legacy int32
	retriable    bool
	reason       string
}

// Error implements error.
func (r *serverError) Error() string {
	return fmt.Sprintf("Milvus returned an error (code %d, %d): %s", r.code, r.legacy, r.reason)
}

// Is reports whether target is ErrNoCollection and the error means that.
func (r *serverError) Is(target error) bool { return target == ErrNoCollection && r.noCollection() }

func (r *serverError) noCollection() bool {
	return r.code == codeNoCollection || r.legacy == legacyNoCollection ||
		strings.Contains(r.reason, "can't find collection")
}

func (r *serverError) notLoaded() bool {
	return r.code == codeNotLoaded || r.code == codeNotFullyLoaded || strings.Contains(r.reason, "not loaded")
}

func (r *serverError) noAlias() bool {
	return r.code == codeNoAlias || strings.Contains(r.reason, "alias")
}

func (r *serverError) rateLimited() bool {
	return r.code == codeRateLimit || r.legacy == legacyRateLimit
}

// invalidRequest reports whether every server would reject the request.
func (r *serverError) invalidRequest() bool {
	return r.code == codeInvalid || r.legacy == legacyIllegal || r.legacy == legacyIllegalLite
}

// statusError returns the error in a status, or nil. Older servers set the legacy field, newer ones
// the other, and milvus-lite sometimes only the other.
func statusError(s *commonpb.Status) error {
	legacy := int32(s.GetErrorCode()) //nolint:staticcheck // the only field that Milvus 2.3 always fills
	if s != nil && s.GetCode() == 0 && legacy == 0 {
		return nil
	}
	if s == nil {
		return &serverError{reason: "the response has no status"}
	}
	return &serverError{code: s.GetCode(), legacy: legacy, retriable: s.GetRetriable(), reason: s.GetReason()}
}

// isServerError reports whether err is a serverError for which is returns true.
func isServerError(err error, is func(*serverError) bool) bool {
	var r *serverError
	return errors.As(err, &r) && is(r)
}

// isTransient reports whether an immediate retry of the call may succeed.
func isTransient(err error) bool {
	var r *serverError
	if errors.As(err, &r) {
		return !r.noCollection() && !r.notLoaded() && (r.retriable || r.rateLimited())
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return true
	}
	return false
}

// classify returns an error with a kind: Unavailable if Milvus is unavailable, overloaded, failing, or
// does not have the collection. Invalid requests and errors of the caller's context are returned
// unchanged; the former count as Internal.
func classify(ctx context.Context, err error) error {
	var fe *fault.Error
	if err == nil || errors.As(err, &fe) || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, ErrNoCollection) {
		return fault.Wrap(err, fault.Unavailable, "The index of vectors is not ready").After(retryAfter)
	}
	if isServerError(err, (*serverError).invalidRequest) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, "The store of vectors is not available").After(retryAfter)
}
