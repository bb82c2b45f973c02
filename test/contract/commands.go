package contract

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/api/documents"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	commandconsumer "github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/retrieval/files"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

// Commands is the group of the graph's write routes and of documents, with its stores and its consumer.
// Group creates the stores that are nil.
type Commands struct {
	Log   *kafka.Client
	Redis *redis.DB
	// WithoutConsumer starts no consumer: commands stay in the log until Decide is called.
	WithoutConsumer bool
	// Change, when set, changes the dependencies of the routes.
	Change func(*commands.Deps)
}

// Group creates the routes.
func (c *Commands) Group(t testing.TB, s *Server) []route.Route {
	t.Helper()
	if c.Log == nil {
		c.Log = OpenLog(t, kafkatest.NewKFake(t))
	}
	if c.Redis == nil {
		db, err := redis.Open(t.Context(), redis.Options{URL: testenv.Redis(t)})
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		c.Redis = db
	}
	installation, err := s.DB.Installation(t.Context())
	require.NoError(t, err)
	replies := c.Redis.NewReplies(slog.Default())
	waiter := commands.NewWaiter(replies, s.DB, slog.Default())
	background(t, ignoreCanceled(replies.Run))
	background(t, ignoreCanceled(waiter.Run))
	deps := commands.Deps{
		Log: c.Log, Outcomes: s.DB, OutcomeWriter: s.DB, Purges: s.DB, Waiter: waiter,
		Keys: idempotency.New(s.DB, slog.Default(), nil), IDKey: installation.CheckpointKey,
		Bodies: request.NewBudget(256 << 20),
	}
	if c.Change != nil {
		c.Change(&deps)
	}
	if !c.WithoutConsumer {
		c.RunConsumer(t, s)
	}
	return append(commands.Routes(deps), documents.Routes(documents.Deps{
		Graph: s.DB, Commands: commands.NewSubmitter(c.Log, waiter, s.DB, installation.CheckpointKey), Keys: deps.Keys,
		Bodies: deps.Bodies, Files: fileReader(t), QueryTimeout: 30 * time.Second,
	})...)
}

// fileReader returns a reader of files that shares the compiled PDFium with the service.
func fileReader(t testing.TB) *files.Reader {
	t.Helper()
	cache, err := install.CacheDir("pdfium")
	require.NoError(t, err)
	reader := files.NewReader(files.Options{CacheDir: cache})
	t.Cleanup(func() { _ = reader.Close() })
	return reader
}

// RunConsumer runs a consumer of commands until the test ends.
func (c *Commands) RunConsumer(t testing.TB, s *Server) {
	t.Helper()
	consumer := commandconsumer.New(commandconsumer.Deps{
		Log: c.Log, Graph: s.DB, Redis: c.Redis, Logger: slog.Default(),
		Config: commandconsumer.Config{Group: "commands", FetchBytes: 8 << 20, Grace: time.Second},
	})
	background(t, consumer.Run)
}

// ignoreCanceled returns run without the error of a canceled context.
func ignoreCanceled(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := run(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}
