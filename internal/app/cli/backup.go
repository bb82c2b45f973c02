package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/serve"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/platform/bytesize"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/backup"
	"github.com/livegraph/livegraph/storage/kafka"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

// notStarted is the address of an engine that a restore does not need. Its data is
// rebuilt when a server runs.
const notStarted = "none"

// refillTimeout bounds the wait for Kafka to acknowledge a part of the log that a restore
// writes. It is long because no caller waits for an answer, and a failed restore has to
// start from the beginning.
const refillTimeout = 2 * time.Minute

// BackupCmd takes a backup.
type BackupCmd struct {
	target.Target `embed:""`
	To            string `help:"Folder to write to; created if missing, must be empty." required:"" type:"path" placeholder:"DIR"`
	JSON          bool   `help:"Print JSON."`
}

// Run reads the stores while the server runs, and shows progress.
func (c *BackupCmd) Run(ctx context.Context, out *output.Writer, version buildVersion) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	progress := newBackupProgress(out, c.JSON)
	var manifest *backup.Manifest
	err := withStores(ctx, &c.Target, func(stores backup.Stores) (err error) {
		manifest, err = backup.Take(ctx, stores, backup.TakeOptions{
			Dir: c.To, Version: string(version), Progress: progress.show,
		})
		return err
	})
	progress.end()
	if err != nil {
		if _, statErr := os.Stat(c.To); statErr == nil {
			return fmt.Errorf("%w (the contents of %s are not a complete backup: remove them)", err, c.To)
		}
		return err
	}
	if c.JSON {
		return output.JSON(out, manifest)
	}
	_, err = fmt.Fprintf(out, "%s: %s in %s. It contains everything acknowledged before %s; the graph is as of %s\n",
		c.To, bytesize.Format(manifest.Bytes()), manifest.FinishedAt.Sub(manifest.StartedAt).Round(10*time.Millisecond),
		manifest.StartedAt.Format(time.RFC3339), manifest.GraphAt.Format(time.RFC3339))
	return err
}

// withStores runs work on the target's Postgres, ClickHouse and Kafka.
func withStores(ctx context.Context, t *target.Target, work func(backup.Stores) error) error {
	points, err := stores.OpenClickHouse(ctx, t.Config)
	if err != nil {
		return err
	}
	defer func() { _ = points.Close() }()
	log, err := t.OpenLog(ctx, refillTimeout)
	if err != nil {
		return err
	}
	defer log.Close()
	return t.WithPostgres(ctx, func(db *pgstores.DB) error {
		return work(backup.Stores{Postgres: db, ClickHouse: points, Kafka: log})
	})
}

// RestoreCmd fills empty stores from a backup.
type RestoreCmd struct {
	target.Target `embed:""`
	From          string `help:"Folder of the backup." required:"" type:"path" placeholder:"DIR"`
	Check         bool   `help:"Only check that the backup is complete and unchanged."`
	JSON          bool   `help:"Print JSON."`
}

// Run checks the whole backup and then fills the stores: those that are configured, and
// embedded ones in the data directory for the rest. All must be empty, and no server may run.
func (c *RestoreCmd) Run(ctx context.Context, out *output.Writer) error {
	progress := newBackupProgress(out, c.JSON)
	manifest, err := backup.Check(ctx, c.From, progress.show)
	progress.end()
	if err != nil {
		return err
	}
	if !c.Check {
		serve.NewLogger(config.Log{Level: "warn", Format: c.Log.Format}, os.Stderr)
		if err := c.restore(ctx, out, manifest, progress); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		return output.JSON(out, manifest)
	case c.Check:
		_, err = fmt.Fprintf(out, "the backup is good: taken %s by Livegraph %s, %d files, %s\n",
			manifest.StartedAt.Format(time.RFC3339), manifest.Version, len(manifest.Files), bytesize.Format(manifest.Bytes()))
	default:
		_, err = fmt.Fprintf(
			out, "restored: the graph, keys and sources as of %s. Keys revoked since then are valid again: revoke them\n",
			manifest.GraphAt.Format(time.RFC3339),
		)
	}
	return err
}

// restore starts the engines that are not configured, on an empty data directory, and
// fills the stores.
func (c *RestoreCmd) restore(
	ctx context.Context, out *output.Writer, manifest *backup.Manifest, progress *backupProgress,
) error {
	startsEngines := c.Postgres.URL == "" || c.ClickHouse.URL == "" || len(c.Kafka.Brokers) == 0
	if !startsEngines && c.Redis.URL == "" {
		return errors.New("set LIVEGRAPH_REDIS_URL as well: Redis has to be empty")
	}
	if !startsEngines {
		return c.fillStores(ctx, manifest, progress)
	}
	if err := c.requireEmptyDir(); err != nil {
		return err
	}
	engines, err := c.startEmpty(ctx, out)
	if err != nil {
		return err
	}
	defer serve.StopEngines(engines, slog.Default())
	if err := c.fillStores(ctx, manifest, progress); err != nil {
		return fmt.Errorf("%w (the contents of %s are incomplete: remove them before you try again)", err, c.DataDir)
	}
	return nil
}

func (c *RestoreCmd) requireEmptyDir() error {
	if server, err := runfile.Read(c.DataDir); err == nil {
		return fmt.Errorf(
			"a livegraph server, process %d, runs on %s: a restore requires an empty data directory; choose one with --data-dir",
			server.PID, c.DataDir,
		)
	}
	entries, err := os.ReadDir(c.DataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the data directory: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf(
			"the data directory %s is not empty, and a restore requires an empty one; choose another with --data-dir, or "+
				"move this one away",
			c.DataDir,
		)
	}
	return nil
}

// startEmpty starts the engines whose data cannot be rebuilt and sets their addresses.
func (c *RestoreCmd) startEmpty(ctx context.Context, out *output.Writer) (*embedded.Engines, error) {
	var progress func(engine.Event)
	if !c.JSON {
		progress = output.NewEngineProgress(out, output.IsTerminal(out.Writer)).Show
	}
	configured := embedded.Addresses{
		KafkaBrokers: c.Kafka.Brokers, KafkaSecurity: c.Kafka.KafkaSecurity,
		ClickHouseURL: c.ClickHouse.URL.Reveal(), PostgresURL: c.Postgres.URL.Reveal(),
		RedisURL: notStarted, MilvusAddress: notStarted, ClickHouseCluster: c.ClickHouse.Cluster,
	}
	engines, err := embedded.Start(ctx, embedded.Options{
		DataDir: c.DataDir, Configured: configured, KafkaSyncWrites: true, Progress: progress, Logger: slog.Default(),
		ClickHouseShards: c.ClickHouse.EmbeddedShards,
	})
	if err != nil {
		return nil, err
	}
	addresses := engines.Addresses()
	c.Kafka.Brokers, c.Kafka.KafkaSecurity = addresses.KafkaBrokers, addresses.KafkaSecurity
	c.Capabilities = addresses.Capabilities
	c.ClickHouse.URL, c.Postgres.URL = config.Secret(addresses.ClickHouseURL), config.Secret(addresses.PostgresURL)
	c.ClickHouse.Cluster = addresses.ClickHouseCluster
	return engines, nil
}

func (c *RestoreCmd) fillStores(ctx context.Context, manifest *backup.Manifest, progress *backupProgress) error {
	if err := c.requireEmptyRedis(ctx); err != nil {
		return err
	}
	defer progress.end()
	return withStores(ctx, &c.Target, func(stores backup.Stores) error {
		return backup.Restore(ctx, stores, manifest, backup.RestoreOptions{
			Dir: c.From, Progress: progress.show,
			Topics: kafka.TopicSettings{
				Replication: c.Kafka.Replication, MinInsyncReplicas: c.Kafka.MinInsyncReplicas,
				RetentionBytes: c.Kafka.RetentionBytes,
			},
		})
	})
}

// requireEmptyRedis returns an error if a configured Redis contains keys of Livegraph:
// undo stacks that belong to another state of the graph would be used.
func (c *RestoreCmd) requireEmptyRedis(ctx context.Context) error {
	if c.Redis.URL == "" {
		return nil
	}
	db, err := stores.OpenRedis(ctx, c.Config)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.RequireEmpty(ctx)
}

// backupProgress shows the progress of a backup or a restore.
type backupProgress struct {
	line    *output.Line
	quiet   bool
	drawnAt time.Time // on a terminal; zero: not yet
}

func newBackupProgress(out *output.Writer, quiet bool) *backupProgress {
	return &backupProgress{line: output.NewLine(out.Writer), quiet: quiet}
}

// redrawInterval is the minimum time between two redraws of a terminal's line.
const redrawInterval = 100 * time.Millisecond

func (p *backupProgress) show(state backup.Progress) {
	if p.quiet || p.line.Terminal && time.Since(p.drawnAt) < redrawInterval {
		return
	}
	text := state.Step
	if state.Rows > 0 {
		text += fmt.Sprintf(", %d rows", state.Rows)
	}
	text += ", " + bytesize.Format(state.Bytes)
	if state.Total > 0 {
		text += fmt.Sprintf(" of %s (%d %%)", bytesize.Format(state.Total), 100*state.Bytes/state.Total)
	}
	p.line.Show(text, false)
	if p.line.Terminal {
		p.drawnAt = time.Now()
	}
}

func (p *backupProgress) end() { p.line.Clear() }
