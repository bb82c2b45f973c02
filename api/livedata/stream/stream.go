// Package stream serves the route that sends points as they arrive, as server-sent events. It
// owns the ids of events, from which a reader goes on in any process.
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
	// defaultPatience is how long a reader of a stream may take for what is sent at
	// once.
	defaultPatience = 10 * time.Second
	heartbeat       = 15 * time.Second

	// eventBytes is about how large an event becomes, and what is sent at once.
	eventBytes = 64 << 10

	lastEventID = "Last-Event-ID"
)

// Deps is what the route is made of.
type Deps struct {
	Streams  *tail.Hub     // points as they arrive
	TokenKey [32]byte      // signs the ids of events
	Patience time.Duration // how long a reader may take for what is sent at once; zero: 10 s
}

const path = "/api/live-data/stream"

type api struct {
	Deps
	sealer token.Sealer
}

// Routes returns the route.
func Routes(deps Deps) []route.Route {
	if deps.Patience == 0 {
		deps.Patience = defaultPatience
	}
	a := &api{Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}}
	return []route.Route{{
		Method: http.MethodGet, Pattern: path, Scopes: []request.Scope{request.ReadLiveData}, Lasts: true,
		Handle: a.streamPoints,
	}}
}

// stream is one reader of points as they arrive.
type stream struct {
	*api
	of    token.Scope
	epoch string
	from  *tail.Stream
	out   *eventstream.Writer
}

// streamPoints sends points as they arrive, until the reader goes, is dropped, or the
// key may not read them any more.
func (a *api) streamPoints(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	filter := selector.Read(p)
	epoch := p.OneOf("epoch", "", "ms", "us", "ns")
	id, field, err := eventBefore(r, p)
	if err != nil {
		return err
	}
	if err := p.Err(); err != nil {
		return err
	}
	principal := request.PrincipalOf(r.Context())
	s := &stream{api: a, of: token.ScopeOf("stream", principal.Workspace, filter), epoch: epoch}
	open := tail.Opening{Workspace: principal.Workspace, Key: principal.KeyID, Filter: filter}
	if open.After, err = s.position(id, field); err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventstream.ContentType)
		return nil
	}
	if s.from, err = a.Streams.Open(r.Context(), open); err != nil {
		return err
	}
	defer s.from.Close()
	if s.out, err = eventstream.Open(w, a.Patience); err != nil {
		return err
	}
	ctx, stop := s.out.Guard(r.Context(), request.SessionOf(r.Context()))
	defer stop()
	if err := s.run(ctx); err != nil && r.Context().Err() == nil {
		slog.InfoContext(r.Context(), "a stream of points is ended", "reason", err)
	}
	return nil
}

// eventBefore reads the id of the last event that the reader has, if there is one, and
// by which name it was given. A browser that reconnects sends the header with the
// address of before, so the header counts.
func eventBefore(r *http.Request, p *request.Params) (id, field string, err error) {
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

// position reads where the reader was; nil: it begins now.
func (s *stream) position(id, field string) (*tail.Position, error) {
	if field == "" {
		return nil, nil
	}
	at, problem := decodePosition(&s.sealer, id, s.of)
	if problem != "" {
		return nil, fault.Field(fault.Malformed, field, problem)
	}
	return &at, nil
}

func (s *stream) run(ctx context.Context) error {
	s.out.Comment("points as they arrive") // the reader knows that it is heard
	if err := s.begin(ctx); err != nil {
		return ending(ctx, err)
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		list, dropped := s.from.Take()
		if err := s.send(ctx, list); err != nil {
			return ending(ctx, err)
		}
		if dropped != "" {
			return s.drop(dropped)
		}
		select {
		case <-s.from.Ready():
		case <-beat.C:
			if err := s.live(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ending is why the stream ended, given the failure that this showed as.
func ending(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// begin brings the reader up to date, and tells what it has missed for good.
func (s *stream) begin(ctx context.Context) error {
	if s.from.Missed() == "" {
		if err := s.out.Flush(); err != nil {
			return err
		}
		err := s.from.CatchUp(ctx, func(list []tail.Delivery) error {
			if len(list) == 0 {
				return s.live()
			}
			return s.send(ctx, list)
		})
		if err != nil {
			return err
		}
	}
	if reason := s.from.Missed(); reason != "" {
		s.say("reset", reason)
	} else {
		s.out.ID(s.id())
	}
	return s.out.Flush()
}

// id is that of an event up to which everything was sent.
func (s *stream) id() string { return encodePosition(&s.sealer, s.of, s.from.Position()) }

// live sends a sign of life, with where the reader is by now.
func (s *stream) live() error {
	s.from.Settle()
	s.out.Comment("heartbeat")
	s.out.ID(s.id())
	return s.out.Flush()
}

// drop tells the reader that nothing follows.
func (s *stream) drop(reason string) error {
	s.say("dropped", reason)
	return s.out.Flush()
}
