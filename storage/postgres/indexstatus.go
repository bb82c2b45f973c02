package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// What a workspace's search is like.
const (
	StatusReady    = "ready"    // what was written is found
	StatusIndexing = "indexing" // some of it not yet
	StatusDegraded = "degraded" // search by meaning does not work, or has stood still for long
)

// An index that is behind by less is ready: that is how long it takes. One that has
// not moved for so long while there was something to do is degraded.
const (
	readyWithin   = 5.0 // seconds
	degradedAfter = 60.0
)

// IndexStatus is how far the index is with a workspace, in the interface's terms.
type IndexStatus struct {
	Status string       `json:"status"`
	Model  *embed.Model `json:"model"` // null: there is no index yet
	Nodes  struct {
		Total   int64 `json:"total"`
		Indexed int64 `json:"indexed"`
		Pending int64 `json:"pending"` // that the index does not hold at all
	} `json:"nodes"`
	Lag struct {
		Events  int64   `json:"events"`  // changes that are not indexed
		Seconds float64 `json:"seconds"` // age of the oldest of them
	} `json:"lag"`
	LastIndexedAt *time.Time `json:"lastIndexedAt"`
	Reindex       struct {
		Running    bool     `json:"running"`
		Done       int64    `json:"done"` // nodes of the workspace
		Total      int64    `json:"total"`
		ETASeconds *float64 `json:"etaSeconds"` // of the whole
	} `json:"reindex"`
}

// IndexStatus tells how far the index is with a workspace.
func (db *DB) IndexStatus(ctx context.Context, workspace uuid.UUID) (IndexStatus, error) {
	var s IndexStatus
	open, err := db.OpenIndexes(ctx)
	if err != nil {
		return s, err
	}
	var live, building *SearchIndex
	for i := range open {
		if open[i].State == IndexLive {
			live = &open[i]
		} else {
			building = &open[i]
		}
	}
	still, err := db.workspaceLag(ctx, &s, live, workspace)
	if err != nil {
		return s, err
	}
	if building != nil {
		if err := db.workspaceBuild(ctx, &s, building.ID, workspace); err != nil {
			return s, err
		}
	}
	switch {
	case live == nil && building == nil, building != nil && building.Cause == CauseLost, still > degradedAfter:
		s.Status = StatusDegraded
	case live == nil, s.Lag.Seconds > readyWithin, s.Nodes.Pending > 0 && s.Lag.Events == 0:
		s.Status = StatusIndexing
	default:
		s.Status = StatusReady
	}
	return s, nil
}

// workspaceLag fills in how far the live index is, and gives for how many seconds it
// has not moved although there was something to do.
func (db *DB) workspaceLag(ctx context.Context, s *IndexStatus, live *SearchIndex, workspace uuid.UUID) (still float64, err error) {
	var id uuid.UUID // of no index, if there is none
	if live != nil {
		id, s.Model = live.ID, &live.Model
	}
	var moved *time.Time
	err = db.pool.QueryRow(ctx, `SELECT
			COALESCE((SELECT sum(standing) FROM graph_totals WHERE workspace_id = $2 AND kind = 1), 0)::bigint,
			COALESCE(p.nodes, 0), COALESCE(h.sequence, 0) - LEAST(COALESCE(p.sequence, 0), COALESCE(h.sequence, 0)),
			COALESCE((SELECT GREATEST(EXTRACT(EPOCH FROM now() - j.at), 0) FROM journal j
				WHERE j.workspace_id = $2 AND j.sequence = COALESCE(p.sequence, 0) + 1), 0)::float8,
			p.indexed_at
		FROM (SELECT 1) one LEFT JOIN graph_heads h ON h.workspace_id = $2
		LEFT JOIN embedding_progress p ON p.workspace_id = $2 AND p.index_id = $1`, id, workspace).Scan(
		&s.Nodes.Total, &s.Nodes.Indexed, &s.Lag.Events, &s.Lag.Seconds, &moved)
	if err != nil {
		return 0, classify(fmt.Errorf("reading how far the search index is: %w", err))
	}
	s.Nodes.Pending = max(s.Nodes.Total-s.Nodes.Indexed, 0)
	still = s.Lag.Seconds
	if moved != nil {
		at := moved.UTC()
		s.LastIndexedAt = &at
		still = min(still, time.Since(at).Seconds())
	}
	return still, nil
}

func (db *DB) workspaceBuild(ctx context.Context, s *IndexStatus, index, workspace uuid.UUID) error {
	whole, err := db.BuildProgress(ctx, index)
	if err != nil {
		return err
	}
	s.Reindex.Running, s.Reindex.Total, s.Reindex.ETASeconds = true, s.Nodes.Total, whole.ETASeconds
	err = db.pool.QueryRow(ctx, `SELECT COALESCE(sum(nodes), 0)::bigint FROM embedding_progress WHERE index_id = $1 AND workspace_id = $2`,
		index, workspace).Scan(&s.Reindex.Done)
	s.Reindex.Done = min(s.Reindex.Done, s.Reindex.Total)
	return classify(err)
}
