package queries

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// maxStreams bounds the open streams of a process, and maxWorkspaceStreams the open
	// streams of one workspace.
	maxStreams          = 1000
	maxWorkspaceStreams = 100

	// maxBatchChanges and maxBatchBytes bound what a stream reads from the journal at a
	// time. The size is that of the stored changes.
	maxBatchChanges = 256
	maxBatchBytes   = smallChangeBytes
)

const lastEventID = "Last-Event-ID"

// stream is the connection of one reader of a workspace's changes.
type stream struct {
	*api
	workspace uuid.UUID
	out       *eventstream.Writer
	sent      int64 // the sequence up to which everything was sent
}

func (a *api) streamEvents(w http.ResponseWriter, r *http.Request) error {
	principal := request.PrincipalOf(r.Context())
	after, field, err := startAfter(r)
	if err != nil {
		return err
	}
	leave, ok := a.Feed.join(principal.Workspace, maxWorkspaceStreams)
	if !ok || a.Feed.Streams() > maxStreams {
		if ok {
			leave()
		}
		return fault.New(fault.Unavailable, "Too many streams are open").After(time.Second)
	}
	defer leave()
	heads, err := a.Journal.GraphSequences(r.Context(), []uuid.UUID{principal.Workspace})
	if err != nil {
		return err
	}
	newest := heads[principal.Workspace]
	requested := after
	if field == "" || after > newest {
		after = newest
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventstream.ContentType)
		return nil
	}
	s := &stream{api: a, workspace: principal.Workspace, sent: after}
	if s.out, err = eventstream.Open(w, a.WriteTimeout); err != nil {
		return err
	}
	ctx, stop := s.out.Guard(r.Context(), request.SessionOf(r.Context()))
	defer stop()
	s.out.Comment("changes after " + strconv.FormatInt(after, 10)) // shows the reader that the stream is open
	if requested > newest {
		s.reset(requested)
	}
	if err := s.run(ctx); err != nil && r.Context().Err() == nil {
		slog.InfoContext(r.Context(), "a stream of changes is ended", "reason", err)
	}
	return nil
}

// reset adds an event for a reader that has seen a change which is not in the journal: the
// graph is not the one that it has read before. The stream is not refused, because a browser
// would not reconnect.
func (s *stream) reset(after int64) {
	s.out.EventWithID("reset", strconv.FormatInt(s.sent, 10), fmt.Appendf(
		nil, `{"reason":"beyond_newest","after":%d,"newest":%d}`, after, s.sent,
	))
}

// startAfter returns the sequence after which a stream begins, and the name of the parameter
// or header that contained it; with field "" the stream begins now. The header takes
// precedence, because a browser that reconnects sends it with the original URL.
func startAfter(r *http.Request) (after int64, field string, err error) {
	p := request.Query(r)
	text, given := p.String("after")
	if err := p.Err(); err != nil {
		return 0, "", err
	}
	field = "after"
	if values := r.Header.Values(lastEventID); len(values) > 0 {
		if len(values) > 1 {
			return 0, "", fault.Field(fault.Malformed, lastEventID, "must not be repeated")
		}
		field, text, given = lastEventID, values[0], true
	}
	if !given {
		return 0, "", nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || text[0] == '+' {
		return 0, "", fault.Field(fault.Malformed, field, "must be the id of an event, or 0 for all")
	}
	return int64(n), field, nil
}

// run sends changes until the reader disconnects, its key no longer permits the stream, the
// server shuts down, or the journal cannot be read. In each case the reader can reconnect with
// the id of the last event and resume after it.
func (s *stream) run(ctx context.Context) error {
	beat := time.NewTicker(eventstream.Heartbeat)
	defer beat.Stop()
	for {
		newest, changed := s.Feed.newest(s.workspace)
		if newest > s.sent {
			if err := s.catchUp(ctx, newest); err != nil {
				return endReason(ctx, err)
			}
		} else if s.out.Buffered() > 0 {
			if err := s.out.Flush(); err != nil {
				return endReason(ctx, err)
			}
		}
		select {
		case <-changed:
		case <-beat.C:
			s.out.Comment("heartbeat")
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

// catchUp sends the changes of the journal up to a sequence.
func (s *stream) catchUp(ctx context.Context, newest int64) error {
	for s.sent < newest && ctx.Err() == nil {
		if err := s.send(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// send sends the next batch of changes.
func (s *stream) send(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.QueryTimeout)
	defer cancel()
	sizes, err := s.Journal.ChangesAfter(ctx, s.workspace, s.sent, maxBatchChanges)
	if err != nil {
		return err
	}
	if len(sizes) == 0 || sizes[0].Sequence != s.sent+1 {
		return fmt.Errorf("change %d of workspace %s is not in the journal", s.sent+1, s.workspace)
	}
	changes, release, err := s.readChanges(ctx, s.workspace, limitBytes(sizes, maxBatchBytes))
	if err != nil {
		return err
	}
	defer release()
	for _, change := range changes {
		data, err := json.Marshal(graphjson.OfChange(change))
		if err != nil {
			return fmt.Errorf("encoding change %d: %w", change.GetSequence(), err)
		}
		s.out.Event("change", change.GetSequence(), data)
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	s.sent = changes[len(changes)-1].GetSequence()
	return nil
}
