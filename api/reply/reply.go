// Package reply writes answers: the envelope around data, lists and errors, and
// the one table from error kinds to HTTP. Every JSON body of the API goes
// through it, so that all carry the same envelope and request id.
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

// Meta is the pagination of a list answer.
type Meta struct {
	Total      int64   `json:"total"`
	Limit      int     `json:"limit"`
	Offset     int     `json:"offset"`
	HasMore    bool    `json:"hasMore"`
	NextCursor *string `json:"nextCursor"` // where the next page begins, nil at the end
	// Truncated, of a list that is bounded, says that there is more than was looked at.
	Truncated *bool `json:"truncated,omitzero"`
	// DeadLettered, of a query with a checkpoint, reports how many of its records were put
	// among the dead letters, if any were.
	DeadLettered *int64 `json:"deadLettered,omitzero"`
	// Interval, of a list of points by bucket, is the buckets' length.
	Interval string `json:"interval,omitzero"`
	// Degraded, of a search, names what is missing in the answer; none: nothing is.
	Degraded []string `json:"degraded,omitempty"`
}

// PageMeta makes the Meta of a page by offset.
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
	Code      string  `json:"code,omitempty"` // these two in a Dialect only
	Message   string  `json:"message,omitempty"`
}

// Problem is an error as callers see it.
type Problem struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// Data answers with one resource or object.
func Data(w http.ResponseWriter, r *http.Request, status int, data any) {
	write(w, r, status, success{Success: true, Data: data, RequestID: RequestID(r.Context())})
}

// List answers with a page of items; a nil slice is sent as [].
func List[T any](w http.ResponseWriter, r *http.Request, items []T, meta Meta) {
	if items == nil {
		items = []T{}
	}
	write(w, r, http.StatusOK, success{Success: true, Data: items, Meta: &meta, RequestID: RequestID(r.Context())})
}

// streamBuffer is how many bytes of a streamed list are gathered before they are
// sent.
const streamBuffer = 64 << 10

// StreamList answers with a page of items that may be many megabytes of JSON: items
// writes the elements of the array, with commas between them, and must not fail.
func StreamList(w http.ResponseWriter, r *http.Request, meta Meta, items func(out *bufio.Writer)) {
	tail, err := json.Marshal(meta)
	if err != nil {
		Error(w, r, err)
		return
	}
	writeHead(w, http.StatusOK)
	out := bufio.NewWriterSize(w, streamBuffer)
	_, _ = out.WriteString(`{"success":true,"data":[`) // an error stays with the writer: the client is gone
	items(out)
	_, _ = fmt.Fprintf(out, `],"meta":%s,"requestId":"%s"}`+"\n", tail, RequestID(r.Context()))
	_ = out.Flush()
}

// NoContent answers 204.
func NoContent(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }

// Error answers with err's public face. What is internal is logged here, once,
// and not sent.
func Error(w http.ResponseWriter, r *http.Request, err error) {
	fe := Public(err)
	entry := table[fe.Kind]
	if entry.status >= http.StatusInternalServerError {
		level := slog.LevelWarn // a store's trouble, which its own log tells of
		if fe.Kind == fault.Internal {
			level = slog.LevelError
		}
		slog.Log(r.Context(), level, "request failed", "status", entry.status, "error", err)
	}
	setErrorHeaders(w.Header(), fe, entry.status, challengeOf(r.Context()))
	answer := failure{Error: problem(fe), RequestID: RequestID(r.Context())}
	status := answer.speak(r.Context(), entry.status)
	write(w, r, status, answer)
}

// ProblemOf returns the public part of err, for an answer that has several.
func ProblemOf(err error) Problem { return problem(Public(err)) }

// Status returns the status that err is answered with.
func Status(err error) int { return table[Public(err).Kind].status }

// Public returns the error's public face, as a fault.
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
		if id, ok := fe.Details[CommandID]; ok { // by which its outcome can be asked for
			p.Details = map[string]any{CommandID: id}
		}
	}
	return p
}

// CommandID is the detail that says whose outcome is not known, or went wrong.
const CommandID = "commandId"

func setErrorHeaders(h http.Header, fe *fault.Error, status int, challenge string) {
	after := fe.RetryAfter
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if after <= 0 {
			after = time.Second
		}
	}
	if after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge)
	}
}

func write(w http.ResponseWriter, r *http.Request, status int, body any) {
	payload, err := json.Marshal(body)
	if err != nil {
		slog.ErrorContext(r.Context(), "encoding the answer", "error", err)
		status = http.StatusInternalServerError
		payload = []byte(
			`{"success":false,"error":{"code":"INTERNAL_ERROR","message":"Internal server error"},"requestId":"` +
				RequestID(r.Context()) + `"}`,
		)
	}
	writeHead(w, status)
	_, _ = w.Write(append(payload, '\n')) // so that answers on a terminal stand apart; the client is gone: nothing to do
}

func writeHead(w http.ResponseWriter, status int) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
}
