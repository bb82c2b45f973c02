package api

import (
	"context"
	"net/http"
)

// recorder records the status and the size of a response. The chain of handlers has two, one
// on each side of the compression. The outer one records what is sent to the client, which
// metrics, trace, access log and audit log report. The inner one records what the handlers
// write, which is sent later or, after a panic, not at all. Both are fields of the exchange;
// no other handler wraps the response.
type recorder struct {
	http.ResponseWriter
	// before, if it is set, is called once before the first byte is sent, with the size of
	// the first write. The status is held back until then. If before returns an error, it
	// has written another response, and nothing more is written.
	before func(first int) error

	status  int   // as set by a handler; 0: not set
	begun   bool  // the header has been sent
	written int64 // bytes of the body, including those of responses to HEAD
	failed  error // error of before
}

// WriteHeader implements http.ResponseWriter. Only the first final status counts.
func (a *recorder) WriteHeader(status int) {
	if status < http.StatusOK { // an informational response, such as 103
		a.ResponseWriter.WriteHeader(status)
		return
	}
	if a.status != 0 {
		return
	}
	a.status = status
	if a.before == nil {
		_ = a.begin(0) // without before it cannot fail
	}
}

// Write implements http.ResponseWriter.
func (a *recorder) Write(p []byte) (int, error) {
	if err := a.begin(len(p)); err != nil {
		return 0, err
	}
	n, err := a.ResponseWriter.Write(p)
	a.written += int64(n)
	return n, err
}

// FlushError is called by http.ResponseController.
func (a *recorder) FlushError() error {
	if err := a.begin(0); err != nil {
		return err
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (a *recorder) Flush() { _ = a.FlushError() }

// Unwrap is called by http.ResponseController.
func (a *recorder) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// begin sends the header, once.
func (a *recorder) begin(first int) error {
	if a.failed != nil || a.begun {
		return a.failed
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if before := a.before; before != nil {
		a.before = nil
		if err := before(first); err != nil {
			a.failed = err
			return err
		}
	}
	a.begun = true
	a.ResponseWriter.WriteHeader(a.status)
	return nil
}

// code returns the status that was sent, or 0.
func (a *recorder) code() int {
	if !a.begun {
		return 0
	}
	return a.status
}

// beginExchange adds the exchange to the context. It is the outermost handler.
func (s *Server) beginExchange(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{ip: s.clientIP(r), sent: recorder{ResponseWriter: w}}
		next.ServeHTTP(&x.sent, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
	})
}
