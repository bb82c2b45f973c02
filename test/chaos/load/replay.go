package load

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// replayPatience is how long a replay of all points may take.
const replayPatience = 2 * time.Minute

// storedTables are what a replay must leave as it was: what is read of each, whatever
// has been merged.
var storedTables = map[string]string{
	"points": "series, ts, value, version",
	"states": "series, ts, value, version",
	"latest": "workspace, source, series, ts, value, text, version",
	"series": "id, workspace, source, metric, kind",
}

// dump is what the tables come to.
func dump(ctx context.Context, stores Stores) (map[string]digest, error) {
	all := map[string]digest{}
	for table, fields := range storedTables {
		var rows []digest
		if err := stores.ClickHouse.Select(ctx, &rows, `SELECT count() AS rows, sum(cityHash64(`+fields+`)) AS hash FROM `+table+` FINAL`); err != nil {
			return nil, fmt.Errorf("reading table %s: %w", table, err)
		}
		all[table] = rows[0]
	}
	return all, nil
}

// checkReplay has all points read again from the start of the log, and holds what
// stands afterwards against what stood before.
func (l *Load) checkReplay(ctx context.Context, stores Stores) ([]Violation, error) {
	ctx, cancel := context.WithTimeout(ctx, replayPatience)
	defer cancel()
	// Checks before this one may have deleted sources, and workspaces.
	for _, still := range []func(context.Context, Stores) (string, error){deletionsSent, pointsStored} {
		if err := until(still)(ctx, stores); err != nil {
			return nil, fmt.Errorf("waiting until deletions have had their effect: %w", err)
		}
	}
	before, err := dump(ctx, stores)
	if err != nil {
		return nil, err
	}
	var job struct {
		ID, State string
		Error     *string
		Rows      int64
	}
	err = l.operator.do(ctx, call{method: http.MethodPost, path: "/admin/api/replays", body: body(map[string]any{"topic": "points", "fromStart": true})}, http.StatusCreated, &job)
	if err != nil {
		return nil, fmt.Errorf("starting a replay: %w", err)
	}
	for job.State != "done" {
		if job.State == "failed" || job.State == "cancelled" {
			why := ""
			if job.Error != nil {
				why = *job.Error
			}
			return []Violation{{2, "a replay did not end well", fmt.Sprintf("replay %s is %s: %s", job.ID, job.State, why)}}, nil
		}
		if !rest(ctx, settlePause) {
			return nil, fmt.Errorf("replay %s is %s: %w", job.ID, job.State, ctx.Err())
		}
		if err := l.operator.do(ctx, call{method: http.MethodGet, path: "/admin/api/replays/" + job.ID}, http.StatusOK, &job); err != nil {
			return nil, err
		}
	}
	after, err := dump(ctx, stores)
	if err != nil {
		return nil, err
	}
	return compareDumps(before, after, job.Rows), nil
}

// deletionsSent asks for deletions that are on their way to the log, or are carried out.
func deletionsSent(ctx context.Context, stores Stores) (string, error) {
	var left int
	err := stores.Postgres.QueryRow(ctx, `SELECT (SELECT count(*) FROM pending_deletions)
		+ (SELECT count(*) FROM workspace_deletions WHERE removed_at IS NULL)`).Scan(&left)
	if err != nil || left == 0 {
		return "", err
	}
	return fmt.Sprintf("%d deletions are under way", left), nil
}

func compareDumps(before, after map[string]digest, replayed int64) (found []Violation) {
	for table, was := range before {
		if is := after[table]; is != was {
			found = append(found, Violation{2, "a replay changed what stands", fmt.Sprintf("table %s: %+v, before %+v; %d rows were replayed", table, is, was, replayed)})
		}
	}
	return found
}
