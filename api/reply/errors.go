package reply

import (
	"net/http"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// row is the response to one kind of error.
type row struct {
	status int
	code   string
	hide   bool // the public message is fixed and does not contain the error's message
}

// StatusOf returns the HTTP status of the answer for err.
func StatusOf(err error) int { return table[Public(err).Kind].status }

// table maps error kinds to statuses and codes. It must be the only such mapping.
var table = map[fault.Kind]row{
	fault.Malformed:        {status: http.StatusBadRequest, code: "VALIDATION_ERROR"},
	fault.Invalid:          {status: http.StatusUnprocessableEntity, code: "VALIDATION_ERROR"},
	fault.TooLarge:         {status: http.StatusRequestEntityTooLarge, code: "VALIDATION_ERROR"},
	fault.UnsupportedMedia: {status: http.StatusUnsupportedMediaType, code: "VALIDATION_ERROR"},
	fault.MethodNotAllowed: {status: http.StatusMethodNotAllowed, code: "VALIDATION_ERROR"},
	fault.Unauthenticated:  {status: http.StatusUnauthorized, code: "AUTHENTICATION_ERROR"},
	fault.Forbidden:        {status: http.StatusForbidden, code: "AUTHORIZATION_ERROR"},
	fault.NotFound:         {status: http.StatusNotFound, code: "NOT_FOUND"},
	fault.Conflict:         {status: http.StatusConflict, code: "CONFLICT"},
	fault.RateLimited:      {status: http.StatusTooManyRequests, code: "RATE_LIMITED"},
	fault.Internal:         {status: http.StatusInternalServerError, code: "INTERNAL_ERROR", hide: true},
	fault.BadGateway:       {status: http.StatusBadGateway, code: "INTERNAL_ERROR"},
	fault.Unavailable:      {status: http.StatusServiceUnavailable, code: "INTERNAL_ERROR"},
	fault.Timeout:          {status: http.StatusGatewayTimeout, code: "INTERNAL_ERROR"},
}
