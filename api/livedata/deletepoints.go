package livedata

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/livedata/checkpoint"
	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// pointsDeletion is the response to a deletion of points: its bounds, and the checkpoint with
// which to wait for it. A null member means no bound.
type pointsDeletion struct {
	SourceID   uuid.UUID  `json:"sourceId"`
	Metric     *string    `json:"metric"`
	From       *time.Time `json:"from"`
	To         *time.Time `json:"to"`
	Checkpoint string     `json:"checkpoint"`
}

// deletePoints deletes points of one source that were accepted before. It responds when the
// deletion is in the log: from then on no replay restores the points, and a query with the
// checkpoint returns none of them.
func (a *api) deletePoints(w http.ResponseWriter, r *http.Request) error {
	d, err := readDeletion(request.Query(r), time.Now())
	if err != nil {
		return err
	}
	workspace := request.PrincipalOf(r.Context()).Workspace
	if _, err := a.Sources.Source(r.Context(), workspace, d.Source); err != nil {
		return err
	}
	topic := a.TopicID() // before the produce, see acceptPoints
	positions, err := a.Deletions.deletePoints(r.Context(), workspace, d)
	token := checkpoint.Encode(&a.sealer, checkpoint.Checkpoint{Workspace: workspace, Topic: topic, Positions: positions})
	if err != nil {
		return withCheckpoint(err, token, len(positions) > 0)
	}
	answer := pointsDeletion{SourceID: d.Source, Checkpoint: token}
	if d.HasMetric {
		answer.Metric = &d.Metric
	}
	if d.HasFrom {
		answer.From = timeAt(d.FromUS)
	}
	if d.HasTo {
		answer.To = timeAt(d.ToUS)
	}
	reply.Data(w, r, http.StatusAccepted, answer)
	return nil
}

// readDeletion parses the parameters of a deletion. The source is required. Without a metric
// the deletion covers all metrics; without from or to it is unbounded on that side.
func readDeletion(p *request.Params, now time.Time) (pointblock.Deletion, error) {
	var d pointblock.Deletion
	if source := p.UUID("sourceId"); source != nil {
		d.Source = *source
	} else if _, given := p.String("sourceId"); !given {
		p.Fail("sourceId", "is required")
	}
	d.Metric, d.HasMetric = p.String("metric")
	if d.HasMetric && (d.Metric == "" || utf8.RuneCountInString(d.Metric) > maxName) {
		p.Fail("metric", "must have 1 to 256 characters")
	}
	d.FromUS, d.HasFrom = parseBound(p, "from", now)
	d.ToUS, d.HasTo = parseBound(p, "to", now)
	if d.HasFrom && d.HasTo && d.FromUS >= d.ToUS {
		p.Fail("from", "must be before to")
	}
	return d, p.Err()
}

func parseBound(p *request.Params, name string, now time.Time) (us int64, given bool) {
	text, given := p.String(name)
	if !given {
		return 0, false
	}
	us, problem := value.ParseTime(text, now)
	if problem != "" {
		p.Fail(name, problem)
	}
	return us, true
}

func timeAt(us int64) *time.Time {
	at := time.UnixMicro(us).UTC()
	return &at
}

// deletePoints writes a deletion to the log. It does not retry in the background: the caller
// may repeat the request, because deletions are idempotent.
func (s *DeletionSender) deletePoints(
	ctx context.Context, workspace uuid.UUID, d pointblock.Deletion,
) ([]pointblock.Position, error) {
	positions, err := s.produceDeletions(ctx, reply.RequestID(ctx), d.Source,
		pointblock.EncodeDeletions(workspace, time.Now().UnixMicro(), []pointblock.Deletion{d}))
	if err != nil && fault.KindOf(err) == fault.Internal {
		return positions, fault.Wrap(
			err, fault.Unavailable, "The deletion could not be written to the log; ask for it again",
		).After(time.Second)
	}
	return positions, err
}
