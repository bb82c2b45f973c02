package textindex

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval/vector"
	"github.com/livegraph/livegraph/storage/postgres"
)

// What a workspace's search is like.
const (
	StatusReady    = "ready"    // what was written is found
	StatusIndexing = "indexing" // some of it not yet
	StatusDegraded = "degraded" // search by meaning does not work, or one of the lanes has stood still for long
)

// An index that is behind by less is ready: that is how long it takes. One that has
// not moved for so long while there was something to do is degraded.
const (
	readyWithin   = 5.0 // seconds
	degradedAfter = 60.0
)

// IndexStatus is how far the index is with a workspace, in the interface's terms.
type IndexStatus struct {
	Status string        `json:"status"`
	Model  *vector.Model `json:"model"` // null: there is no index yet
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
	// Text is the lane of words, which has its own index.
	Text struct {
		Indexed int64 `json:"indexed"` // nodes
		Filling bool  `json:"filling"` // it is being made from the nodes
		Lag     struct {
			Events  int64   `json:"events"`
			Seconds float64 `json:"seconds"`
		} `json:"lag"`
	} `json:"text"`
	Reindex struct {
		Running    bool     `json:"running"`
		Done       int64    `json:"done"` // nodes of the workspace
		Total      int64    `json:"total"`
		ETASeconds *float64 `json:"etaSeconds"` // of the whole, where all workspaces are indexed again
	} `json:"reindex"`
}

// IndexStatus reports how far the index is with a workspace.
func (db *Store) IndexStatus(ctx context.Context, workspace uuid.UUID) (IndexStatus, error) {
	list, err := db.IndexStatuses(ctx, []uuid.UUID{workspace})
	if err != nil {
		return IndexStatus{}, err
	}
	return list[0], nil
}

// IndexStatuses reports how far the index is with each of the workspaces, in their order.
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
	var whole BuildProgress
	if building != nil {
		if whole, err = db.BuildProgress(ctx, building.ID); err != nil {
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
			list[i].Reindex.ETASeconds = whole.ETASeconds
		}
	}
	return list, nil
}

// workspaceProgress is what is noted of the indexes and a workspace.
type workspaceProgress struct {
	total, indexed, built int64
	events                int64
	age                   float64 // seconds
	moved                 *time.Time
	again                 *int64 // nodes of the workspace that were embedded again; nil: nobody asked
	text                  textProgress
}

// textProgress is how far the text lane is with a workspace.
type textProgress struct {
	nodes, events int64
	filling       bool
	age           float64 // seconds
	moved         *time.Time
}

func (db *Store) workspaceProgress(
	ctx context.Context, live, building *SearchIndex, workspaces []uuid.UUID,
) ([]workspaceProgress, error) {
	var liveID, buildingID uuid.UUID // of no index, if there is none
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
			l.updated_at, r.done
		FROM unnest($3::uuid[]) WITH ORDINALITY AS w (id, n) LEFT JOIN graph_heads h ON h.workspace_id = w.id
		LEFT JOIN embedding_progress p ON p.workspace_id = w.id AND p.index_id = $1
		LEFT JOIN embedding_progress b ON b.workspace_id = w.id AND b.index_id = $2
		LEFT JOIN lexical_workspaces l ON l.workspace_id = w.id
		LEFT JOIN workspace_reindexes r ON r.workspace_id = w.id ORDER BY w.n`, liveID, buildingID, workspaces)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading how far the search index is: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p workspaceProgress, err error) {
		return p, row.Scan(&p.total, &p.indexed, &p.built, &p.events, &p.age, &p.moved,
			&p.text.nodes, &p.text.events, &p.text.filling, &p.text.age, &p.text.moved, &p.again)
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading how far the search index is: %w", err))
	}
	return list, nil
}

// standsStill returns for how many seconds an index has not moved although there was
// something to do for so long.
func standsStill(age float64, moved *time.Time) float64 {
	if moved == nil {
		return age
	}
	return min(age, time.Since(*moved).Seconds())
}

// status says it in the interface's terms, except for how long a building takes.
func (p *workspaceProgress) status(live, building *SearchIndex) (s IndexStatus) {
	if live != nil {
		s.Model = &live.Model
	}
	s.Nodes.Total, s.Nodes.Indexed, s.Nodes.Pending = p.total, p.indexed, max(p.total-p.indexed, 0)
	s.Lag.Events, s.Lag.Seconds = p.events, p.age
	if p.moved != nil {
		at := p.moved.UTC()
		s.LastIndexedAt = &at
	}
	s.Text.Indexed, s.Text.Filling = p.text.nodes, p.text.filling
	s.Text.Lag.Events, s.Text.Lag.Seconds = p.text.events, p.text.age
	still := max(standsStill(p.age, p.moved), standsStill(p.text.age, p.text.moved))
	switch {
	case building != nil:
		s.Reindex.Running, s.Reindex.Total, s.Reindex.Done = true, p.total, min(p.built, p.total)
	case p.again != nil:
		s.Reindex.Running, s.Reindex.Total, s.Reindex.Done = true, p.total, min(*p.again, p.total)
	}
	switch {
	case live == nil && building == nil, building != nil && building.Cause == CauseLost, still > degradedAfter:
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
