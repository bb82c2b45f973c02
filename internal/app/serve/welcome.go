package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/livegraph/livegraph/internal/app/demo"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/firstrun"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// welcome prints the addresses of the service and commands to try. The key and password of
// the first run are printed once and only on a terminal; otherwise welcome prints the file
// that contains them.
func (c *Options) welcome(
	out *output.Writer, terminal bool, addr address, metricsURL string, first firstrun.Record, created bool,
) {
	printf := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	printf("\nLivegraph %s serves %s", c.Version, addr.url)
	printf("  interface   %s/api/docs", addr.url)
	if c.Has("api") {
		printf("  admin page  %s/admin", addr.url)
	}
	switch {
	case created && terminal:
		printf(
			"  log in as   %s, password %s  (shown once; kept in %s)", first.AdminUser, first.AdminPassword,
			firstrun.Path(c.DataDir),
		)
		printf("  workspace   %s (default)", first.WorkspaceID)
		printf("  admin key   %s  (shown once; kept in %s)", first.AdminKey, firstrun.Path(c.DataDir))
		c.printExamples(printf, addr, first)
	case created:
		printf("  first run   workspace, admin key and the admin page's password are in %s", firstrun.Path(c.DataDir))
	default:
		if _, err := firstrun.Read(c.DataDir); err == nil {
			printf("  first run   workspace, admin key and the admin page's password are still in %s", firstrun.Path(c.DataDir))
		}
	}
	if metricsURL != "" {
		printf("  metrics     %s", metricsURL)
	}
	if !c.Demo {
		printf("  live data   livegraph demo --data-dir %s", c.DataDir)
	}
	printf("  stop        Ctrl-C\n")
}

// printExamples prints three commands that can be pasted into a shell.
func (c *Options) printExamples(printf func(string, ...any), addr address, first firstrun.Record) {
	curl := "curl -s"
	if addr.trust != "" {
		curl += " --cacert " + output.ShellQuote(addr.trust)
	}
	auth := fmt.Sprintf(`-H "Authorization: Bearer %s" -H "x-workspace-id: %s"`, first.AdminKey, first.WorkspaceID)
	printf("\nTry:\n")
	printf(
		curl+` %s/api/live-data/sources %s -H "Content-Type: application/json" -d '{"name": "boiler", "unit": "°C"}'`+"\n",
		addr.url, auth,
	)
	printf(
		curl+
			` %s/api/live-data/ingest %s -H "Content-Type: application/json" -d `+
			`'{"source": "boiler", "points": [{"metric": "temperature", "value": 71.5}]}'`+"\n",
		addr.url, auth,
	)
	printf(`sleep 1; `+curl+` "%s/api/live-data/query?source=boiler&latest=true" %s`+"\n", addr.url, auth)
}

// demo streams this machine's metrics while the server runs. It logs and prints an error,
// which does not end the server.
func (c *Options) demo(ctx context.Context, db *stores.DB, out *output.Writer, server runfile.Server) error {
	first, err := firstrun.Read(c.DataDir)
	deps, depsErr := demo.OpenDeps(db, c.DataDir, first.WorkspaceID, server, out)
	if err = cmp.Or(err, depsErr); err == nil {
		err = demo.Run(ctx, demo.Options{}, deps)
	}
	if err != nil && ctx.Err() == nil {
		slog.ErrorContext(ctx, "the demo ended; the service continues", "error", err)
		_, _ = fmt.Fprintln(out, "The demo ended:", err, "(the service continues)")
	}
	return nil
}
