package audit

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
)

// Limits of the range of a usage query, by the interval of its rows.
const (
	day          = 24 * time.Hour
	maxHourly    = 31 * day
	maxDaily     = 400 * day
	defaultRange = day
)

// usageRow contains the sums of the requests of an hour or a day, by key, group of routes and
// status.
type usageRow struct {
	Start    time.Time `json:"start"`
	KeyID    uuid.UUID `json:"keyId"`
	Group    string    `json:"group"`
	Status   *int      `json:"status"`
	Requests uint64    `json:"requests"`
	BytesIn  int64     `json:"bytesIn"`
	BytesOut int64     `json:"bytesOut"`
}

func (a *api) usage(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	f := filter(p, &request.PrincipalOf(r.Context()).Workspace)
	byDay := p.OneOf("interval", "hour", "hour", "day") == "day"
	limit, offset := p.Page()
	if f.To.IsZero() {
		f.To = time.Now()
	}
	if f.From.IsZero() {
		f.From = f.To.Add(-defaultRange)
	}
	maxRange := maxHourly
	if byDay {
		maxRange = maxDaily
	}
	if f.To.Sub(f.From) > maxRange {
		p.Fail("from", fmt.Sprintf("must be at most %d days before to at this interval", maxRange/day))
	}
	if err := p.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	found, total, err := a.Records.AuditUsage(ctx, withinRetention(f, a.Retention), byDay, offset, limit)
	if err != nil {
		return err
	}
	rows := make([]usageRow, len(found))
	for i, u := range found {
		rows[i] = usageRow{
			Start: u.Start, KeyID: u.Key, Group: u.Group, Requests: u.Requests, BytesIn: u.BytesIn, BytesOut: u.BytesOut,
		}
		if u.Status != 0 {
			rows[i].Status = new(int(u.Status))
		}
	}
	reply.List(w, r, rows, reply.PageMeta(total, limit, offset, len(rows)))
	return nil
}
