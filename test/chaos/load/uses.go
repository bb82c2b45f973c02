package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// use is a request that was answered: the audit log has to have it.
type use struct {
	key       string
	workspace string // "" where the audit log may leave it out
	status    int
	what      string
}

// uses are those that were not yet found in the audit log.
type uses struct {
	mu   sync.Mutex
	open map[string]use // by request id
}

func newUses() *uses { return &uses{open: map[string]use{}} }

// beforeKey are the failures of requests whose key could not be looked up, or which
// could not be recorded and were refused for that.
var beforeKey = []string{"Keys cannot be verified at the moment", "Uses of keys cannot be recorded at the moment"}

// note takes up an answer whose status has come, by a key that is known, whatever
// becomes of the rest of the answer. Of a 5xx the rest has to be known, too.
func (u *uses) note(q call, a *answer) {
	unsure := a.Status >= 500 && (a.Error.Message == "" || slices.Contains(beforeKey, a.Error.Message))
	if q.key.id == "" || a.RequestID == "" || unsure {
		return
	}
	one := use{key: q.key.id, status: a.Status, what: q.method + " " + q.path}
	if !q.foreign && q.key.tenant != nil {
		one.workspace = q.key.tenant.id
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[a.RequestID] = one
}

// loggedUse is a row of the audit log, as ClickHouse has it when it is merged.
type loggedUse struct {
	Request   string `ch:"request_id"`
	Key       string `ch:"key"`
	Workspace string `ch:"workspace"`
	Status    uint16 `ch:"status"`
	Rows      uint64 `ch:"rows"`
}

// mostAsked is how many ids are put into one statement.
const mostAsked = 2000

// check waits until all answered requests are in the audit log, forgets those that are
// there as they were answered, and gives what is wrong with the others.
func (u *uses) check(ctx context.Context, db driver.Conn, waitTimeout time.Duration) ([]Violation, error) {
	u.mu.Lock()
	open := u.open
	u.open = map[string]use{}
	u.mu.Unlock()
	var found []Violation
	for deadline := time.Now().Add(waitTimeout); ; {
		logged, err := readUses(ctx, db, open)
		if err != nil {
			u.restore(open)
			return nil, err
		}
		found = append(found, compareUses(open, logged)...)
		if len(open) == 0 || time.Now().After(deadline) {
			break
		}
		if !rest(ctx, 250*time.Millisecond) {
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
			"%s: %s, answered %d, key %s; %d in all", id, one.what, one.status, one.key, len(open),
		)})
	}
	return found, nil
}

func (u *uses) restore(open map[string]use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, one := range open {
		u.open[id] = one
	}
}

func readUses(ctx context.Context, db driver.Conn, open map[string]use) (logged []loggedUse, err error) {
	ids := make([]string, 0, mostAsked)
	ask := func() error {
		var rows []loggedUse
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
		if ids = append(ids, id); len(ids) == mostAsked {
			if err := ask(); err != nil {
				return nil, err
			}
		}
	}
	if len(ids) > 0 {
		err = ask()
	}
	return logged, err
}

// compareUses holds rows of the audit log against what was answered, and takes what is
// there out of open.
func compareUses(open map[string]use, logged []loggedUse) (found []Violation) {
	for _, row := range logged {
		one, ok := open[row.Request]
		if !ok {
			continue
		}
		delete(open, row.Request)
		switch {
		case row.Rows != 1:
			found = append(found, Violation{11, "a request is in the audit log more than once", fmt.Sprintf(
				"%s: %s, %d rows", row.Request, one.what, row.Rows,
			)})
		case int(row.Status) != one.status || row.Key != one.key || one.workspace != "" && row.Workspace != one.workspace:
			found = append(
				found,
				Violation{
					11, "the audit log says otherwise of a request",
					fmt.Sprintf("%s: %s, answered %d to key %s in %s, logged as %d of %s in %s",
						row.Request, one.what, one.status, one.key, one.workspace, row.Status, row.Key, row.Workspace),
				},
			)
		}
	}
	return found
}
