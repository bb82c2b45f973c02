package livegraph

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The errors that [errors.Is] compares an [*APIError] with.
var (
	// ErrInvalid is a request that is malformed or has invalid values (400, 405, 413, 415, 422).
	ErrInvalid = errors.New("the request is invalid")
	// ErrUnauthenticated is a key that is missing, invalid, revoked or expired (401).
	ErrUnauthenticated = errors.New("the key is missing or invalid")
	// ErrForbidden is a key without access to the workspace or without a scope (403).
	ErrForbidden = errors.New("the key has no access")
	// ErrNotFound is a resource that does not exist in the workspace (404).
	ErrNotFound = errors.New("the resource does not exist")
	// ErrConflict is a name or an id that exists, another version, or a blocked undo (409).
	ErrConflict = errors.New("the request conflicts with the state of the resource")
	// ErrRateLimited is a workspace that has used all requests of the minute or the day (429).
	ErrRateLimited = errors.New("the workspace has used all requests")
	// ErrServer is a failure of the server (5xx).
	ErrServer = errors.New("the server failed")
	// ErrUnavailable is a store that is unavailable, or a request that timed out (502, 503, 504). It is also ErrServer.
	ErrUnavailable = errors.New("the service is unavailable")
)

// APIError is an error that the server answered with.
type APIError struct {
	// Status is the HTTP status. It is 0 in the results of a batch, because the API sends none.
	Status int
	// Code is the code of the error, such as VALIDATION_ERROR; "" if the response has none.
	Code string
	// Message is the public message of the server.
	Message string
	// RequestID finds the request in the server's log; "" if the response has none.
	RequestID string
	// Details are the field, the limit or the conflict that caused the error.
	Details ErrorDetails
	// RawDetails are the details as JSON, with fields that this version of the package does not know. May be nil.
	RawDetails json.RawMessage
	// RetryAfter is the time after which the server accepts another attempt; 0 if it did not send it.
	RetryAfter time.Duration
}

// Error returns the status, the code, the message, the field and the request.
func (e *APIError) Error() string {
	var parts []string
	if e.Status != 0 {
		parts = append(parts, strconv.Itoa(e.Status))
	}
	if e.Code != "" {
		parts = append(parts, e.Code)
	}
	if len(parts) == 0 {
		parts = []string{"error"}
	}
	text := strings.Join(parts, " ") + ": " + e.Message
	if e.Details.Field != "" {
		reason := e.Details.Reason
		if reason == "" {
			reason = "is invalid"
		}
		text += fmt.Sprintf(" (%s: %s)", e.Details.Field, reason)
	}
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text
}

// Field returns the field of the request that is invalid, such as points[3].value; "" if the server named none.
func (e *APIError) Field() string { return e.Details.Field }

// OutcomeUnknown reports whether the server may have executed the request, or may still execute it. The command of a
// failed request can be read with [Commands.Get] and the id in the details.
func (e *APIError) OutcomeUnknown() bool {
	return e.Status >= http.StatusInternalServerError || e.Status == http.StatusConflict && e.RetryAfter > 0
}

// Is reports whether the target is the error of the status. In the results of a batch, the code decides.
func (e *APIError) Is(target error) bool {
	status := e.Status
	if status == 0 {
		status = statusOfCode[e.Code]
	}
	if status >= http.StatusInternalServerError {
		return target == ErrServer || target == ErrUnavailable && unavailable[status]
	}
	sentinel, known := sentinels[status]
	return known && target == sentinel
}

var (
	sentinels = map[int]error{
		http.StatusBadRequest: ErrInvalid, http.StatusMethodNotAllowed: ErrInvalid,
		http.StatusRequestEntityTooLarge: ErrInvalid, http.StatusUnsupportedMediaType: ErrInvalid,
		http.StatusUnprocessableEntity: ErrInvalid, http.StatusUnauthorized: ErrUnauthenticated,
		http.StatusForbidden: ErrForbidden, http.StatusNotFound: ErrNotFound, http.StatusConflict: ErrConflict,
		http.StatusTooManyRequests: ErrRateLimited,
	}
	unavailable = map[int]bool{
		http.StatusBadGateway: true, http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true,
	}
	statusOfCode = map[string]int{
		"VALIDATION_ERROR": http.StatusUnprocessableEntity, "AUTHORIZATION_ERROR": http.StatusForbidden,
		"NOT_FOUND": http.StatusNotFound, "CONFLICT": http.StatusConflict,
		"INTERNAL_ERROR": http.StatusInternalServerError,
	}
)

// TransportError means that the server could not be reached, or that the connection broke before the response ended.
type TransportError struct {
	Message string
	// Sent is false if the request was certainly not sent.
	Sent bool
	Err  error
}

// Error returns the message and the cause.
func (e *TransportError) Error() string { return e.Message + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// OutcomeUnknown reports whether the server may have executed the request.
func (e *TransportError) OutcomeUnknown() bool { return e.Sent }

// ResponseError means that a response with a status of success is not in the format of the API, for example because a
// proxy answered.
type ResponseError struct {
	Message string
	Err     error // may be nil
}

// Error returns the message and the cause.
func (e *ResponseError) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ResponseError) Unwrap() error { return e.Err }

// OutcomeUnknown returns true: the server may have executed the request.
func (e *ResponseError) OutcomeUnknown() bool { return true }

// OutcomeUnknown reports whether err is the error of a request that the server may have executed. To repeat a command
// without executing it twice, send it again with [WithIdempotencyKey] and the key of the first request.
func OutcomeUnknown(err error) bool {
	var unknown interface{ OutcomeUnknown() bool }
	return errors.As(err, &unknown) && unknown.OutcomeUnknown()
}

// Err returns the error of a command of a batch that is not atomic; nil if p is nil.
func (p *Problem) Err() error {
	if p == nil {
		return nil
	}
	e := &APIError{Code: p.Code, Message: p.Message}
	if p.Details != nil {
		e.Details = *p.Details
	}
	return e
}

// problem is the body of a response with an error.
type problem struct {
	Error     json.RawMessage `json:"error"`
	ErrorType string          `json:"errorType"` // of the routes of Prometheus, whose error is a text
	RequestID string          `json:"requestId"`
}

// newAPIError returns the error of a response that is not a success. A proxy may have sent it.
func newAPIError(response *http.Response, body []byte) *APIError {
	e := &APIError{
		Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id"),
		RetryAfter: parseRetryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
	var content problem
	if json.Unmarshal(body, &content) == nil {
		if json.Unmarshal(content.Error, &e.Message) == nil {
			e.Code = content.ErrorType
		} else {
			e.read(content.Error)
		}
		if content.RequestID != "" {
			e.RequestID = content.RequestID
		}
	}
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	if e.Message == "" {
		e.Message = "unexpected status"
	}
	return e
}

// read reads the object of an error. A field of another type is omitted.
func (e *APIError) read(text []byte) {
	var fields struct {
		Code, Message string
		Details       json.RawMessage
	}
	if json.Unmarshal(text, &fields) != nil {
		return
	}
	e.Code, e.Message, e.RawDetails = fields.Code, fields.Message, fields.Details
	var details ErrorDetails
	if json.Unmarshal(fields.Details, &details) == nil {
		e.Details = details
	}
}

// maxRetryAfter bounds the wait that a server asks for.
const maxRetryAfter = 365 * 24 * time.Hour

// parseRetryAfter returns the time of a Retry-After header, which contains seconds or a date; 0 if it has neither.
func parseRetryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(0, at.Sub(now)), maxRetryAfter)
	}
	return 0
}
