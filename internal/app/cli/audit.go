package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

// AuditCmd shows the audit log of API requests.
type AuditCmd struct {
	target.Target `embed:""`
	Workspace     *uuid.UUID   `help:"Only requests in this workspace. Default: all requests, also those without a workspace."`
	Key           []uuid.UUID  `help:"Only requests with this key (its id); repeatable."`
	Status        []statusFlag `help:"Only responses with this status, or of a class such as 4xx; repeatable. 0: interrupted before a response began."`
	Route         string       `help:"Only this route's pattern, or those that begin with the text before a *."`
	IP            addressFlag  `name:"ip" help:"Only from this address." placeholder:"ADDRESS"`
	RequestID     string       `name:"request-id" help:"Only this request."`
	From          *timeFlag    `help:"From this time on: RFC 3339, or an age such as 2h or 7d. Default: everything that is kept."`
	To            *timeFlag    `help:"Before this time, likewise. Default: now."`
	Limit         int          `help:"Maximum number of requests; 0: all." default:"100"`
	CSV           bool         `name:"csv" help:"Print CSV." xor:"form"`
	JSON          bool         `help:"Print JSON." xor:"form"`
}

// auditPageSize is the number of records that are read at a time.
const auditPageSize = 10_000

// Run shows the requests in all workspaces, newest first: each request with a known key,
// and requests without a known key as counts by address. It reads ClickHouse, so that
// requests of the last seconds may be missing.
func (c *AuditCmd) Run(ctx context.Context, out *output.Writer) error {
	if c.Limit < 0 {
		return errors.New("--limit: must not be below zero")
	}
	if c.ClickHouse.URL == "" || c.Postgres.URL == "" {
		if err := c.Resolve(); err != nil {
			return err
		}
	}
	// WithPostgres records the command in the operators' trail.
	return c.WithPostgres(ctx, func(*pgstores.DB) error { return c.show(ctx, out) })
}

func (c *AuditCmd) show(ctx context.Context, out *output.Writer) error {
	db, err := stores.OpenClickHouse(ctx, c.Config)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	printer := c.printer(out)
	if err := c.read(ctx, db, printer.add); err != nil {
		return err
	}
	return printer.end()
}

func (c *AuditCmd) filter() auditlog.Filter {
	f := auditlog.Filter{Workspace: c.Workspace, Keys: c.Key, Route: c.Route, IP: c.IP.Addr, RequestID: c.RequestID}
	for _, s := range c.Status {
		f.Statuses = append(f.Statuses, s.Span)
	}
	if at := c.From.pointer(); at != nil {
		f.From = *at
	}
	if kept := c.Audit.Retention(); kept > 0 && f.From.Before(time.Now().Add(-kept)) {
		f.From = time.Now().Add(-kept)
	}
	if at := c.To.pointer(); at != nil {
		f.To = *at
	}
	return f
}

// read passes the records to add, page by page.
func (c *AuditCmd) read(ctx context.Context, db *clickhouse.DB, add func([]auditrecord.Record) error) error {
	f := c.filter()
	var after *auditlog.Position
	for left := c.Limit; ; {
		limit := auditPageSize
		if c.Limit > 0 {
			limit = min(limit, left)
		}
		found, err := auditlog.New(db).Audit(ctx, f, after, 0, limit)
		if err != nil {
			return err
		}
		if err := add(found); err != nil {
			return err
		}
		if left -= len(found); len(found) < limit || c.Limit > 0 && left == 0 {
			return nil
		}
		last := found[len(found)-1]
		after = &auditlog.Position{US: last.At.UnixMicro(), RequestID: last.RequestID}
	}
}

// recordPrinter prints audit records. add receives each page, end is called after the last.
type recordPrinter struct {
	add func([]auditrecord.Record) error
	end func() error
}

func (c *AuditCmd) printer(out *output.Writer) recordPrinter {
	if c.CSV {
		text := []byte(audit.CSVHeader)
		flush := func() error {
			_, err := out.Write(text)
			text = text[:0]
			return err
		}
		return recordPrinter{end: flush, add: func(found []auditrecord.Record) error {
			for i := range found {
				text = audit.AppendCSV(text, &found[i])
			}
			return flush()
		}}
	}
	records := []audit.Entry{}
	p := recordPrinter{
		add: func(found []auditrecord.Record) error {
			for i := range found {
				records = append(records, audit.NewEntry(&found[i]))
			}
			return nil
		},
		end: func() error { return output.JSON(out, records) },
	}
	if !c.JSON {
		p.end = func() error { return printRecords(out, records) }
	}
	return p
}

func printRecords(out *output.Writer, records []audit.Entry) error {
	rows := [][]string{{"TIME", "KEY", "METHOD", "ROUTE", "STATUS", "IP", "MS", "REQUESTS", "REQUEST"}}
	for i := range records {
		u := &records[i]
		key, status, ip := "unknown", "cut", ""
		if u.KeyID != nil {
			key = u.KeyID.String()
		}
		if u.Status != nil {
			status = strconv.Itoa(*u.Status)
		}
		if u.IP != nil {
			ip = *u.IP
		}
		rows = append(rows, []string{
			u.Timestamp.Format("2006-01-02 15:04:05.000"), key, u.Method, u.Route, status, ip,
			strconv.FormatFloat(u.DurationMS, 'f', 1, 64), strconv.FormatUint(uint64(u.Requests), 10), u.RequestID,
		})
	}
	return output.Table(out, rows)
}

// statusFlag is a flag for an HTTP status, or a class of statuses.
type statusFlag struct{ auditlog.Span }

// UnmarshalText reads the flag.
func (s *statusFlag) UnmarshalText(text []byte) (err error) {
	span, ok := audit.ParseStatus(string(text))
	if s.Span = span; !ok {
		return fmt.Errorf("%q is neither a status such as 403 nor a class such as 4xx", text)
	}
	return nil
}

// addressFlag is a flag for an IP address.
type addressFlag struct{ netip.Addr }

// UnmarshalText reads the flag.
func (a *addressFlag) UnmarshalText(text []byte) error {
	ip, ok := audit.ParseAddress(string(text))
	if a.Addr = ip; !ok {
		return fmt.Errorf("%q is not an IP address", text)
	}
	return nil
}
