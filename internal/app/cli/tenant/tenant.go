// Package tenant contains the commands on the data of a workspace: sources, points, the
// graph and search. They call the handlers of the API within the command's process.
package tenant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/api/queries"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/process"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

const (
	// postgresConns is the number of connections to Postgres of a command: some routes read
	// on several at once.
	postgresConns = 4
	// bodyBudget bounds the bytes of request bodies. A command sends one request at a time.
	bodyBudget = 16 << 20
)

// tenant is the workspace that a command works on, with the permissions of a key with
// scope admin. It calls the routes of the API in this process, with the stores only, so
// that it returns the same answers, requires no key, and works while no server runs. Its
// requests do not count against the plan and are not in the audit log of keys.
type tenant struct {
	target.Target `embed:""`
	Workspace     *uuid.UUID `help:"Workspace; default: that of first-run.json." env:"LIVEGRAPH_WORKSPACE_ID" placeholder:"ID"`
	JSON          bool       `help:"Print JSON: the answer of the API."`
}

// session is a tenant with open stores and the routes that use them.
type session struct {
	workspace uuid.UUID
	actor     uuid.UUID
	mux       *chi.Mux
}

// withReadRoutes opens the stores of the routes that read, and runs work.
func (c *tenant) withReadRoutes(ctx context.Context, work func(*session) error) error {
	return c.withStores(ctx, func(s *stores.Stores, v *session) (err error) {
		if s.ClickHouse, err = stores.OpenClickHouse(ctx, c.Config); err != nil {
			return err
		}
		if s.Embedders, err = stores.OpenEmbedders(c.Embedder); err != nil {
			return err
		}
		if s.Milvus, err = stores.OpenMilvus(c.Milvus); err != nil {
			return err
		}
		if s.Chat, err = stores.OpenChat(&c.Chat); err != nil {
			return err
		}
		if s.Reranker, err = stores.OpenReranker(&c.Rerank); err != nil {
			return err
		}
		v.serve(queries.Routes(queries.Deps{
			Graph: s.Postgres, Journal: s.Postgres, TokenKey: s.Installation.CheckpointKey, QueryTimeout: c.API.QueryTimeout,
		}))
		o := c.options()
		v.serve(process.SearchRoutes(o, s, idempotency.New(s.Postgres, o.Logger, o.Metrics)))
		v.serve(livedata.Routes(livedata.Deps{
			Sources: s.Postgres, Series: s.Postgres, Points: timeseries.New(s.ClickHouse), Watermarks: s.Postgres,
			DeadRecords: s.Postgres,
			TokenKey:    s.Installation.CheckpointKey, QueryTimeout: c.API.QueryTimeout,
		}))
		return work(v)
	})
}

// withGraphRoutes opens the stores of the graph's routes, including those that write, and
// runs work.
func (c *tenant) withGraphRoutes(ctx context.Context, work func(*session) error) error {
	return c.withStores(ctx, func(s *stores.Stores, v *session) (err error) {
		if s.Kafka, err = c.OpenLog(ctx, 0); err != nil {
			return err
		}
		if err = s.Kafka.FindTopics(ctx); err != nil {
			return err
		}
		if s.Redis, err = stores.OpenRedis(ctx, c.Config); err != nil {
			return err
		}
		o := c.options()
		keys := idempotency.New(s.Postgres, o.Logger, o.Metrics)
		graph := process.NewGraphAPI(o, s, keys, request.NewBudget(bodyBudget))
		v.serve(graph.Routes)
		waiting, stop := context.WithCancel(ctx)
		var background sync.WaitGroup
		background.Go(func() { _ = graph.Replies.Run(waiting) })
		background.Go(func() { _ = graph.Waiter.Run(waiting) })
		defer background.Wait()
		defer stop()
		return work(v)
	})
}

// options returns the options of the routes. Their logs and metrics are discarded.
func (c *tenant) options() *process.Options {
	return &process.Options{
		Config: c.Config, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}
}

// withStores opens Postgres, which all routes require, runs work and closes all stores.
func (c *tenant) withStores(ctx context.Context, work func(*stores.Stores, *session) error) (err error) {
	v := &session{mux: chi.NewRouter()}
	if v.workspace, err = c.WorkspaceOrFirst(c.Workspace); err != nil {
		return err
	}
	if err := c.Resolve(); err != nil {
		return err
	}
	s := &stores.Stores{}
	defer s.Close()
	s.Postgres, err = pgstores.Open(
		ctx, c.Postgres.URL.Reveal(), postgresConns, postgres.WithDirectURL(c.Postgres.DirectURL.Reveal()),
	)
	if err != nil {
		return err
	}
	if s.Installation, err = s.Postgres.Installation(ctx); err != nil {
		return err
	}
	found, err := s.Postgres.WorkspacesByID(ctx, []uuid.UUID{v.workspace})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("--workspace: there is no workspace %s; `livegraph workspaces list` shows them", v.workspace)
	}
	v.actor = uuid.NewSHA1(s.Installation.ID, []byte(trail.Author)) // the same for every user of the command line
	if a := trail.FromContext(ctx); a != nil {
		a.Workspace = &v.workspace
	}
	return trail.Record(ctx, s.Postgres.Access, func() error { return work(s, v) })
}

// serve adds routes to the session.
func (v *session) serve(routes []route.Route) {
	for _, rt := range routes {
		v.mux.Method(rt.Method, rt.Pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.(*answer).err = rt.Handle(w, r)
		}))
	}
}

// get calls a route with GET.
func (v *session) get(ctx context.Context, path string, query url.Values) (answer, error) {
	return v.do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, nil)
}

// post calls a route with POST and body as JSON.
func (v *session) post(ctx context.Context, path string, body any) (answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	return v.do(ctx, http.MethodPost, path, raw, nil)
}

// do calls a route. If out is not nil, the body of the answer is written to it.
func (v *session) do(ctx context.Context, method, address string, body []byte, out io.Writer) (answer, error) {
	return v.doIf(ctx, "", method, address, body, out)
}

// doIf calls a route like do. If tag is not empty, the route does nothing unless it is the resource's entity tag.
func (v *session) doIf(
	ctx context.Context, tag, method, address string, body []byte, out io.Writer,
) (answer, error) {
	ctx = reply.WithRequestID(ctx, reply.NewRequestID())
	ctx = request.WithPrincipal(ctx, &request.Principal{
		KeyID: v.actor, ActorID: v.actor, Scopes: []request.Scope{request.Admin}, Workspace: v.workspace,
	})
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if tag != "" {
		r.Header.Set("If-Match", tag)
	}
	got := &answer{header: http.Header{}, out: out}
	v.mux.ServeHTTP(got, r)
	return *got, target.FlagError(got.err)
}

// answer is the answer of a route.
type answer struct {
	header http.Header
	body   bytes.Buffer
	out    io.Writer // receives the body; nil: the field body does
	err    error
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. It ignores the status, because a handler
// returns a failure as an error.
func (a *answer) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.out != nil {
		return a.out.Write(p)
	}
	return a.body.Write(p)
}

// print prints the body of the answer as indented JSON.
func (a *answer) print(out io.Writer) error {
	return output.JSON(out, json.RawMessage(a.body.Bytes()))
}

// printAnswer prints an answer as JSON, or returns err.
func printAnswer(out *output.Writer, got answer, err error) error {
	if err != nil {
		return err
	}
	return got.print(out)
}

// decode decodes the body of an answer.
func decode[T any](a answer) (to T, err error) {
	if err = json.Unmarshal(a.body.Bytes(), &to); err != nil {
		err = fmt.Errorf("reading the answer: %w", err)
	}
	return to, err
}
