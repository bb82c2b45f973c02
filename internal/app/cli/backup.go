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
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/backup"
	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/storage/kafka"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
)

// notStarted stands for the address of an engine that a restore does not need: it is
// filled again by anyone who serves.
const notStarted = "none"

// refillTimeout is how long Kafka may take for a piece of the log that is filled: nobody
// waits for an answer, and to begin a restore again is a nuisance.
const refillTimeout = 2 * time.Minute

// BackupCmd takes a backup.
type BackupCmd struct {
	target.Target `embed:""`
	To            string `help:"Folder to write to; made if missing, must be empty." required:"" type:"path" placeholder:"DIR"`
	JSON          bool   `help:"Print JSON."`
}

// Run reads the stores while the server works, and shows how far it is.
func (c *BackupCmd) Run(ctx context.Context, out *output.Writer, version buildVersion) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	progress := newBackupProgress(out, c.JSON)
	var taken *backup.Manifest
	err := withStores(ctx, &c.Target, func(stores backup.Stores) (err error) {
		taken, err = backup.Take(ctx, stores, backup.TakeOptions{
			Dir: c.To, Version: string(version), Progress: progress.show,
		})
		return err
	})
	progress.end()
	if err != nil {
		if _, statErr := os.Stat(c.To); statErr == nil {
			return fmt.Errorf("%w (what is in %s is no backup: remove it)", err, c.To)
		}
		return err
	}
	if c.JSON {
		return output.JSON(out, taken)
	}
	_, err = fmt.Fprintf(out, "%s: %s in %s. It has all that was acknowledged before %s; the graph is of %s\n",
		c.To, doctor.Size(taken.Bytes()), taken.FinishedAt.Sub(taken.BegunAt).Round(10*time.Millisecond),
		taken.BegunAt.Format(time.RFC3339), taken.GraphAt.Format(time.RFC3339))
	return err
}

// withStores runs work on the target's Postgres, ClickHouse and Kafka.
func withStores(ctx context.Context, t *target.Target, work func(backup.Stores) error) error {
	points, err := stores.OpenClickHouse(ctx, &t.Config)
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
	Check         bool   `help:"Only check that the backup is whole and as it was written."`
	JSON          bool   `help:"Print JSON."`
}

// Run checks the whole backup, and then fills the stores that are configured, and those
// of the data directory for the others. All have to be empty, and no server may run.
func (c *RestoreCmd) Run(ctx context.Context, out *output.Writer) error {
	progress := newBackupProgress(out, c.JSON)
	found, err := backup.Check(ctx, c.From, progress.show)
	progress.end()
	if err != nil {
		return err
	}
	if !c.Check {
		serve.NewLogger(config.Log{Level: "warn", Format: c.Log.Format}, os.Stderr)
		if err := c.restore(ctx, out, found, progress); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		return output.JSON(out, found)
	case c.Check:
		_, err = fmt.Fprintf(out, "the backup is good: taken %s by Livegraph %s, %d files, %s\n",
			found.BegunAt.Format(time.RFC3339), found.Version, len(found.Files), doctor.Size(found.Bytes()))
	default:
		_, err = fmt.Fprintf(
			out, "restored: the graph, keys and sources of %s. Keys that were revoked since then work again: revoke them\n",
			found.GraphAt.Format(time.RFC3339),
		)
	}
	return err
}

// restore starts the engines that are not configured, on an empty data directory.
func (c *RestoreCmd) restore(
	ctx context.Context, out *output.Writer, found *backup.Manifest, progress *backupProgress,
) error {
	own := c.Postgres.URL == "" || c.ClickHouse.URL == "" || len(c.Kafka.Brokers) == 0
	if !own && c.Redis.URL == "" {
		return errors.New("name Redis, too, by LIVEGRAPH_REDIS_URL: it has to be empty")
	}
	if !own {
		return c.fill(ctx, found, progress)
	}
	if err := c.requireEmptyDir(); err != nil {
		return err
	}
	engines, err := c.startEmpty(ctx, out)
	if err != nil {
		return err
	}
	defer serve.StopEngines(engines, slog.Default())
	if err := c.fill(ctx, found, progress); err != nil {
		return fmt.Errorf("%w (what is in %s is no installation: remove it before you try again)", err, c.DataDir)
	}
	return nil
}

func (c *RestoreCmd) requireEmptyDir() error {
	if server, err := runfile.Read(c.DataDir); err == nil {
		return fmt.Errorf(
			"a livegraph server, process %d, runs on %s: a restore wants an empty data directory; choose one with --data-dir",
			server.PID, c.DataDir,
		)
	}
	there, err := os.ReadDir(c.DataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the data directory: %w", err)
	}
	if len(there) > 0 {
		return fmt.Errorf(
			"the data directory %s is not empty: a restore wants one that is; choose another with --data-dir, or move this "+
				"one away",
			c.DataDir,
		)
	}
	return nil
}

// startEmpty starts the engines that hold what cannot be made again and fills in their
// addresses.
func (c *RestoreCmd) startEmpty(ctx context.Context, out *output.Writer) (*embedded.Engines, error) {
	var progress func(embedded.Event)
	if !c.JSON {
		progress = output.NewEngineProgress(out, output.IsTerminal(out.Writer)).Show
	}
	configured := embedded.Addresses{
		KafkaBrokers: c.Kafka.Brokers, KafkaSecurity: c.Kafka.KafkaSecurity,
		ClickHouseURL: c.ClickHouse.URL.Reveal(), PostgresURL: c.Postgres.URL.Reveal(),
		RedisURL: notStarted, MilvusAddress: notStarted,
	}
	engines, err := embedded.Start(ctx, embedded.Options{
		DataDir: c.DataDir, Configured: configured, KafkaSyncWrites: true, Progress: progress, Logger: slog.Default(),
	})
	if err != nil {
		return nil, err
	}
	at := engines.Addresses()
	c.Kafka.Brokers, c.Kafka.KafkaSecurity = at.KafkaBrokers, at.KafkaSecurity
	c.Capabilities = at.Capabilities
	c.ClickHouse.URL, c.Postgres.URL = config.Secret(at.ClickHouseURL), config.Secret(at.PostgresURL)
	return engines, nil
}

func (c *RestoreCmd) fill(ctx context.Context, found *backup.Manifest, progress *backupProgress) error {
	if err := c.requireEmptyRedis(ctx); err != nil {
		return err
	}
	defer progress.end()
	return withStores(ctx, &c.Target, func(stores backup.Stores) error {
		return backup.Restore(ctx, stores, found, backup.RestoreOptions{
			Dir: c.From, Progress: progress.show,
			Topics: kafka.TopicSettings{Replication: c.Kafka.Replication, RetentionBytes: c.Kafka.RetentionBytes},
		})
	})
}

// requireEmptyRedis looks whether a Redis that is configured has anything of ours: undo
// stacks of another moment of the graph would be believed.
func (c *RestoreCmd) requireEmptyRedis(ctx context.Context) error {
	if c.Redis.URL == "" {
		return nil
	}
	files, err := c.Redis.TLS.Client("redis-tls")
	if err != nil {
		return err
	}
	db, err := redis.Open(ctx, redis.Options{URL: c.Redis.URL.Reveal(), TLS: files})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.RequireEmpty(ctx)
}

// backupProgress shows how far a backup or a restore is.
type backupProgress struct {
	line  *output.Line
	quiet bool
	drawn time.Time // on a terminal; zero: not yet
}

func newBackupProgress(out *output.Writer, quiet bool) *backupProgress {
	return &backupProgress{line: output.NewLine(out.Writer), quiet: quiet}
}

// redrawEvery bounds how often a terminal's line is drawn.
const redrawEvery = 100 * time.Millisecond

func (p *backupProgress) show(at backup.Progress) {
	if p.quiet || p.line.Terminal && time.Since(p.drawn) < redrawEvery {
		return
	}
	text := at.Doing
	if at.Rows > 0 {
		text += fmt.Sprintf(", %d rows", at.Rows)
	}
	text += ", " + doctor.Size(at.Bytes)
	if at.Total > 0 {
		text += fmt.Sprintf(" of %s (%d %%)", doctor.Size(at.Total), 100*at.Bytes/at.Total)
	}
	p.line.Show(text, false)
	if p.line.Terminal {
		p.drawn = time.Now()
	}
}

func (p *backupProgress) end() { p.line.Clear() }
