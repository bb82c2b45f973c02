package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/kafka"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

// WithPipeline runs work with a service on the target's Kafka and Postgres.
func (t *Target) WithPipeline(ctx context.Context, work func(*pipelineadmin.Service) error) error {
	if t.Postgres.URL == "" || len(t.Kafka.Brokers) == 0 {
		if err := t.Resolve(); err != nil {
			return err
		}
	}
	return t.WithPostgres(ctx, func(db *pgstores.DB) error {
		log, err := t.OpenLog(ctx, 0)
		if err != nil {
			return err
		}
		defer log.Close()
		return FlagError(work(pipelineadmin.New(log, db)))
	})
}

// OpenLog connects to the target's Kafka. produceTimeout bounds the wait for
// acknowledgements; 0 is the default of package kafka. The caller closes the client.
func (t *Target) OpenLog(ctx context.Context, produceTimeout time.Duration) (*kafka.Client, error) {
	security, err := stores.KafkaSecurity(&t.Kafka)
	if err != nil {
		return nil, err
	}
	return kafka.Open(ctx, kafka.Options{
		Security: security, BatchesInMemory: t.Capabilities.Kafka.BatchesInMemory,
		Brokers: t.Kafka.Brokers, TopicPrefix: t.Kafka.TopicPrefix, Compression: t.Kafka.Compression,
		BufferedBytes: t.Kafka.BufferedBytes, ProduceTimeout: produceTimeout, PointsGroup: t.Points.Group,
		CommandsGroup: t.Commands.Group, AuditGroup: t.Audit.Group,
		EventsGroups: []string{t.Lexical.Group, t.Embeddings.Group},
		Log:          slog.New(slog.DiscardHandler), // failures are returned as errors
	})
}

// flagNames maps the fields that errors of package pipelineadmin name to flags.
var flagNames = map[string]string{
	"topic": "--topic", "fromStart": "--from-start", "fromTime": "--from-time", "fromOffsets": "--from-offset",
	"toTime":    "--to-time",
	"toOffsets": "--to-offset", "partitions": "--partitions", "workspaceId": "--workspace",
	"maxRowsPerSecond": "--max-rows",
	"limit":            "--limit", "states": "--state", "from": "--from", "to": "--to", "reason": "--reason",
}

// FlagError returns err with the name of the flag in place of the field that it names.
func FlagError(err error) error {
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
