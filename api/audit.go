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
	"github.com/livegraph/livegraph/storage/postgres/access"
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
// exchange: anyone who authenticates comes later.
func (s *Server) audit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(request.WithNotes(r.Context()))
		a := &use{server: s, request: r, exchange: exchangeOf(r.Context()), began: time.Now()}
		a.exchange.sent.before = a.begin
		cut := true
		defer func() { a.end(cut) }()
		next.ServeHTTP(w, r)
		cut = false
	})
}

// notice keeps for the audit log whose key came, and refuses if a known one's use
// cannot be recorded.
func (s *Server) notice(x *exchange, credential *access.Credential) error {
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

// use is one request of a key that the audit log is told of.
type use struct {
	server   *Server
	request  *http.Request
	exchange *exchange
	began    time.Time
	said     int64 // bytes of the answer as they were recorded
}

var errNotRecorded = errors.New("the use of the key could not be recorded")

// begin records the use before the answer begins. If that fails the caller is told,
// instead, that it cannot be.
func (u *use) begin(first int) error {
	if u.exchange.used == nil {
		return nil
	}
	if u.request.Method != http.MethodHead {
		u.said = u.announced(first)
	}
	if err := u.record(u.exchange.sent.status, u.said, false); err != nil {
		u.refuse(err)
		return errNotRecorded
	}
	return nil
}

// announced is how many bytes the answer has, as far as its beginning tells.
func (u *use) announced(first int) int64 {
	header := u.exchange.sent.Header()
	if n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil && n > int64(first) {
		return n
	}
	return int64(first)
}

// refuse answers instead of what was to be answered.
func (u *use) refuse(err error) {
	answer := &u.exchange.sent
	for _, name := range []string{
		"Content-Type", "Content-Encoding", "Content-Length", "Cache-Control", "ETag", "Link", "Location",
		"Idempotent-Replayed",
	} {
		answer.Header().Del(name)
	}
	answer.status = 0
	reply.Error(answer, u.request, err)
}

// end completes the record of an answer that is over, or was cut off.
func (u *use) end(cut bool) {
	x := u.exchange
	answer := &x.sent
	if !cut {
		_ = answer.begin(0) // said by begin
	}
	written := answer.written
	if u.request.Method == http.MethodHead {
		written = 0
	}
	switch {
	case answer.failed != nil:
	case x.unknown:
		u.server.deps.Audit.Unknown(x.ip, answer.status)
	case x.used == nil:
	case !answer.begun: // nobody was answered, but somebody asked
		_ = u.record(0, 0, false) // no client receives the error; it is counted
	case written != u.said || x.lasts:
		_ = u.record(answer.status, written, true) // likewise
	}
}

// record writes what is known by now.
func (u *use) record(status int, sent int64, final bool) error {
	ctx := u.request.Context()
	record := auditrecord.Record{
		RequestID: reply.RequestID(ctx), At: u.began, Final: final,
		Key: u.exchange.used.ID, Workspace: u.exchange.workspace(),
		Method: u.request.Method, Route: auditrecord.NoRoute, Status: status, IP: u.exchange.ip,
		UserAgent: u.request.UserAgent(),
		Duration:  time.Since(u.began), BytesOut: sent,
	}
	if pattern := chi.RouteContext(ctx).RoutePattern(); u.server.metrics.routes[pattern] {
		record.Route = pattern
	}
	if body, ok := u.request.Body.(*countedBody); ok {
		record.BytesIn = body.read.Load()
	}
	if err := u.write(&record); err != nil {
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
func (u *use) write(record *auditrecord.Record) error {
	x, trail := u.exchange, u.server.deps.Audit
	if !x.planned && !x.lasts && !x.folded && !x.recorded {
		x.folded = !u.server.refusals.Take(record.Key, record.IP, record.At)
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
