package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/bytesize"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/doctor"
)

// DoctorCmd checks every engine and prints advice.
type DoctorCmd struct {
	target.Target `embed:""`
	JSON          bool `help:"Print JSON."`
}

// errUnhealthy makes the command exit with an error when a check fails.
var errUnhealthy = errors.New("something is wrong; see above")

// Run checks the configured engines, and those of the server that runs on the data
// directory. It returns an error if one of them cannot be used.
func (c *DoctorCmd) Run(ctx context.Context, out *output.Writer) error {
	// Without a server the addresses stay empty, which the doctor reports as a finding.
	if err := c.FillFromServer(); err != nil && !errors.Is(err, runfile.ErrNotRunning) {
		return err
	}
	results := doctor.Check(ctx, c.doctorTarget())
	var err error
	if c.JSON {
		err = output.JSON(out, results)
	} else {
		err = printFindings(out, results)
	}
	if err == nil && !doctor.Healthy(results) {
		err = errUnhealthy
	}
	return err
}

// doctorTarget returns the engines and settings that the doctor checks.
func (c *DoctorCmd) doctorTarget() doctor.Target {
	server, err := runfile.Read(c.DataDir) // the zero value on an error
	metrics := c.Metrics.Listen
	if c.Metrics.Enabled() {
		if address, err := c.Metrics.Address(); err == nil {
			metrics = address
		}
	}
	shares := c.SharesAddresses()
	if err == nil {
		shares = server.SharesAddresses // the settings of the running server apply
	}
	return doctor.Target{
		SharesAddresses: shares,
		KafkaBrokers:    c.Kafka.Brokers, KafkaSecurity: c.Kafka.KafkaSecurity, ClickHouseURL: c.ClickHouse.URL.Reveal(),
		PostgresURL: c.Postgres.URL.Reveal(), Postgres: c.Postgres,
		RedisURL: c.Redis.URL.Reveal(), MilvusAddress: c.Milvus.Address, MilvusToken: c.Milvus.Token.Reveal(),
		ClickHouseTLS: c.ClickHouse.TLS, RedisTLS: c.Redis.TLS, MilvusTLS: c.Milvus.TLS, Listener: c.TLS,
		RedisSentinel: c.Redis.Sentinel, ClickHouseCluster: c.ClickHouse.Cluster,
		Embedder: c.Embedder, Chat: c.Chat, Rerank: c.Rerank, Capabilities: c.Capabilities,
		TopicPrefix: c.Kafka.TopicPrefix, PointsTopic: c.Kafka.TopicPrefix + "points", PointsGroup: c.Points.Group,
		LogFullThreshold: c.Ingest.LogFullThreshold, DataDir: c.DataDir,
		MetricsListen: metrics, MetricsURL: server.MetricsURL, ServerRuns: err == nil,
	}
}

// printFindings prints a line for each finding, with the advice below it.
func printFindings(w io.Writer, results []doctor.Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range results {
		facts := []string{r.Detail}
		if r.LatencyMS > 0 {
			facts = append(facts, fmt.Sprintf("%.2f ms", r.LatencyMS))
		}
		if r.DiskBytes != nil {
			facts = append(facts, bytesize.Format(*r.DiskBytes)+" on disk")
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
