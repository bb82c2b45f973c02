package api

import (
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// auditor records the uses of keys; see api/audit.
type auditor interface {
	// Room refuses, as Unavailable, when no more uses can be recorded: no request with
	// a key is begun then.
	Room() error
	// Write records a use. When it returns nil the record outlives the process.
	Write(r *auditrecord.Record) error
	// Fold records a use together with others that are alike, likewise.
	Fold(r *auditrecord.Record) error
	// Unknown counts a request without a known key.
	Unknown(ip netip.Addr, status int)
}

// audit records each use of a known key before the first byte of its answer, and once
// more when the answer is over if there is more to say then. It is around everything
// that gives answers, panics and refusals included, so it learns who asks from the
// exchange: whoever authenticates comes later.
func (s *Server) audit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(request.WithNotes(r.Context()))
		a := &auditedAnswer{ResponseWriter: w, server: s, request: r, exchange: exchangeOf(r.Context()), began: time.Now()}
		cut := true
		defer func() { a.end(cut) }()
		next.ServeHTTP(a, r)
		cut = false
	})
}

// notice keeps for the audit log whose key came, and refuses if a known one's use
// cannot be recorded.
func (s *Server) notice(x *exchange, credential *postgres.Credential) error {
	if s.deps.Audit == nil {
		return nil
	}
	if credential == nil {
		x.unknown = true
		return nil
	}
	if err := s.deps.Audit.Room(); err != nil {
		return err
	}
	x.used = credential
	return nil
}

// auditedAnswer holds an answer's status back until its first byte comes, and lets it
// go when the use is recorded.
type auditedAnswer struct {
	http.ResponseWriter
	server   *Server
	request  *http.Request
	exchange *exchange
	began    time.Time

	status  int   // 0: not yet known
	begun   bool  // the answer has begun
	failed  bool  // the use could not be recorded, and another answer was given
	said    int64 // bytes of the answer as they were recorded
	written int64
}

var errNotRecorded = errors.New("the use of the key could not be recorded")

// WriteHeader implements http.ResponseWriter.
func (a *auditedAnswer) WriteHeader(status int) {
	if status < http.StatusOK { // sent ahead: no answer yet
		a.ResponseWriter.WriteHeader(status)
		return
	}
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *auditedAnswer) Write(p []byte) (int, error) {
	if err := a.begin(len(p)); err != nil {
		return 0, err
	}
	n, err := a.ResponseWriter.Write(p)
	if a.request.Method != http.MethodHead {
		a.written += int64(n)
	}
	return n, err
}

// FlushError lets http.ResponseController flush.
func (a *auditedAnswer) FlushError() error {
	if err := a.begin(0); err != nil {
		return err
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (a *auditedAnswer) Flush() { _ = a.FlushError() }

// Unwrap serves http.ResponseController.
func (a *auditedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// begin records the use, once, and lets the answer begin. If that fails the caller is
// told, instead, that it cannot be.
func (a *auditedAnswer) begin(first int) error {
	if a.failed {
		return errNotRecorded
	}
	if a.begun {
		return nil
	}
	a.begun = true
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.exchange.used != nil {
		if a.request.Method != http.MethodHead {
			a.said = a.announced(first)
		}
		if err := a.record(a.said, false); err != nil {
			a.failed = true
			a.refuse(err)
			return errNotRecorded
		}
	}
	a.ResponseWriter.WriteHeader(a.status)
	return nil
}

// announced is how many bytes the answer has, as far as its beginning tells.
func (a *auditedAnswer) announced(first int) int64 {
	if n, err := strconv.ParseInt(a.Header().Get("Content-Length"), 10, 64); err == nil && n > int64(first) {
		return n
	}
	return int64(first)
}

// refuse answers instead of what was to be answered.
func (a *auditedAnswer) refuse(err error) {
	h := a.Header()
	for _, name := range []string{
		"Content-Type", "Content-Encoding", "Content-Length", "Cache-Control", "ETag", "Link", "Location",
		"Idempotent-Replayed",
	} {
		h.Del(name)
	}
	a.status = http.StatusServiceUnavailable
	reply.Error(a.ResponseWriter, a.request, err)
}

// end completes the record of an answer that is over, or was cut off.
func (a *auditedAnswer) end(cut bool) {
	if !cut {
		_ = a.begin(0) // said by begin
	}
	switch {
	case a.failed:
	case a.exchange.unknown:
		a.server.deps.Audit.Unknown(a.exchange.ip, a.status)
	case a.exchange.used == nil:
	case !a.begun: // nobody was answered, but somebody asked
		a.status = 0
		_ = a.record(0, false) // nobody to tell; it is counted
	case a.written != a.said || a.exchange.lasts:
		_ = a.record(a.written, true) // likewise
	}
}

// record writes what is known by now.
func (a *auditedAnswer) record(sent int64, final bool) error {
	ctx := a.request.Context()
	record := auditrecord.Record{
		RequestID: reply.RequestID(ctx), At: a.began, Final: final,
		Key: a.exchange.used.ID, Workspace: a.exchange.workspace(),
		Method: a.request.Method, Route: auditrecord.NoRoute, Status: a.status, IP: a.exchange.ip,
		UserAgent: a.request.UserAgent(),
		Duration:  time.Since(a.began), BytesOut: sent,
	}
	if pattern := chi.RouteContext(ctx).RoutePattern(); a.server.metrics.routes[pattern] {
		record.Route = pattern
	}
	if body, ok := a.request.Body.(*countedBody); ok {
		record.BytesIn = body.read.Load()
	}
	if err := a.write(&record); err != nil {
		refused := fault.Wrap(err, fault.Unavailable, "Uses of keys cannot be recorded at the moment").After(time.Second)
		if applied := request.NotesOf(ctx).Command; applied != uuid.Nil {
			_ = refused.With(reply.CommandID, applied) // it is done, whatever becomes of the answer
		}
		return refused
	}
	return nil
}

// write records a use: by itself, or, where no plan bounds how many there are and there
// are many, together with others that are alike.
func (a *auditedAnswer) write(record *auditrecord.Record) error {
	x, trail := a.exchange, a.server.deps.Audit
	if !x.planned && !x.lasts && !x.folded && !x.recorded {
		x.folded = !a.server.refusals.Take(record.Key, record.IP, record.At)
	}
	if x.folded && x.recorded {
		return nil // it is counted; how long its answer was is not kept
	}
	x.recorded = true
	if x.folded {
		return trail.Fold(record)
	}
	return trail.Write(record)
}

// workspace is whose a use of a key is: that of the workspace it was let into, else of
// the only one that the key opens. What was only asked for is not told to anybody: it
// may be another tenant's.
func (x *exchange) workspace() uuid.UUID {
	if x.principal != nil && x.principal.Workspace != uuid.Nil {
		return x.principal.Workspace
	}
	only := uuid.Nil
	for id, access := range x.used.Workspaces {
		if access.Mode != x.used.Mode {
			continue
		}
		if only != uuid.Nil {
			return uuid.Nil
		}
		only = id
	}
	return only
}
