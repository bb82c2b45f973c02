package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/platform/fault"
	livegraph "github.com/livegraph/livegraph/sdk/go"
)

// kindOfStatus maps a status to the kind of error. It is the inverse of the server's table.
var kindOfStatus = map[int]fault.Kind{
	http.StatusBadRequest:            fault.Malformed,
	http.StatusUnauthorized:          fault.Unauthenticated,
	http.StatusForbidden:             fault.Forbidden,
	http.StatusNotFound:              fault.NotFound,
	http.StatusMethodNotAllowed:      fault.MethodNotAllowed,
	http.StatusConflict:              fault.Conflict,
	http.StatusRequestEntityTooLarge: fault.TooLarge,
	http.StatusUnsupportedMediaType:  fault.UnsupportedMedia,
	http.StatusUnprocessableEntity:   fault.Invalid,
	http.StatusTooManyRequests:       fault.RateLimited,
	http.StatusBadGateway:            fault.BadGateway,
	http.StatusServiceUnavailable:    fault.Unavailable,
	http.StatusGatewayTimeout:        fault.Timeout,
}

// statusOf returns the status for an error code in a batch, where no status is sent.
func statusOf(code string) int {
	switch code {
	case "VALIDATION_ERROR":
		return http.StatusUnprocessableEntity
	case "AUTHORIZATION_ERROR":
		return http.StatusForbidden
	case "NOT_FOUND":
		return http.StatusNotFound
	case "CONFLICT":
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// failure returns the error of a call: the cause of the end of ctx, or a *fault.Error.
func failure(ctx context.Context, method, path string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return toFault(method, path, err)
}

// toFault returns an error of the SDK as a *fault.Error.
func toFault(method, path string, err error) *fault.Error {
	var (
		keyErr       *livegraph.KeyError
		apiErr       *livegraph.APIError
		transportErr *livegraph.TransportError
		responseErr  *livegraph.ResponseError
		requestErr   *url.Error
	)
	switch {
	case errors.As(err, &keyErr) && errors.As(err, &apiErr):
		return fault.Wrap(toFault(method, path, apiErr), fault.Unavailable, "The server refuses a new key")
	case errors.As(err, &keyErr):
		return fault.Wrap(keyErr.Err, fault.Unavailable, "A new key cannot be created")
	case errors.As(err, &apiErr):
		answered := apiError{Code: apiErr.Code, Message: apiErr.Message}
		if json.Unmarshal(apiErr.RawDetails, &answered.Details) != nil {
			answered.Details = nil
		}
		return answered.toFault(apiErr.Status).After(apiErr.RetryAfter).
			Because(cause(method, path, apiErr.Status, apiErr.Code, apiErr.RequestID))
	case errors.As(err, &transportErr) && errors.As(transportErr.Err, &requestErr):
		return fault.Wrap(transportErr.Err, fault.Unavailable, "The server cannot be reached")
	case errors.As(err, &transportErr):
		return fault.Wrap(transportErr.Err, fault.Unavailable, "The server's answer broke off")
	case errors.As(err, &responseErr):
		return fault.Wrap(err, fault.BadGateway, "The server's answer cannot be read")
	}
	return fault.Wrap(err, fault.Malformed, "The request cannot be made")
}

// toFault returns the error for an answer with this status.
func (r apiError) toFault(status int) *fault.Error {
	kind, known := kindOfStatus[status]
	if !known {
		kind = fault.Internal
		if status < 500 {
			kind = fault.Malformed // a redirect or an unexpected refusal: a retry does not help
		}
	}
	err := fault.New(kind, cmp.Or(r.Message, http.StatusText(status)))
	err.Details = r.Details
	return err
}

// cause returns an error with the request and its id, for debugging.
func cause(method, path string, status int, code, requestID string) error {
	return fmt.Errorf("%s %s answered %d %s, request %s", method, path, status, code, requestID)
}
