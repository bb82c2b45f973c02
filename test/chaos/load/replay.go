package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// replayTimeout bounds the duration of a replay of all points.
const replayTimeout = 6 * time.Minute

// replayedTables are the tables that a replay must not change: the fields that are compared,
// independent of merges, and the condition on the rows. Rows of removed workspaces may be deleted
// meanwhile.
var replayedTables = map[string]struct{ fields, where string }{
	"points":    {"series, ts, value, version", inOwnSeries},
	"states":    {"series, ts, value, version", inOwnSeries},
	"exemplars": {"series, ts, labels, value, version", inOwnSeries},
	"latest":    {"workspace, source, series, ts, value, text, version", "has($1, toString(workspace))"},
	// The rows of deleted sources are removed some time after their points.
	"series": {"id, workspace, source, metric, kind", "has($1, toString(workspace)) AND has($2, toString(source))"},
}

const inOwnSeries = "series GLOBAL IN (SELECT id FROM series WHERE has($1, toString(workspace)))"

// digestTables returns a digest of each table.
func (l *Load) digestTables(ctx context.Context, stores Stores) (map[string]digest, error) {
	all := map[string]digest{}
	var workspaces []string
	for _, t := range l.tenants {
		workspaces = append(workspaces, t.id)
	}
	sources, err := stores.liveSources(ctx, l.workspaceIDs())
	if err != nil {
		return nil, err
	}
	for table, selection := range replayedTables {
		args := []any{workspaces}
		if table == "series" {
			args = append(args, sources)
		}
		var rows []digest
		if err := stores.ClickHouse.Select(
			ctx, &rows,
			`SELECT count() AS rows, sum(cityHash64(`+selection.fields+`)) AS hash FROM `+table+` FINAL WHERE `+selection.where,
			args...,
		); err != nil {
			return nil, fmt.Errorf("reading table %s: %w", table, err)
		}
		all[table] = rows[0]
	}
	return all, nil
}

// liveSources returns the ids of the sources of workspaces that are not deleted.
func (s Stores) liveSources(ctx context.Context, workspaces []uuid.UUID) ([]string, error) {
	found, err := s.Postgres.Query(
		ctx, `SELECT id::text FROM sources WHERE workspace_id = ANY($1) AND deleted_at IS NULL`, workspaces,
	)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[string])
}

// checkReplay replays all points from the start of the log, and compares the tables before and
// after.
func (l *Load) checkReplay(ctx context.Context, stores Stores) ([]Violation, error) {
	ctx, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	// Earlier checks may have deleted sources.
	for _, check := range []func(context.Context, Stores) (string, error){deletionsSent, pointsStored, pointsDeleted} {
		if err := poll(check)(ctx, stores); err != nil {
			return nil, fmt.Errorf("waiting until deletions have had their effect: %w", err)
		}
	}
	before, err := l.digestTables(ctx, stores)
	if err != nil {
		return nil, err
	}
	// The first replay ends before later deletions: unlike in a full replay, no deletion in the
	// replayed part of the log deletes their points again.
	for _, limit := range []map[string]any{{"toTime": l.roundMidpoint.UTC().Format(time.RFC3339Nano)}, {}} {
		rows, wrong, err := l.replay(ctx, limit)
		if err != nil && !errors.Is(err, errUnknown) && len(limit) > 0 && ctx.Err() == nil {
			continue // the log has no records before that time
		}
		if err != nil || wrong != nil {
			return wrong, err
		}
		after, err := l.digestTables(ctx, stores)
		if err != nil {
			return nil, err
		}
		if wrong = compareDumps(before, after, rows); wrong != nil {
			return wrong, nil
		}
	}
	return nil, nil
}

// replay replays points from the start of the log, and waits until that is done.
func (l *Load) replay(ctx context.Context, limit map[string]any) (rows int64, wrong []Violation, err error) {
	request := map[string]any{"topic": "points", "fromStart": true}
	maps.Copy(request, limit)
	var job struct {
		ID, State string
		Error     *string
		Rows      int64
	}
	err = l.operator.do(
		ctx, call{method: http.MethodPost, path: "/admin/api/replays", body: body(request)}, http.StatusCreated, &job,
	)
	if err != nil {
		return 0, nil, fmt.Errorf("starting a replay: %w", err)
	}
	for began := time.Now(); job.State != "done"; {
		if time.Since(began) > settleTimeout {
			return 0, []Violation{
				{2, "a replay does not end", fmt.Sprintf("replay %s is %s after %s", job.ID, job.State, settleTimeout)},
			}, nil
		}
		if job.State == "failed" || job.State == "cancelled" {
			why := ""
			if job.Error != nil {
				why = *job.Error
			}
			return 0, []Violation{
				{2, "a replay did not end well", fmt.Sprintf("replay %s is %s: %s", job.ID, job.State, why)},
			}, nil
		}
		if !sleep(ctx, settlePause) {
			return 0, nil, fmt.Errorf("replay %s is %s: %w", job.ID, job.State, ctx.Err())
		}
		if err := l.operator.do(
			ctx, call{method: http.MethodGet, path: "/admin/api/replays/" + job.ID}, http.StatusOK, &job,
		); err != nil {
			return 0, nil, err
		}
	}
	return job.Rows, nil, nil
}

// deletionsSent checks that no deletion of a source still has to be written to the log.
func deletionsSent(ctx context.Context, stores Stores) (string, error) {
	var pending int
	err := stores.Postgres.QueryRow(ctx, `SELECT count(*) FROM pending_deletions`).Scan(&pending)
	if err != nil || pending == 0 {
		return "", err
	}
	return fmt.Sprintf("%d deletions are under way", pending), nil
}

func compareDumps(before, after map[string]digest, replayed int64) (found []Violation) {
	for table, want := range before {
		if got := after[table]; got != want {
			found = append(found, Violation{2, "a replay changed what stands", fmt.Sprintf(
				"table %s: %+v, before %+v; %d rows were replayed", table, got, want, replayed,
			)})
		}
	}
	return found
}
