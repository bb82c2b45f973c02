package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// requestRecord is an answered request, which must be in the audit log.
type requestRecord struct {
	key       string
	workspace string // "" if the audit log may omit it
	status    int
	request   string
}

// requestRecords are the requests that were not yet found in the audit log.
type requestRecords struct {
	mu   sync.Mutex
	open map[string]requestRecord // by request id
}

func newRequestRecords() *requestRecords { return &requestRecords{open: map[string]requestRecord{}} }

// unrecordedFailures are the messages of requests that failed because their key could not be looked
// up or their record could not be written.
var unrecordedFailures = []string{
	"Keys cannot be verified at the moment", "Uses of keys cannot be recorded at the moment",
}

// add records a request as soon as the status of its answer is known, even if the rest of the
// answer is lost. A 5xx is recorded only when its message is known, too.
func (u *requestRecords) add(q call, a *answer) {
	unsure := a.Status >= 500 && (a.Error.Message == "" || slices.Contains(unrecordedFailures, a.Error.Message))
	if q.key.id == "" || a.RequestID == "" || unsure {
		return
	}
	one := requestRecord{key: q.key.id, status: a.Status, request: q.method + " " + q.path}
	if !q.errorExpected && q.key.tenant != nil {
		one.workspace = q.key.tenant.id
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[a.RequestID] = one
}

// auditRow is a row of the audit log after merging.
type auditRow struct {
	Request   string `ch:"request_id"`
	Key       string `ch:"key"`
	Workspace string `ch:"workspace"`
	Status    uint16 `ch:"status"`
	Rows      uint64 `ch:"rows"`
}

// maxRequestIDs is the number of ids in one statement.
const maxRequestIDs = 2000

// check waits until all answered requests are in the audit log, removes those that are logged
// correctly, and returns the violations of the others.
func (u *requestRecords) check(ctx context.Context, db driver.Conn, waitTimeout time.Duration) ([]Violation, error) {
	u.mu.Lock()
	open := u.open
	u.open = map[string]requestRecord{}
	u.mu.Unlock()
	var found []Violation
	for deadline := time.Now().Add(waitTimeout); ; {
		logged, err := readAuditRows(ctx, db, open)
		if err != nil {
			u.restore(open)
			return nil, err
		}
		found = append(found, compareAuditRows(open, logged)...)
		if len(open) == 0 || time.Now().After(deadline) {
			break
		}
		if !sleep(ctx, 250*time.Millisecond) {
			u.restore(open)
			return found, ctx.Err()
		}
	}
	n := 0
	for id, one := range open {
		if n++; n > 5 {
			break
		}
		found = append(found, Violation{11, "an answered request is not in the audit log", fmt.Sprintf(
			"%s: %s, answered %d, key %s; %d in all", id, one.request, one.status, one.key, len(open),
		)})
	}
	return found, nil
}

func (u *requestRecords) restore(open map[string]requestRecord) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, one := range open {
		u.open[id] = one
	}
}

func readAuditRows(ctx context.Context, db driver.Conn, open map[string]requestRecord) (logged []auditRow, err error) {
	ids := make([]string, 0, maxRequestIDs)
	flush := func() error {
		var rows []auditRow
		err := db.Select(
			ctx, &rows,
			`SELECT request_id, toString(any(key)) AS key, toString(any(workspace)) AS workspace, any(status) AS status,
				count() AS rows
			FROM audit FINAL WHERE request_id IN (?) GROUP BY request_id`, ids,
		)
		logged, ids = append(logged, rows...), ids[:0]
		if err != nil {
			return fmt.Errorf("reading the audit log: %w", err)
		}
		return nil
	}
	for id := range open {
		if ids = append(ids, id); len(ids) == maxRequestIDs {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if len(ids) > 0 {
		err = flush()
	}
	return logged, err
}

// compareAuditRows compares rows of the audit log with the answered requests, and removes those
// that it found from open.
func compareAuditRows(open map[string]requestRecord, logged []auditRow) (found []Violation) {
	for _, row := range logged {
		one, ok := open[row.Request]
		if !ok {
			continue
		}
		delete(open, row.Request)
		switch {
		case row.Rows != 1:
			found = append(found, Violation{11, "a request is in the audit log more than once", fmt.Sprintf(
				"%s: %s, %d rows", row.Request, one.request, row.Rows,
			)})
		case int(row.Status) != one.status || row.Key != one.key || one.workspace != "" && row.Workspace != one.workspace:
			found = append(
				found,
				Violation{
					11, "the audit log says otherwise of a request",
					fmt.Sprintf("%s: %s, answered %d to key %s in %s, logged as %d of %s in %s",
						row.Request, one.request, one.status, one.key, one.workspace, row.Status, row.Key, row.Workspace),
				},
			)
		}
	}
	return found
}
