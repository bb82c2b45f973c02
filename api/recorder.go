package api

import (
	"context"
	"net/http"
)

// recorder knows how a request is answered. There are two in the chain of handlers, one on
// each side of the compression: the outermost one has what goes to the client, which
// metrics, trace, access log and audit log report, and the innermost one has what the
// handlers say, which goes out later or, if they panic, not at all. Both are reached by the
// exchange; no handler wraps the answer for itself.
type recorder struct {
	http.ResponseWriter
	// before, if it is set, is called once, before the first byte goes out, with how many
	// bytes the first write has; until then the status is held back. If it returns an error
	// it has given another answer, and nothing more is written.
	before func(first int) error

	status  int   // as a handler gave it; 0: none did
	begun   bool  // the header has gone out
	written int64 // bytes of the body, those that answer HEAD included
	failed  error // why nothing more is written
}

// WriteHeader implements http.ResponseWriter. The first status is the answer's.
func (a *recorder) WriteHeader(status int) {
	if status < http.StatusOK { // sent ahead, such as 100: no answer yet
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

// FlushError lets http.ResponseController flush.
func (a *recorder) FlushError() error {
	if err := a.begin(0); err != nil {
		return err
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (a *recorder) Flush() { _ = a.FlushError() }

// Unwrap serves http.ResponseController.
func (a *recorder) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// begin lets the answer begin, once.
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

// code returns the status that went out; 0: nothing did.
func (a *recorder) code() int {
	if !a.begun {
		return 0
	}
	return a.status
}

// open begins the exchange: it is the outermost handler.
func (s *Server) open(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{ip: s.clientIP(r), sent: recorder{ResponseWriter: w}}
		next.ServeHTTP(&x.sent, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
	})
}
