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

// replayPatience is how long a replay of all points may take.
const replayPatience = 6 * time.Minute

// storedTables are what a replay must leave as it was: what is read of each, whatever
// has been merged, and of which rows. What workspaces that were removed have left goes
// meanwhile.
var storedTables = map[string]struct{ fields, where string }{
	"points": {"series, ts, value, version", ofOurSeries},
	"states": {"series, ts, value, version", ofOurSeries},
	"latest": {"workspace, source, series, ts, value, text, version", "has($1, toString(workspace))"},
	// What is known of the series of deleted sources goes some time after their points.
	"series": {"id, workspace, source, metric, kind", "has($1, toString(workspace)) AND has($2, toString(source))"},
}

const ofOurSeries = "series IN (SELECT id FROM series WHERE has($1, toString(workspace)))"

// dump is what the tables come to.
func (l *Load) dump(ctx context.Context, stores Stores) (map[string]digest, error) {
	all := map[string]digest{}
	var workspaces []string
	for _, t := range l.tenants {
		workspaces = append(workspaces, t.id)
	}
	sources, err := stores.standingSources(ctx, l.ids())
	if err != nil {
		return nil, err
	}
	for table, of := range storedTables {
		args := []any{workspaces}
		if table == "series" {
			args = append(args, sources)
		}
		var rows []digest
		if err := stores.ClickHouse.Select(
			ctx, &rows, `SELECT count() AS rows, sum(cityHash64(`+of.fields+`)) AS hash FROM `+table+` FINAL WHERE `+of.where,
			args...,
		); err != nil {
			return nil, fmt.Errorf("reading table %s: %w", table, err)
		}
		all[table] = rows[0]
	}
	return all, nil
}

// standingSources are the sources of workspaces that are not deleted.
func (s Stores) standingSources(ctx context.Context, workspaces []uuid.UUID) ([]string, error) {
	found, err := s.Postgres.Query(
		ctx, `SELECT id::text FROM sources WHERE workspace_id = ANY($1) AND deleted_at IS NULL`, workspaces,
	)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[string])
}

// checkReplay has all points read again from the start of the log, and holds what
// stands afterwards against what stood before.
func (l *Load) checkReplay(ctx context.Context, stores Stores) ([]Violation, error) {
	ctx, cancel := context.WithTimeout(ctx, replayPatience)
	defer cancel()
	// Checks before this one may have deleted sources.
	for _, still := range []func(context.Context, Stores) (string, error){deletionsSent, pointsStored, pointsDeleted} {
		if err := until(still)(ctx, stores); err != nil {
			return nil, fmt.Errorf("waiting until deletions have had their effect: %w", err)
		}
	}
	before, err := l.dump(ctx, stores)
	if err != nil {
		return nil, err
	}
	// First a part, which ends before what was deleted later: in that nothing deletes it
	// again, as the deletions in the log would.
	for _, until := range []map[string]any{{"toTime": l.middle.UTC().Format(time.RFC3339Nano)}, {}} {
		rows, wrong, err := l.replay(ctx, until)
		if err != nil && !errors.Is(err, errUnknown) && len(until) > 0 && ctx.Err() == nil {
			continue // nothing came before that time
		}
		if err != nil || wrong != nil {
			return wrong, err
		}
		after, err := l.dump(ctx, stores)
		if err != nil {
			return nil, err
		}
		if wrong = compareDumps(before, after, rows); wrong != nil {
			return wrong, nil
		}
	}
	return nil, nil
}

// replay has points read again from the start of the log, and waits until that is done.
func (l *Load) replay(ctx context.Context, until map[string]any) (rows int64, wrong []Violation, err error) {
	asked := map[string]any{"topic": "points", "fromStart": true}
	maps.Copy(asked, until)
	var job struct {
		ID, State string
		Error     *string
		Rows      int64
	}
	err = l.operator.do(
		ctx, call{method: http.MethodPost, path: "/admin/api/replays", body: body(asked)}, http.StatusCreated, &job,
	)
	if err != nil {
		return 0, nil, fmt.Errorf("starting a replay: %w", err)
	}
	for job.State != "done" {
		if job.State == "failed" || job.State == "cancelled" {
			why := ""
			if job.Error != nil {
				why = *job.Error
			}
			return 0, []Violation{
				{2, "a replay did not end well", fmt.Sprintf("replay %s is %s: %s", job.ID, job.State, why)},
			}, nil
		}
		if !rest(ctx, settlePause) {
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

// deletionsSent asks for deletions of sources that are on their way to the log.
func deletionsSent(ctx context.Context, stores Stores) (string, error) {
	var left int
	err := stores.Postgres.QueryRow(ctx, `SELECT count(*) FROM pending_deletions`).Scan(&left)
	if err != nil || left == 0 {
		return "", err
	}
	return fmt.Sprintf("%d deletions are under way", left), nil
}

func compareDumps(before, after map[string]digest, replayed int64) (found []Violation) {
	for table, was := range before {
		if is := after[table]; is != was {
			found = append(found, Violation{2, "a replay changed what stands", fmt.Sprintf(
				"table %s: %+v, before %+v; %d rows were replayed", table, is, was, replayed,
			)})
		}
	}
	return found
}
