// Package fault defines the error type of Livegraph.
//
// An error that an API client may see is created where its meaning is known,
// with a [Kind], a public message and public details. Its cause is wrapped and
// only logged. The table in api/reply/errors.go maps kinds to HTTP statuses and
// codes. This package is independent of HTTP.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the category of an error, in terms of the API.
type Kind uint8

// The kinds. Internal is the zero value: an unclassified error is a server error.
const (
	Internal         Kind = iota // a defect or an unclassified server error
	Malformed                    // the request cannot be read: syntax, types, unknown or missing fields
	Invalid                      // the request can be read, but a value is not valid
	TooLarge                     // a size limit is exceeded
	UnsupportedMedia             // Content-Type or Content-Encoding is wrong
	MethodNotAllowed             // the path exists, the method does not
	Unauthenticated              // no key, or no valid key
	Forbidden                    // the key may not do this
	NotFound                     // no such resource in this workspace
	Conflict                     // duplicate, wrong version, or a state that forbids it
	RateLimited                  // the request limit of the plan is exceeded
	BadGateway                   // a store sent an invalid response
	Unavailable                  // a store is down, a buffer is full, or the process is shutting down
	Timeout                      // the wait timed out; the operation may still complete
)

// kindNames has the names of the kinds in logs and traces.
var kindNames = [...]string{
	Internal: "internal", Malformed: "malformed", Invalid: "invalid", TooLarge: "too_large",
	UnsupportedMedia: "unsupported_media",
	MethodNotAllowed: "method_not_allowed", Unauthenticated: "unauthenticated", Forbidden: "forbidden",
	NotFound: "not_found",
	Conflict: "conflict", RateLimited: "rate_limited", BadGateway: "bad_gateway", Unavailable: "unavailable",
	Timeout: "timeout",
}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// ParseKind returns the kind with this name, and false if there is none.
func ParseKind(name string) (Kind, bool) {
	for kind, kindName := range kindNames {
		if kindName == name {
			return Kind(kind), true
		}
	}
	return Internal, false
}

// Error is an error with a public message. Details is encoded as JSON under
// error.details and must not contain internal information.
type Error struct {
	Kind       Kind
	Message    string         // public, one sentence
	Details    map[string]any // public, may be nil
	RetryAfter time.Duration  // sent as Retry-After when positive
	cause      error          // private: logged, never sent
}

// New creates an error of a kind with its public message.
func New(kind Kind, message string) *Error {
	return &Error{Kind: kind, Message: message}
}

// Newf is New with a formatted public message.
func Newf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns cause with a kind and a public message. The cause is kept for the log.
func Wrap(cause error, kind Kind, message string) *Error {
	return &Error{Kind: kind, Message: message, cause: cause}
}

// Field creates a Malformed or Invalid error with the field, the reason and, if the
// values can be listed, the allowed values.
func Field(kind Kind, field, reason string, allowed ...string) *Error {
	details := map[string]any{"field": field, "reason": reason}
	if len(allowed) > 0 {
		details["allowed"] = allowed
	}
	return &Error{Kind: kind, Message: field + ": " + reason, Details: details}
}

// With adds one public detail and returns the same error.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// After sets the delay before a retry and returns the same error.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// Because sets the private cause and returns the same error.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error returns the private text, for logs.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of the first *Error in the chain of err, or Internal.
func KindOf(err error) Kind {
	var fe *Error
	if errors.As(err, &fe) {
		return fe.Kind
	}
	return Internal
}

// Is reports whether err is of the kind.
func Is(err error, kind Kind) bool {
	return err != nil && KindOf(err) == kind
}

// CheckVersion returns a Conflict error if expected is set and is not the actual version of a resource.
func CheckVersion(expected *int64, actual int64) error {
	if expected == nil || *expected == actual {
		return nil
	}
	return New(Conflict, "Version mismatch").With("expectedVersion", *expected).With("actualVersion", actual)
}
