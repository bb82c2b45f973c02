package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/internal/services/keyadmin"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

const (
	// benchKeyLifetime is how long a load's key stays valid if the load is killed before it
	// cleans up.
	benchKeyLifetime = 24 * time.Hour
	// benchCleanupTimeout bounds the removal of what a load created.
	benchCleanupTimeout = 2 * time.Minute
)

// BenchCmd sends a load of points to a running server and measures it.
type BenchCmd struct {
	target.Target
	URL       string    `name:"url" help:"Address of the server's API; default: that of the server on --data-dir." env:"LIVEGRAPH_URL" placeholder:"URL"`
	Key       string    `help:"API key to write with, scopes read:livedata and write:livedata, and admin to remove what is written; better given as LIVEGRAPH_BENCH_KEY. Default: a workspace and a key created for this run." env:"LIVEGRAPH_BENCH_KEY" placeholder:"KEY"`
	Workspace uuid.UUID `help:"The key's workspace." placeholder:"ID"`

	Points  int64   `help:"Points to send, in whole requests." default:"10000000"`
	Rate    float64 `help:"Points per second; 0: as fast as the server accepts them." default:"0"`
	Callers int     `help:"Concurrent requests, 1 to 256." default:"4"`
	Batch   int     `help:"Points per request, 1 to 1000000." default:"100000"`
	Series  int     `help:"Series, 1 to 1000000. A request has equally many points of each, or of as many as it has points." default:"1000"`
	Sources int     `help:"Sources that the series are of, 1 to 10000." default:"100"`
	Format  string  `help:"Bodies: series (JSON, arrays a series), rows (JSON, an object a point), ndjson, lines (of InfluxDB), wide-lines (all metrics of a source in a line) or remote (write, of Prometheus)." enum:"series,rows,ndjson,lines,wide-lines,remote" default:"series"`
	Values  string  `help:"Values: gauge, counter, constant or random." enum:"gauge,counter,constant,random" default:"gauge"`
	JSON    bool    `help:"Print JSON."`
}

// Validate checks which flags go together.
func (c *BenchCmd) Validate() error {
	if (c.Key != "") != (c.Workspace != uuid.Nil) {
		return errors.New("--key and --workspace go together; without them a workspace is created for the run")
	}
	return nil
}

// Run sends the load, prints the measurements and removes what it created. On Ctrl-C it
// ends early and prints the measurements until then.
func (c *BenchCmd) Run(ctx context.Context, out *output.Writer, version buildVersion) error {
	plan := load.Plan{
		Points: c.Points, Rate: c.Rate, Callers: c.Callers, Batch: c.Batch,
		Format: load.Format(c.Format), Values: load.Values(c.Values),
	}
	size := load.Size{Sources: c.Sources, Series: c.Series}
	if err := errors.Join(size.Check(), plan.Check(c.Series)); err != nil {
		return flagErrors(err)
	}
	server, err := c.FindServer(c.URL)
	if err != nil {
		return fmt.Errorf("%w; name a server on another machine with --url", err)
	}
	transport, err := client.LocalTransport(server)
	if err != nil {
		return err
	}
	dest := load.Target{BaseURL: server.URL, Workspace: c.Workspace.String(), Key: c.Key, Transport: transport}
	if c.Key != "" {
		return c.withGivenKey(ctx, out, version, dest, size, plan)
	}
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		remove, err := benchWorkspace(ctx, db, &dest)
		if err != nil {
			return err
		}
		err = c.bench(ctx, out, version, dest, size, plan, nil)
		return errors.Join(err, c.cleanUp(ctx, out, remove))
	})
}

// flagErrors prefixes each line of the error with -- so that it names a flag.
func flagErrors(err error) error {
	return errors.New("--" + strings.ReplaceAll(err.Error(), "\n", "\n--"))
}

// withGivenKey sends the load to an existing workspace and removes the load's sources.
func (c *BenchCmd) withGivenKey(
	ctx context.Context, out *output.Writer, version buildVersion, dest load.Target, size load.Size, plan load.Plan,
) error {
	return c.bench(ctx, out, version, dest, size, plan, func(f *load.Fleet) error {
		err := c.cleanUp(ctx, out, f.Remove)
		if err != nil {
			return fmt.Errorf(
				"%w; the sources %s-… stay in the workspace: a key with the scope admin may delete them", err, f.Name(),
			)
		}
		return nil
	})
}

// bench sends the load and prints the measurements. If after is not nil, bench calls it at
// the end with the fleet that it created.
func (c *BenchCmd) bench(
	ctx context.Context, out *output.Writer, version buildVersion, dest load.Target, size load.Size, plan load.Plan,
	after func(*load.Fleet) error,
) (err error) {
	screen := newBenchScreen(out, c.JSON)
	screen.printf(
		"creating %s with %s on %s", plural.Count(size.Sources, "source"), plural.CountOf(size.Series, "series", "series"),
		dest.BaseURL,
	)
	fleet, err := load.NewFleet(ctx, dest, "bench-"+time.Now().UTC().Format("20060102T150405.000"), size)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted before anything was sent")
	case err != nil:
		return err
	}
	defer fleet.Close()
	if after != nil {
		defer func() { err = errors.Join(err, after(fleet)) }()
	}
	plan.Progress = screen.progress
	result, err := fleet.Run(ctx, plan)
	screen.clear()
	if result.Requests > 0 || err == nil {
		if c.JSON {
			err = errors.Join(err, output.JSON(out, benchReport{
				Version: string(version), URL: dest.BaseURL, Plan: c.summary(), Result: result,
			}))
		} else {
			err = errors.Join(err, printBench(out, c, result))
		}
	}
	if err == nil && result.Rejected > 0 {
		err = errors.New(plural.CountOf(result.Rejected, "point was", "points were") + " rejected")
	}
	return err
}

// cleanUp calls remove, also when ctx has ended.
func (c *BenchCmd) cleanUp(ctx context.Context, out *output.Writer, remove func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), benchCleanupTimeout)
	defer cancel()
	newBenchScreen(out, c.JSON).printf("cleaning up; the server deletes the points in the background")
	return remove(ctx)
}

// benchWorkspace creates a workspace without limits and a key for it, and stores both in
// dest. It returns a function that removes both.
func benchWorkspace(ctx context.Context, db *stores.DB, dest *load.Target) (func(context.Context) error, error) {
	w, err := db.CreateWorkspace(ctx, access.Workspace{
		Name: "bench " + time.Now().UTC().Format(time.DateTime), Plan: access.PlanEnterprise, Mode: apikey.Live,
	})
	if err != nil {
		return nil, err
	}
	remove := func(ctx context.Context) error { return db.DeleteWorkspace(ctx, w.ID, reply.NewRequestID()) }
	expires := time.Now().Add(benchKeyLifetime)
	key, text, err := keyadmin.Create(ctx, db, access.NewKey{
		Name: "bench", Mode: w.Mode,
		Scopes: []string{"read:livedata", "write:livedata"}, Workspaces: []uuid.UUID{w.ID},
		CreatedBy: trail.Author, ExpiresAt: &expires,
	})
	if err != nil {
		return nil, errors.Join(err, remove(context.WithoutCancel(ctx)))
	}
	dest.Workspace, dest.Key = w.ID.String(), text.Reveal()
	return func(ctx context.Context) error {
		_, err := db.RevokeKey(ctx, key.ID)
		return errors.Join(err, remove(ctx))
	}, nil
}
