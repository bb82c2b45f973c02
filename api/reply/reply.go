// Package reply writes responses: the envelope of data, lists and errors, and the table
// that maps error kinds to HTTP. It writes every JSON body of the API, so that all have
// the same envelope and a request id.
package reply

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Meta is the pagination of a list response.
type Meta struct {
	Total      int64   `json:"total"`
	Limit      int     `json:"limit"`
	Offset     int     `json:"offset"`
	HasMore    bool    `json:"hasMore"`
	NextCursor *string `json:"nextCursor"` // cursor of the next page, nil at the end
	// Truncated, of a list with a bound, reports that not everything was read.
	Truncated *bool `json:"truncated,omitzero"`
	// AsOfSequence, of a list as of a moment, is the sequence of that state of the graph.
	AsOfSequence *int64 `json:"asOfSequence,omitzero"`
	// DeadLettered, of a query with a checkpoint, is the number of its records that were
	// written to the dead letter queue, if there are any.
	DeadLettered *int64 `json:"deadLettered,omitzero"`
	// Interval, of a list of points by bucket, is the length of the buckets.
	Interval string `json:"interval,omitzero"`
	// Degraded, of a search, names the parts that are missing in the response.
	Degraded []string `json:"degraded,omitempty"`
	// Facets, of a search, has the frequent values of its results.
	Facets any `json:"facets,omitzero"`
	// Rerank, of a search, describes which of its results were reranked.
	Rerank any `json:"rerank,omitzero"`
}

// PageMeta returns the Meta of a page with an offset.
func PageMeta(total int64, limit, offset, returned int) Meta {
	return Meta{Total: total, Limit: limit, Offset: offset, HasMore: int64(offset)+int64(returned) < total}
}

type success struct {
	Success   bool   `json:"success"`
	Data      any    `json:"data"`
	Meta      *Meta  `json:"meta,omitempty"`
	RequestID string `json:"requestId"`
}

type failure struct {
	Success   bool    `json:"success"`
	Error     Problem `json:"error"`
	RequestID string  `json:"requestId"`
	Code      any     `json:"code,omitempty"` // Code and Message are set only with a Dialect
	Message   string  `json:"message,omitempty"`
}

// Problem is the public form of an error.
type Problem struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// Data responds with one resource or object.
func Data(w http.ResponseWriter, r *http.Request, status int, data any) {
	write(w, r, status, success{Success: true, Data: data, RequestID: RequestID(r.Context())})
}

// DataWithMeta responds with 200 and one object that was made of a page of items.
func DataWithMeta(w http.ResponseWriter, r *http.Request, data any, meta Meta) {
	write(w, r, http.StatusOK, success{Success: true, Data: data, Meta: &meta, RequestID: RequestID(r.Context())})
}

// List responds with a page of items. A nil slice is encoded as [].
func List[T any](w http.ResponseWriter, r *http.Request, items []T, meta Meta) {
	if items == nil {
		items = []T{}
	}
	write(w, r, http.StatusOK, success{Success: true, Data: items, Meta: &meta, RequestID: RequestID(r.Context())})
}

// EncodeData returns the response of DataWithMeta in one line, for an event of a stream.
func EncodeData(ctx context.Context, data any, meta Meta) ([]byte, error) {
	return json.Marshal(success{Success: true, Data: data, Meta: &meta, RequestID: RequestID(ctx)})
}

// EncodeError returns the response of Error in one line, for an event of a stream, and logs errors of the server.
func EncodeError(ctx context.Context, err error) ([]byte, error) {
	fe := Public(err)
	logFailure(ctx, fe, err)
	return json.Marshal(failure{Error: problem(fe), RequestID: RequestID(ctx)})
}

// streamBuffer is the size of the write buffer of a streamed list.
const streamBuffer = 64 << 10

// StreamList responds with a page of items that may be many megabytes of JSON. items must
// write the elements of the array, separated by commas, and must not fail.
func StreamList(w http.ResponseWriter, r *http.Request, meta Meta, items func(out *bufio.Writer)) {
	metaJSON, err := json.Marshal(meta)
	if err != nil {
		Error(w, r, err)
		return
	}
	writeHead(w, http.StatusOK)
	out := bufio.NewWriterSize(w, streamBuffer)
	_, _ = out.WriteString(`{"success":true,"data":[`) // the writer keeps an error: the client has disconnected
	items(out)
	_, _ = fmt.Fprintf(out, `],"meta":%s,"requestId":"%s"}`+"\n", metaJSON, RequestID(r.Context()))
	_ = out.Flush()
}

// NoContent responds with 204.
func NoContent(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }

// StatusDisconnected is the status of a request that failed because its client had disconnected, as in nginx and
// Prometheus. The client does not receive it; it keeps logs and metrics free of errors that the server did not cause.
const StatusDisconnected = 499

// Error responds with the public form of err. It logs errors of the server once. Internal
// details are not sent.
func Error(w http.ResponseWriter, r *http.Request, err error) {
	fe := Public(err)
	entry := table[fe.Kind]
	disconnected := isDisconnected(r.Context(), fe)
	if !disconnected {
		logFailure(r.Context(), fe, err)
	}
	setErrorHeaders(w.Header(), fe, entry.status, challengeOf(r.Context()))
	answer := failure{Error: problem(fe), RequestID: RequestID(r.Context())}
	status, mediaType, body := answer.applyDialect(r, fe, entry.status)
	if disconnected {
		status = StatusDisconnected
	}
	if mediaType != "" {
		Raw(w, status, mediaType, body)
		return
	}
	write(w, r, status, answer)
}

// isDisconnected reports whether a failure follows from the end of the client's connection, which cancels the context
// of the request. Neither an internal error nor a timeout does: the context is also cancelled after the deadline for
// reading a body, which the client may still be sending.
func isDisconnected(ctx context.Context, fe *fault.Error) bool {
	return errors.Is(context.Cause(ctx), context.Canceled) &&
		(fe.Kind == fault.Unavailable || fe.Kind == fault.BadGateway)
}

// logFailure logs an error of the server.
func logFailure(ctx context.Context, fe *fault.Error, err error) {
	status := table[fe.Kind].status
	if status < http.StatusInternalServerError {
		return
	}
	level := slog.LevelWarn // the store's log has the details
	if fe.Kind == fault.Internal {
		level = slog.LevelError
	}
	slog.Log(ctx, level, "request failed", "status", status, "error", err)
}

// ProblemOf returns the public form of err, for a response that has several.
func ProblemOf(err error) Problem { return problem(Public(err)) }

// Status returns the HTTP status of the response to err.
func Status(err error) int { return table[Public(err).Kind].status }

// Public converts an error into the fault that the response is made of.
func Public(err error) *fault.Error {
	var fe *fault.Error
	switch {
	case errors.As(err, &fe):
		return fe
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "The request took too long").After(time.Second)
	case errors.Is(err, context.Canceled):
		return fault.Wrap(err, fault.Unavailable, "The request was cancelled").After(time.Second)
	}
	return fault.Wrap(err, fault.Internal, "")
}

func problem(fe *fault.Error) Problem {
	entry := table[fe.Kind]
	p := Problem{Code: entry.code, Message: fe.Message, Details: fe.Details}
	if entry.hide {
		p.Message, p.Details = "Internal server error", nil
		if id, ok := fe.Details[CommandID]; ok { // the client can query the outcome with it
			p.Details = map[string]any{CommandID: id}
		}
	}
	return p
}

// CommandID is the detail with the id of the command that failed or whose outcome is unknown.
const CommandID = "commandId"

func setErrorHeaders(h http.Header, fe *fault.Error, status int, challenge string) {
	retryAfter := fe.RetryAfter
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if retryAfter <= 0 {
			retryAfter = time.Second
		}
	}
	if retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(retryAfter.Seconds()))))
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge)
	}
}

func write(w http.ResponseWriter, r *http.Request, status int, body any) {
	payload, err := json.Marshal(body)
	if err != nil {
		slog.ErrorContext(r.Context(), "the response cannot be encoded", "error", err)
		status = http.StatusInternalServerError
		payload = []byte(
			`{"success":false,"error":{"code":"INTERNAL_ERROR","message":"Internal server error"},"requestId":"` +
				RequestID(r.Context()) + `"}`,
		)
	}
	writeHead(w, status)
	// The newline separates responses on a terminal. On an error the client has disconnected.
	_, _ = w.Write(append(payload, '\n'))
}

// Raw responds with a body that is not JSON of the envelope, such as another product's.
func Raw(w http.ResponseWriter, status int, mediaType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // fails only if the client has disconnected; G705: it is no HTML
}

func writeHead(w http.ResponseWriter, status int) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
}
