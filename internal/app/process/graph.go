package process

import (
	"runtime"
	"slices"

	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/api/documents"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/queries"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/retrieval/files"
	"github.com/livegraph/livegraph/storage/redis"
)

// GraphAPI contains the routes of the graph and the components that must run while they
// are used.
type GraphAPI struct {
	Routes  []route.Route
	Replies *redis.Replies   // of the commands consumer
	Waiter  *commands.Waiter // for the outcomes of commands
	Feed    *queries.Feed    // of changes
}

// NewGraphAPI creates the routes of the graph.
func NewGraphAPI(o *Options, s *stores.Stores, keys *idempotency.Manager, bodies *request.Budget) *GraphAPI {
	replies, reads := s.Redis.NewReplies(o.Logger), s.GraphReads()
	g := &GraphAPI{
		Replies: replies, Waiter: commands.NewWaiter(replies, s.Postgres, o.Logger), Feed: queries.NewFeed(s.Postgres),
	}
	g.Feed.Register(o.Metrics)
	g.Routes = slices.Concat(
		queries.Routes(queries.Deps{
			Graph: reads, Journal: reads, Feed: g.Feed, TokenKey: s.Installation.CheckpointKey,
			QueryTimeout: o.Config.API.QueryTimeout,
		}),
		commands.Routes(commands.Deps{
			Log: s.Kafka, Outcomes: s.Postgres, OutcomeWriter: s.Postgres, Purges: s.Postgres, Waiter: g.Waiter, Keys: keys,
			IDKey: s.Installation.CheckpointKey, Bodies: bodies, Metrics: o.Metrics,
		}),
		documents.Routes(documents.Deps{
			Graph: s.Postgres, Keys: keys,
			Commands: commands.NewSubmitter(s.Kafka, g.Waiter, s.Postgres, s.Installation.CheckpointKey),
			Files:    files.NewReader(filesOptions()), Bodies: bodies, QueryTimeout: o.Config.API.QueryTimeout,
		}))
	return g
}

// filesOptions returns the options of the reader of files: it leaves a core for requests.
func filesOptions() files.Options {
	// The cache is in the folder of the engines' packages. Without one, it is in memory.
	cache, err := install.CacheDir("pdfium")
	if err != nil {
		cache = ""
	}
	return files.Options{CacheDir: cache, Concurrent: max(runtime.GOMAXPROCS(0)/2, 1)}
}
