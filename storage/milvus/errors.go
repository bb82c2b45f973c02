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

// ErrNoCollection says that a collection is not there: it was never made, was dropped,
// or Milvus lost its data.
var ErrNoCollection = errors.New("no such collection in Milvus")

const retryAfter = time.Second

// Codes of Milvus, https://github.com/milvus-io/milvus/blob/master/pkg/util/merr/errors.go.
// milvus-lite has the same for what is told apart here, except for missing indexes.
const (
	codeRateLimit       = 8
	codeNoCollection    = 100
	codeNotLoaded       = 101
	codeNotFullyLoaded  = 103
	codeInvalid         = 1100
	codeNoAlias         = 1600
	legacyNoCollection  = int32(commonpb.ErrorCode_CollectionNotExists)
	legacyRateLimit     = int32(commonpb.ErrorCode_RateLimit)
	legacyIllegal       = int32(commonpb.ErrorCode_IllegalArgument)
	legacyIllegalOfLite = 6
)

// refusal is a call that the server answered by an error.
type refusal struct {
	code, legacy int32
	retriable    bool
	reason       string
}

// Error implements error.
func (r *refusal) Error() string {
	return fmt.Sprintf("Milvus refuses (code %d, %d): %s", r.code, r.legacy, r.reason)
}

// Is implements what errors.Is asks for.
func (r *refusal) Is(target error) bool { return target == ErrNoCollection && r.noCollection() }

func (r *refusal) noCollection() bool {
	return r.code == codeNoCollection || r.legacy == legacyNoCollection ||
		strings.Contains(r.reason, "can't find collection")
}

func (r *refusal) notLoaded() bool {
	return r.code == codeNotLoaded || r.code == codeNotFullyLoaded || strings.Contains(r.reason, "not loaded")
}

func (r *refusal) noAlias() bool { return r.code == codeNoAlias || strings.Contains(r.reason, "alias") }

func (r *refusal) tooOften() bool { return r.code == codeRateLimit || r.legacy == legacyRateLimit }

// ours reports a request that no server would take.
func (r *refusal) ours() bool {
	return r.code == codeInvalid || r.legacy == legacyIllegal || r.legacy == legacyIllegalOfLite
}

// refused returns a status that tells of an error as one. Older servers fill one field,
// newer ones the other, milvus-lite now and then the second alone.
func refused(s *commonpb.Status) error {
	legacy := int32(s.GetErrorCode()) //nolint:staticcheck // the only field that Milvus 2.3 always fills
	if s != nil && s.GetCode() == 0 && legacy == 0 {
		return nil
	}
	if s == nil {
		return &refusal{reason: "an answer without a status"}
	}
	return &refusal{code: s.GetCode(), legacy: legacy, retriable: s.GetRetriable(), reason: s.GetReason()}
}

// isRefusal reports whether the server refused for a reason that is asked for.
func isRefusal(err error, is func(*refusal) bool) bool {
	var r *refusal
	return errors.As(err, &r) && is(r)
}

// passing reports whether a call may work if it is tried again at once.
func passing(err error) bool {
	var r *refusal
	if errors.As(err, &r) {
		return !r.noCollection() && !r.notLoaded() && (r.retriable || r.tooOften())
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return true
	}
	return false
}

// classify returns an error with its kind: Unavailable when Milvus is unavailable, busy, in trouble,
// or without the collection; Internal what it will never take. The caller's own end of
// timeout passes as it is.
func classify(ctx context.Context, err error) error {
	var fe *fault.Error
	if err == nil || errors.As(err, &fe) || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, ErrNoCollection) {
		return fault.Wrap(err, fault.Unavailable, "The index of vectors is not ready").After(retryAfter)
	}
	if isRefusal(err, (*refusal).ours) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, "The store of vectors is not available").After(retryAfter)
}
