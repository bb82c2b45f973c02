package promql

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/reply"
)

// errorTypes are the error types by HTTP status. Prometheus has the first five; it has no keys, plans or
// limits of bodies.
var errorTypes = map[int]string{
	http.StatusBadRequest: "bad_data", http.StatusUnprocessableEntity: "execution",
	http.StatusInternalServerError: "internal", http.StatusNotFound: "not_found", http.StatusGatewayTimeout: "timeout",
	http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
	http.StatusMethodNotAllowed: "bad_data", http.StatusRequestEntityTooLarge: "bad_data",
	http.StatusUnsupportedMediaType: "bad_data", http.StatusTooManyRequests: "too_many_requests",
	http.StatusBadGateway: "unavailable", http.StatusServiceUnavailable: "unavailable",
}

// errorBody is the body of an error response of Prometheus.
type errorBody struct {
	Status    string `json:"status"`
	ErrorType any    `json:"errorType"` // a string
	Error     string `json:"error"`
}

// errorDialect returns the dialect of error responses.
func errorDialect() reply.Dialect {
	return reply.Dialect{
		Convert: func(status int) (clientStatus int, errorType any) {
			errorType = errorTypes[status]
			if status == http.StatusGatewayTimeout {
				status = http.StatusServiceUnavailable
			}
			return status, errorType
		},
		Encode: func(_ *http.Request, f *reply.DialectError) (mediaType string, body []byte) {
			// A message can quote bytes of the query that are not UTF-8.
			body, _ = json.Marshal(errorBody{"error", f.Code, f.Message}, jsontext.AllowInvalidUTF8(true)) // only strings
			return "application/json; charset=utf-8", body
		},
	}
}
