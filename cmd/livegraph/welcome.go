package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/demo"
	"github.com/livegraph/livegraph/internal/firstrun"
	"github.com/livegraph/livegraph/storage/postgres"
)

// welcome says where the service is and what to try. The first start's key is
// printed on a terminal alone, and once; elsewhere only where it can be read.
func (c *ServeCmd) welcome(out *output, terminal bool, url, metricsURL string, first firstrun.Record, made bool) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("\nLivegraph %s serves %s", version, url)
	say("  interface   %s/api/docs", url)
	switch {
	case made && terminal:
		say("  workspace   %s (default)", first.WorkspaceID)
		say("  admin key   %s  (shown once; kept in %s)", first.AdminKey, firstrun.Path(c.DataDir))
		c.tryThis(say, url, first)
	case made:
		say("  first run   workspace and admin key are in %s", firstrun.Path(c.DataDir))
	default:
		if _, err := firstrun.Read(c.DataDir); err == nil {
			say("  first run   workspace and admin key are still in %s", firstrun.Path(c.DataDir))
		}
	}
	if metricsURL != "" {
		say("  metrics     %s", metricsURL)
	}
	if !c.Demo {
		say("  live data   livegraph demo --data-dir %s", c.DataDir)
	}
	say("  stop        Ctrl-C\n")
}

// tryThis prints three commands that work when pasted.
func (c *ServeCmd) tryThis(say func(string, ...any), url string, first firstrun.Record) {
	auth := fmt.Sprintf(`-H "Authorization: Bearer %s" -H "x-workspace-id: %s"`, first.AdminKey, first.WorkspaceID)
	say("\nTry:\n")
	say(`curl -s %s/api/live-data/sources %s -H "Content-Type: application/json" -d '{"name": "boiler", "unit": "°C"}'`+"\n", url, auth)
	say(`curl -s %s/api/live-data/ingest %s -H "Content-Type: application/json" -d '{"source": "boiler", "points": [{"metric": "temperature", "value": 71.5}]}'`+"\n", url, auth)
	say(`sleep 1; curl -s "%s/api/live-data/query?source=boiler&latest=true" %s`+"\n", url, auth)
}

// demo streams this machine's metrics beside the server. That it fails is said
// and does not end the server.
func (c *ServeCmd) demo(ctx context.Context, db *postgres.DB, out *output, url string) error {
	deps, err := demoDeps(db, c.DataDir, uuid.Nil, url, out)
	if err == nil {
		err = demo.Run(ctx, demo.Options{Backfill: true}, deps)
	}
	if err != nil && ctx.Err() == nil {
		slog.ErrorContext(ctx, "the demo ended; the service goes on", "error", err)
		_, _ = fmt.Fprintln(out, "The demo ended:", err, "(the service goes on)")
	}
	return nil
}
