package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
)

// withDesk runs work on the target's log and Postgres.
func (t *target) withDesk(ctx context.Context, work func(*pipelineadmin.Desk) error) error {
	if t.Postgres.URL == "" || len(t.Kafka.Brokers) == 0 {
		if err := t.resolve(); err != nil {
			return err
		}
	}
	return t.withPostgres(ctx, func(db *postgres.DB) error {
		log, err := t.openLog(ctx, 0)
		if err != nil {
			return err
		}
		defer log.Close()
		return flagError(work(pipelineadmin.New(log, db)))
	})
}

// openLog connects to the target's Kafka. It waits for acknowledgements for so long; 0: as
// long as the package does by itself. The caller closes it.
func (t *target) openLog(ctx context.Context, produceTimeout time.Duration) (*kafka.Client, error) {
	security, err := kafkaSecurity(&t.Kafka)
	if err != nil {
		return nil, err
	}
	return kafka.Open(ctx, kafka.Options{
		Security: security, BatchesInMemory: t.Capabilities.Kafka.BatchesInMemory,
		Brokers: t.Kafka.Brokers, TopicPrefix: t.Kafka.TopicPrefix, Compression: t.Kafka.Compression,
		BufferedBytes: t.Kafka.BufferedBytes, ProduceTimeout: produceTimeout, PointsGroup: t.Points.Group,
		CommandsGroup: t.Commands.Group, AuditGroup: t.Audit.Group,
		EventsGroups: []string{t.Lexical.Group, t.Embeddings.Group},
		Log:          slog.New(slog.DiscardHandler), // what goes wrong is in the errors
	})
}

// operator reports who asks, for what is noted of it.
func operator() string { return createdByCLI + " (" + userName() + ")" }

// flagNames are the flags of the fields that requests of package operate name.
var flagNames = map[string]string{
	"topic": "--topic", "fromStart": "--from-start", "fromTime": "--from-time", "fromOffsets": "--from-offset",
	"toTime":    "--to-time",
	"toOffsets": "--to-offset", "partitions": "--partitions", "workspaceId": "--workspace",
	"maxRowsPerSecond": "--max-rows",
	"limit":            "--limit", "states": "--state", "from": "--from", "to": "--to", "reason": "--reason",
}

// flagError has an error name the flag where it names a field.
func flagError(err error) error {
	var public *fault.Error
	if !errors.As(err, &public) {
		return err
	}
	field, _ := public.Details["field"].(string)
	flag, ok := flagNames[field]
	if !ok {
		return err
	}
	return fmt.Errorf("%s: %s", flag, strings.TrimPrefix(public.Message, field+": "))
}

// moment is a time on the command line: RFC 3339, or an age.
type moment struct{ time.Time }

// Decode reads the flag.
func (m *moment) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	if at, ok := request.ParseTime(text); ok {
		m.Time = at
		return nil
	}
	age, err := parseLifetime(strings.TrimPrefix(text, "-"))
	if err != nil {
		return fmt.Errorf("%q is neither a time such as 2026-11-21T07:40:08Z nor an age such as 2h or 7d", text)
	}
	m.Time = time.Now().Add(-age)
	return nil
}

// point returns the time; nil: the flag was not given.
func (m *moment) point() *time.Time {
	if m == nil {
		return nil
	}
	return &m.Time
}
