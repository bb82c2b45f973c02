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

// auditor writes the audit log; see api/audit.
type auditor interface {
	// CheckCapacity returns an Unavailable error if no more requests can be recorded. Requests with a
	// key are then refused before they are handled.
	CheckCapacity() error
	// Write records a request. After it returns nil, the record survives a crash of the process.
	Write(r *auditrecord.Record) error
	// Fold records a request in one record with similar ones. After it returns nil, the
	// record survives a crash of the process.
	Fold(r *auditrecord.Record) error
	// CountUnknown counts a request without a known key.
	CountUnknown(ip netip.Addr, status int)
}

// audit records each request with a known key before the first byte of its response. It
// writes a second record at the end of the response if the size has changed or the
// response is a stream. It wraps every handler that writes responses, including panic
// recovery and refusals. Authentication runs inside it, so it reads the key from the
// exchange.
func (s *Server) audit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(request.WithNotes(r.Context()))
		a := &auditedRequest{server: s, request: r, exchange: exchangeOf(r.Context()), began: time.Now()}
		a.exchange.sent.before = a.begin
		cut := true
		defer func() { a.end(cut) }()
		next.ServeHTTP(w, r)
		cut = false
	})
}

// prepareAudit stores the credential of a request for the audit log. It returns an error if
// the key is known and the request cannot be recorded.
func (s *Server) prepareAudit(x *exchange, credential *access.Credential) error {
	if s.deps.Audit == nil {
		return nil
	}
	if credential == nil {
		x.unknownKey = true
		return nil
	}
	if err := s.deps.Audit.CheckCapacity(); err != nil {
		return err
	}
	x.knownCredential = credential
	return nil
}

// auditedRequest is a request that is written to the audit log if its key is known.
type auditedRequest struct {
	server        *Server
	request       *http.Request
	exchange      *exchange
	began         time.Time
	recordedBytes int64 // response size in the first record
}

var errNotRecorded = errors.New("the use of the key could not be recorded")

// begin records the request before the response begins. If that fails, it replaces the
// response by an error.
func (u *auditedRequest) begin(first int) error {
	if u.exchange.knownCredential == nil {
		return nil
	}
	if u.request.Method != http.MethodHead {
		u.recordedBytes = u.expectedBytes(first)
	}
	if err := u.record(u.exchange.sent.status, u.recordedBytes, false); err != nil {
		u.replaceResponse(err)
		return errNotRecorded
	}
	return nil
}

// expectedBytes returns the Content-Length of the response, or the size of its first write
// if there is no Content-Length or it is smaller.
func (u *auditedRequest) expectedBytes(first int) int64 {
	header := u.exchange.sent.Header()
	if n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil && n > int64(first) {
		return n
	}
	return int64(first)
}

// replaceResponse writes an error in place of the handler's response.
func (u *auditedRequest) replaceResponse(err error) {
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

// end completes the record when the response is complete or was cut off.
func (u *auditedRequest) end(cut bool) {
	x := u.exchange
	answer := &x.sent
	if !cut {
		_ = answer.begin(0) // a failure is in answer.failed
	}
	written := answer.written
	if u.request.Method == http.MethodHead {
		written = 0
	}
	switch {
	case answer.failed != nil:
	case x.unknownKey:
		u.server.deps.Audit.CountUnknown(x.ip, answer.status)
	case x.knownCredential == nil:
	case !answer.begun: // cut off before the response began
		_ = u.record(0, 0, false) // no client receives the error; it is counted
	case written != u.recordedBytes || x.streaming:
		_ = u.record(answer.status, written, true) // likewise
	}
}

// record writes a record of the request as it is known now.
func (u *auditedRequest) record(status int, sent int64, final bool) error {
	ctx := u.request.Context()
	record := auditrecord.Record{
		RequestID: reply.RequestID(ctx), At: u.began, Final: final,
		Key: u.exchange.knownCredential.ID, Workspace: u.exchange.workspace(),
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
			_ = refused.With(reply.CommandID, applied) // the command is applied in spite of the error
		}
		return refused
	}
	return nil
}

// write writes a record individually. If no plan limits the number of requests and there
// are many, it adds the record to one of similar requests.
func (u *auditedRequest) write(record *auditrecord.Record) error {
	x, trail := u.exchange, u.server.deps.Audit
	if !x.withinPlan && !x.streaming && !x.folded && !x.recorded {
		x.folded = !u.server.refusals.Take(record.Key, record.IP, record.At)
	}
	if x.folded && x.recorded {
		return nil // already counted; the final response size is not recorded
	}
	x.recorded = true
	if x.folded {
		return trail.Fold(record)
	}
	return trail.Write(record)
}

// workspace returns the workspace in whose audit log the request appears: the one that it
// was admitted to, otherwise the only one that the key has access to, or zero. The
// workspace in the header is not used before admission, because it may be another
// tenant's.
func (x *exchange) workspace() uuid.UUID {
	if x.principal != nil && x.principal.Workspace != uuid.Nil {
		return x.principal.Workspace
	}
	only := uuid.Nil
	for id, granted := range x.knownCredential.Workspaces {
		if granted.Mode != x.knownCredential.Mode {
			continue
		}
		if only != uuid.Nil {
			return uuid.Nil
		}
		only = id
	}
	return only
}
