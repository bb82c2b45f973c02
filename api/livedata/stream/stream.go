// Package stream serves the route that sends points as they arrive, as server-sent events. It
// defines the ids of events, with which a reader can resume in any process.
package stream

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/api/livedata/selector"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// defaultWriteTimeout is the default timeout of a write to the reader of a stream.
	defaultWriteTimeout = 10 * time.Second

	// eventBytes is the approximate maximum size of an event and of a write.
	eventBytes = 64 << 10

	lastEventID = "Last-Event-ID"
)

// Deps are the dependencies of the route.
type Deps struct {
	Streams      *tail.Hub     // points as they arrive
	TokenKey     [32]byte      // signs the ids of events
	WriteTimeout time.Duration // timeout of a write to the reader; zero: 10 s
}

const path = "/api/live-data/stream"

type api struct {
	Deps
	sealer token.Sealer
}

// Routes returns the route.
func Routes(deps Deps) []route.Route {
	if deps.WriteTimeout == 0 {
		deps.WriteTimeout = defaultWriteTimeout
	}
	a := &api{Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}}
	return []route.Route{{
		Method: http.MethodGet, Pattern: path, Scopes: []request.Scope{request.ReadLiveData}, Streaming: true,
		Handle: a.streamPoints,
	}}
}

// stream is a connection of one reader.
type stream struct {
	*api
	scope  token.Scope
	epoch  string
	source *tail.Stream
	out    *eventstream.Writer
}

// streamPoints sends points as they arrive, until the reader disconnects, is dropped, or its
// key no longer permits reading them.
func (a *api) streamPoints(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	filter := selector.Read(p)
	epoch := p.OneOf("epoch", "", "ms", "us", "ns")
	id, field, err := readLastEventID(r, p)
	if err != nil {
		return err
	}
	if err := p.Err(); err != nil {
		return err
	}
	principal := request.PrincipalOf(r.Context())
	s := &stream{api: a, scope: token.ScopeOf("stream", principal.Workspace, filter), epoch: epoch}
	options := tail.OpenOptions{Workspace: principal.Workspace, Key: principal.KeyID, Filter: filter}
	if options.After, err = s.position(id, field); err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventstream.ContentType)
		return nil
	}
	if s.source, err = a.Streams.Open(r.Context(), options); err != nil {
		return err
	}
	defer s.source.Close()
	if s.out, err = eventstream.Open(w, a.WriteTimeout); err != nil {
		return err
	}
	ctx, stop := s.out.Guard(r.Context(), request.SessionOf(r.Context()))
	defer stop()
	if err := s.run(ctx); err != nil && r.Context().Err() == nil {
		slog.InfoContext(r.Context(), "a stream of points is ended", "reason", err)
	}
	return nil
}

// readLastEventID returns the id of the last event that the reader has received, if any, and
// the name of the parameter or header that contained it. The header takes precedence, because
// a browser that reconnects sends it with the original URL.
func readLastEventID(r *http.Request, p *request.Params) (id, field string, err error) {
	id, given := p.String("after")
	field = "after"
	if values := r.Header.Values(lastEventID); len(values) > 0 {
		if len(values) > 1 {
			return "", "", fault.Field(fault.Malformed, lastEventID, "must not be repeated")
		}
		field, id, given = lastEventID, values[0], true
	}
	if !given {
		return "", "", nil
	}
	return id, field, nil
}

// position decodes the position of the reader; nil: the stream begins now.
func (s *stream) position(id, field string) (*tail.Position, error) {
	if field == "" {
		return nil, nil
	}
	decoded, problem := decodePosition(&s.sealer, id, s.scope)
	if problem != "" {
		return nil, fault.Field(fault.Malformed, field, problem)
	}
	return &decoded, nil
}

func (s *stream) run(ctx context.Context) error {
	s.out.Comment("points as they arrive") // shows the reader that the stream is open
	if err := s.begin(ctx); err != nil {
		return endReason(ctx, err)
	}
	beat := time.NewTicker(eventstream.Heartbeat)
	defer beat.Stop()
	for {
		list, dropped := s.source.Receive()
		if err := s.send(ctx, list); err != nil {
			return endReason(ctx, err)
		}
		if dropped != "" {
			return s.drop(dropped)
		}
		select {
		case <-s.source.Ready():
		case <-beat.C:
			if err := s.sendHeartbeat(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// endReason returns why the stream ended: the cause of ctx if it is done, else err.
func endReason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// begin sends what the reader has missed, or a notice that it cannot be sent.
func (s *stream) begin(ctx context.Context) error {
	if s.source.Missed() == "" {
		if err := s.out.Flush(); err != nil {
			return err
		}
		err := s.source.CatchUp(ctx, func(list []tail.Delivery) error {
			if len(list) == 0 {
				return s.sendHeartbeat()
			}
			return s.send(ctx, list)
		})
		if err != nil {
			return err
		}
	}
	if reason := s.source.Missed(); reason != "" {
		s.sendNotice("reset", reason)
	} else {
		s.out.ID(s.id())
	}
	return s.out.Flush()
}

// id returns the id of the current position, up to which everything was sent.
func (s *stream) id() string { return encodePosition(&s.sealer, s.scope, s.source.Position()) }

// sendHeartbeat sends a heartbeat with the current position.
func (s *stream) sendHeartbeat() error {
	s.source.Advance()
	s.out.Comment("heartbeat")
	s.out.ID(s.id())
	return s.out.Flush()
}

// drop sends the notice that the stream ends.
func (s *stream) drop(reason string) error {
	s.sendNotice("dropped", reason)
	return s.out.Flush()
}
