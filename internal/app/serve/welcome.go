package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/demo"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/firstrun"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// welcome reports where the service is and what to try. The first start's key and password
// are printed on a terminal alone, and once; elsewhere only where they can be read.
func (c *Options) welcome(
	out *output.Writer, terminal bool, at address, metricsURL string, first firstrun.Record, made bool,
) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("\nLivegraph %s serves %s", c.Version, at.url)
	say("  interface   %s/api/docs", at.url)
	if c.Has("api") {
		say("  admin page  %s/admin", at.url)
	}
	switch {
	case made && terminal:
		say(
			"  log in as   %s, password %s  (shown once; kept in %s)", first.AdminUser, first.AdminPassword,
			firstrun.Path(c.DataDir),
		)
		say("  workspace   %s (default)", first.WorkspaceID)
		say("  admin key   %s  (shown once; kept in %s)", first.AdminKey, firstrun.Path(c.DataDir))
		c.tryThis(say, at, first)
	case made:
		say("  first run   workspace, admin key and the admin page's password are in %s", firstrun.Path(c.DataDir))
	default:
		if _, err := firstrun.Read(c.DataDir); err == nil {
			say("  first run   workspace, admin key and the admin page's password are still in %s", firstrun.Path(c.DataDir))
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
func (c *Options) tryThis(say func(string, ...any), at address, first firstrun.Record) {
	curl := "curl -s"
	if at.trust != "" {
		curl += " --cacert " + output.ShellQuote(at.trust)
	}
	auth := fmt.Sprintf(`-H "Authorization: Bearer %s" -H "x-workspace-id: %s"`, first.AdminKey, first.WorkspaceID)
	say("\nTry:\n")
	say(
		curl+` %s/api/live-data/sources %s -H "Content-Type: application/json" -d '{"name": "boiler", "unit": "°C"}'`+"\n",
		at.url, auth,
	)
	say(
		curl+
			` %s/api/live-data/ingest %s -H "Content-Type: application/json" -d `+
			`'{"source": "boiler", "points": [{"metric": "temperature", "value": 71.5}]}'`+"\n",
		at.url, auth,
	)
	say(`sleep 1; `+curl+` "%s/api/live-data/query?source=boiler&latest=true" %s`+"\n", at.url, auth)
}

// demo streams this machine's metrics beside the server. That it fails is said
// and does not end the server.
func (c *Options) demo(ctx context.Context, db *stores.DB, out *output.Writer, server runfile.Server) error {
	deps, err := demo.OpenDeps(db, c.DataDir, uuid.Nil, server, out)
	if err == nil {
		err = demo.Run(ctx, demo.Options{Backfill: true}, deps)
	}
	if err != nil && ctx.Err() == nil {
		slog.ErrorContext(ctx, "the demo ended; the service goes on", "error", err)
		_, _ = fmt.Fprintln(out, "The demo ended:", err, "(the service goes on)")
	}
	return nil
}
