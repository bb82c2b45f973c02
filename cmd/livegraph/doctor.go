package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/livegraph/livegraph/internal/config"
	"github.com/livegraph/livegraph/internal/control"
	"github.com/livegraph/livegraph/internal/doctor"
)

// DoctorCmd checks every engine and says what to do.
type DoctorCmd struct {
	config.Config `embed:""`
	JSON          bool `help:"Print JSON."`
}

// errUnhealthy makes the exit code say that something failed.
var errUnhealthy = errors.New("something is wrong; see above")

// Run checks the configured engines, and those of the server that runs on the
// data directory. It fails when one of them cannot be used.
func (c *DoctorCmd) Run(ctx context.Context, out *output) error {
	target, err := doctorTarget(&c.Config)
	if err != nil {
		return err
	}
	results := doctor.Check(ctx, target)
	if c.JSON {
		err = printJSON(out, results)
	} else {
		err = printFindings(out, results)
	}
	if err == nil && !doctor.Healthy(results) {
		err = errUnhealthy
	}
	return err
}

// doctorTarget takes what is configured, and the rest from the running server.
// Without one it leaves addresses empty: that, too, is a finding.
func doctorTarget(cfg *config.Config) (doctor.Target, error) {
	t := doctor.Target{
		KafkaBrokers: cfg.Kafka.Brokers, ClickHouseURL: cfg.ClickHouse.URL.Reveal(), PostgresURL: cfg.Postgres.URL.Reveal(),
		RedisURL: cfg.Redis.URL.Reveal(), MilvusAddress: cfg.Milvus.Address,
		PointsTopic: cfg.Kafka.TopicPrefix + "points", PointsGroup: cfg.Points.Group,
		LogFullThreshold: cfg.Ingest.LogFullThreshold, DataDir: cfg.DataDir,
	}
	server, err := control.Read(cfg.DataDir)
	if errors.Is(err, control.ErrNotRunning) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	for _, fill := range []struct {
		address *string
		running string
	}{
		{&t.ClickHouseURL, server.ClickHouseURL}, {&t.PostgresURL, server.PostgresURL},
		{&t.RedisURL, server.RedisURL}, {&t.MilvusAddress, server.MilvusAddress},
	} {
		if *fill.address == "" {
			*fill.address = fill.running
		}
	}
	if len(t.KafkaBrokers) == 0 {
		t.KafkaBrokers = server.KafkaBrokers
	}
	return t, nil
}

// printFindings prints a line for each finding, and below it what to do.
func printFindings(w io.Writer, results []doctor.Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range results {
		facts := []string{r.Detail}
		if r.LatencyMS > 0 {
			facts = append(facts, fmt.Sprintf("%.2f ms", r.LatencyMS))
		}
		if r.DiskBytes != nil {
			facts = append(facts, doctor.Size(*r.DiskBytes)+" on disk")
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Status, r.Name, r.Version, strings.Join(facts, ", "))
		if r.Address != "" {
			_, _ = fmt.Fprintf(table, "\t\t\t%s\n", r.Address)
		}
		if r.Advice != "" {
			_, _ = fmt.Fprintf(table, "\t\t\t→ %s\n", r.Advice)
		}
	}
	return table.Flush()
}
