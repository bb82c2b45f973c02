package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/mqtt"
	"github.com/livegraph/livegraph/internal/app/serve"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
)

// minMQTTFlush and maxMQTTFlush bound the option --flush.
const minMQTTFlush, maxMQTTFlush = 10 * time.Millisecond, time.Minute

// MQTTCmd sends messages of MQTT brokers to a workspace.
type MQTTCmd struct {
	target.Target
	File      string        `arg:"" help:"YAML file with the brokers, their topics, and what messages become; see docs/mqtt.md." type:"existingfile"`
	URL       string        `name:"url" help:"Address of the server's API; default: that of the server on --data-dir." env:"LIVEGRAPH_URL" placeholder:"URL"`
	Key       string        `help:"API key with the scope write:livedata. Better given as LIVEGRAPH_API_KEY." env:"LIVEGRAPH_API_KEY" placeholder:"KEY" required:""`
	Workspace uuid.UUID     `help:"The key's workspace." env:"LIVEGRAPH_WORKSPACE_ID" placeholder:"ID" required:""`
	Flush     time.Duration `help:"Time in which messages are collected into a request, 10ms to 1m." default:"250ms"`
	Metrics   string        `help:"Address at which metrics are served, host:port; default: not at all." placeholder:"ADDRESS"`
	Check     bool          `help:"Check the file and end."`
}

// Validate checks what tags cannot express.
func (c *MQTTCmd) Validate() error {
	if c.Flush < minMQTTFlush || c.Flush > maxMQTTFlush {
		return fmt.Errorf("--flush: must be from %s to %s", minMQTTFlush, maxMQTTFlush)
	}
	return nil
}

// Run sends messages until ctx ends.
func (c *MQTTCmd) Run(ctx context.Context, version buildVersion) error {
	brokers, err := mqtt.Load(c.File)
	if err != nil || c.Check {
		return err
	}
	server, err := c.FindServer(c.URL)
	if err != nil {
		return fmt.Errorf("%w; name a server on another machine with --url", err)
	}
	logger := serve.NewLogger(c.Log, os.Stderr)
	transport, err := client.Local(server)
	if err != nil {
		return err
	}
	api, err := client.New(client.Options{
		BaseURL: server.URL, Workspace: c.Workspace.String(), UserAgent: "livegraph-mqtt/" + string(version), HTTP: transport,
		Retry: client.Retry{OnWait: func(err error, wait time.Duration) {
			logger.Warn("the server does not accept points now; the request is repeated", "error", err, "in", wait.String())
		}},
	})
	if err != nil {
		return err
	}
	defer api.Close()
	if err := api.SetKey(c.Key); err != nil {
		return err
	}
	registry := telemetry.NewRegistry(string(version), []string{"mqtt"})
	group, ctx := errgroup.WithContext(ctx)
	if c.Metrics != "" {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Metrics)
		if err != nil {
			return fmt.Errorf("cannot listen for metrics: %w (choose another address with --metrics)", err)
		}
		group.Go(func() error { return telemetry.ServeMetrics(ctx, listener, registry) })
	}
	logger.Info("sending messages of MQTT to the server",
		"url", server.URL, "workspace", c.Workspace, "brokers", len(brokers.Brokers))
	group.Go(func() error {
		return mqtt.Run(ctx, brokers, mqtt.Deps{
			Ingest: api.IngestLines, Flush: c.Flush, Logger: logger, Metrics: registry,
		})
	})
	return group.Wait()
}
