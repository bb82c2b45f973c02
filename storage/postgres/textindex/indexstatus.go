package textindex

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval/vector"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/linkstore"
)

// Values of IndexStatus.Status.
const (
	StatusReady    = "ready"    // all changes are indexed
	StatusIndexing = "indexing" // some changes are not indexed yet
	StatusDegraded = "degraded" // semantic search is not available, or an index has made no progress for long
)

// An index that lags by at most readyWithin seconds is ready, because indexing takes that long. An
// index that made no progress for degradedAfter seconds while changes were waiting is degraded.
const (
	readyWithin   = 5.0
	degradedAfter = 60.0
)

// IndexStatus is the state of the indexes of a workspace, as the API returns it.
type IndexStatus struct {
	Status string        `json:"status"`
	Model  *vector.Model `json:"model"` // null: there is no index yet
	Nodes  struct {
		Total   int64 `json:"total"`
		Indexed int64 `json:"indexed"`
		Pending int64 `json:"pending"` // not in the index
	} `json:"nodes"`
	Lag struct {
		Events  int64   `json:"events"`  // changes that are not indexed
		Seconds float64 `json:"seconds"` // age of the oldest of them
	} `json:"lag"`
	LastIndexedAt *time.Time `json:"lastIndexedAt"`
	// Text is the state of the text index.
	Text struct {
		Indexed int64 `json:"indexed"` // nodes
		Filling bool  `json:"filling"` // the index is being built from the nodes
		Lag     struct {
			Events  int64   `json:"events"`
			Seconds float64 `json:"seconds"`
		} `json:"lag"`
	} `json:"text"`
	// Links is the state of the links that follow from texts.
	Links struct {
		Mode    linkstore.Mode `json:"mode"`
		Pending int64          `json:"pending"` // nodes and names that are not compared yet
	} `json:"links"`
	Reindex struct {
		Running    bool     `json:"running"`
		Done       int64    `json:"done"` // nodes of the workspace
		Total      int64    `json:"total"`
		ETASeconds *float64 `json:"etaSeconds"` // for all workspaces, if all are reindexed
	} `json:"reindex"`
}

// IndexStatus returns the state of the indexes of a workspace.
func (db *Store) IndexStatus(ctx context.Context, workspace uuid.UUID) (IndexStatus, error) {
	list, err := db.IndexStatuses(ctx, []uuid.UUID{workspace})
	if err != nil {
		return IndexStatus{}, err
	}
	return list[0], nil
}

// IndexStatuses returns the state of the indexes of each of the workspaces, in their order.
func (db *Store) IndexStatuses(ctx context.Context, workspaces []uuid.UUID) ([]IndexStatus, error) {
	open, err := db.OpenIndexes(ctx)
	if err != nil {
		return nil, err
	}
	var live, building *SearchIndex
	for i := range open {
		if open[i].State == IndexLive {
			live = &open[i]
		} else {
			building = &open[i]
		}
	}
	var build BuildProgress
	if building != nil {
		if build, err = db.BuildProgress(ctx, building.ID); err != nil {
			return nil, err
		}
	}
	rows, err := db.workspaceProgress(ctx, live, building, workspaces)
	if err != nil {
		return nil, err
	}
	list := make([]IndexStatus, len(rows))
	for i, row := range rows {
		list[i] = row.status(live, building)
		if building != nil {
			list[i].Reindex.ETASeconds = build.ETASeconds
		}
	}
	return list, nil
}

// workspaceProgress is the recorded progress of the indexes of a workspace.
type workspaceProgress struct {
	total, indexed, built int64
	events                int64
	age                   float64 // seconds
	movedAt               *time.Time
	reindexed             *int64 // nodes of the workspace that were embedded again; nil: no reindex was requested
	text                  textProgress
	linkMode              linkstore.Mode
	linksPending          int64
}

// textProgress is the progress of the text index of a workspace.
type textProgress struct {
	nodes, events int64
	filling       bool
	age           float64 // seconds
	movedAt       *time.Time
}

func (db *Store) workspaceProgress(
	ctx context.Context, live, building *SearchIndex, workspaces []uuid.UUID,
) ([]workspaceProgress, error) {
	var liveID, buildingID uuid.UUID // uuid.Nil if there is none
	if live != nil {
		liveID = live.ID
	}
	if building != nil {
		buildingID = building.ID
	}
	rows, err := db.pool.Query(ctx, `SELECT
			COALESCE((SELECT sum(standing) FROM graph_totals WHERE workspace_id = w.id AND kind = 1), 0)::bigint,
			COALESCE(p.nodes, 0), COALESCE(b.nodes, 0), COALESCE(h.sequence, 0) - LEAST(COALESCE(p.sequence, 0),
			COALESCE(h.sequence, 0)),
			COALESCE((SELECT GREATEST(EXTRACT(EPOCH FROM now() - j.at), 0) FROM journal j
				WHERE j.workspace_id = w.id AND j.sequence = COALESCE(p.sequence, 0) + 1), 0)::float8,
			p.indexed_at,
			COALESCE(l.nodes, 0), COALESCE(h.sequence, 0) - LEAST(COALESCE(l.sequence, 0), COALESCE(h.sequence, 0)),
			COALESCE(l.filling, false),
			COALESCE((SELECT GREATEST(EXTRACT(EPOCH FROM now() - j.at), 0) FROM journal j
				WHERE j.workspace_id = w.id AND j.sequence = COALESCE(l.sequence, 0) + 1), 0)::float8,
			l.updated_at, r.done, COALESCE((SELECT links FROM workspaces WHERE workspaces.id = w.id), 'off'),
			(SELECT count(*) FROM link_nodes q WHERE q.workspace_id = w.id)
				+ (SELECT count(*) FROM link_keys q WHERE q.workspace_id = w.id)
		FROM unnest($3::uuid[]) WITH ORDINALITY AS w (id, n) LEFT JOIN graph_heads h ON h.workspace_id = w.id
		LEFT JOIN embedding_progress p ON p.workspace_id = w.id AND p.index_id = $1
		LEFT JOIN embedding_progress b ON b.workspace_id = w.id AND b.index_id = $2
		LEFT JOIN lexical_workspaces l ON l.workspace_id = w.id
		LEFT JOIN workspace_reindexes r ON r.workspace_id = w.id ORDER BY w.n`, liveID, buildingID, workspaces)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading how far the search index is: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p workspaceProgress, err error) {
		return p, row.Scan(&p.total, &p.indexed, &p.built, &p.events, &p.age, &p.movedAt,
			&p.text.nodes, &p.text.events, &p.text.filling, &p.text.age, &p.text.movedAt, &p.reindexed,
			&p.linkMode, &p.linksPending)
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading how far the search index is: %w", err))
	}
	return list, nil
}

// stalledSeconds returns for how many seconds an index has made no progress although changes were
// waiting during that time.
func stalledSeconds(age float64, movedAt *time.Time) float64 {
	if movedAt == nil {
		return age
	}
	return min(age, time.Since(*movedAt).Seconds())
}

// status returns the progress as an IndexStatus, without Reindex.ETASeconds.
func (p *workspaceProgress) status(live, building *SearchIndex) (s IndexStatus) {
	if live != nil {
		s.Model = &live.Model
	}
	s.Nodes.Total, s.Nodes.Indexed, s.Nodes.Pending = p.total, p.indexed, max(p.total-p.indexed, 0)
	s.Lag.Events, s.Lag.Seconds = p.events, p.age
	if p.movedAt != nil {
		indexedAt := p.movedAt.UTC()
		s.LastIndexedAt = &indexedAt
	}
	s.Links.Mode, s.Links.Pending = p.linkMode, p.linksPending
	s.Text.Indexed, s.Text.Filling = p.text.nodes, p.text.filling
	s.Text.Lag.Events, s.Text.Lag.Seconds = p.text.events, p.text.age
	stalled := max(stalledSeconds(p.age, p.movedAt), stalledSeconds(p.text.age, p.text.movedAt))
	switch {
	case building != nil:
		s.Reindex.Running, s.Reindex.Total, s.Reindex.Done = true, p.total, min(p.built, p.total)
	case p.reindexed != nil:
		s.Reindex.Running, s.Reindex.Total, s.Reindex.Done = true, p.total, min(*p.reindexed, p.total)
	}
	switch {
	case live == nil && building == nil, building != nil && building.Cause == CauseLost, stalled > degradedAfter:
		s.Status = StatusDegraded
	case live == nil, s.Text.Filling,
		max(s.Lag.Seconds, s.Text.Lag.Seconds) > readyWithin,
		s.Nodes.Pending > 0 && s.Lag.Events == 0:
		s.Status = StatusIndexing
	default:
		s.Status = StatusReady
	}
	return s
}
