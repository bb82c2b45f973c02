// Package tenant has the commands on the data of a workspace: sources, points, the graph and
// search. They call the routes of the API in their own process.
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
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

const (
	// tenantConns is how many connections to Postgres a command takes: some routes read
	// on several at once.
	tenantConns = 4
	// tenantBodies bounds the bytes of the bodies of a command: there is one at a time.
	tenantBodies = 16 << 20
)

// tenant is the workspace that a command looks at, in which the command may do all that
// a key with scope admin may. It asks the routes of the interface, in this process and
// with the stores alone: so it answers as they do, needs no key, and works while no
// server does. What it does is neither counted against the plan nor a use of a key.
type tenant struct {
	target.Target `embed:""`
	Workspace     *uuid.UUID `help:"Workspace; default: that of first-run.json." placeholder:"ID"`
	JSON          bool       `help:"Print JSON: the answer of the interface."`
}

// visit is a tenant with its stores at hand.
type visit struct {
	workspace uuid.UUID
	actor     uuid.UUID
	mux       *chi.Mux
}

// reads opens what the routes that read want, and runs work.
func (c *tenant) reads(ctx context.Context, work func(*visit) error) error {
	return c.within(ctx, func(s *stores.Stores, v *visit) (err error) {
		if s.ClickHouse, err = stores.OpenClickHouse(ctx, &c.Config); err != nil {
			return err
		}
		if s.Embedders, err = stores.OpenEmbedders(c.Embedder); err != nil {
			return err
		}
		if s.Milvus, err = stores.OpenMilvus(c.Milvus); err != nil {
			return err
		}
		v.serve(queries.Routes(queries.Deps{
			Graph: s.Postgres, Journal: s.Postgres, TokenKey: s.Installation.CheckpointKey, QueryTimeout: c.API.QueryTimeout,
		}))
		v.serve(process.SearchRoutes(c.options(), s))
		v.serve(livedata.Routes(livedata.Deps{
			Sources: s.Postgres, Series: s.Postgres, Points: timeseries.New(s.ClickHouse), Marks: s.Postgres, Dead: s.Postgres,
			TokenKey: s.Installation.CheckpointKey, QueryTimeout: c.API.QueryTimeout,
		}))
		return work(v)
	})
}

// writes opens what the graph's routes want, those that write included, and runs work.
func (c *tenant) writes(ctx context.Context, work func(*visit) error) error {
	return c.within(ctx, func(s *stores.Stores, v *visit) (err error) {
		if s.Kafka, err = c.OpenLog(ctx, 0); err != nil {
			return err
		}
		if err = s.Kafka.FindTopics(ctx); err != nil {
			return err
		}
		if s.Redis, err = stores.OpenRedis(ctx, &c.Config); err != nil {
			return err
		}
		o := c.options()
		keys := idempotency.New(s.Postgres, o.Logger, o.Metrics)
		graph := process.NewGraphAPI(o, s, keys, request.NewBudget(tenantBodies))
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

// options are what routes are made with: what they log and count is nobody's here.
func (c *tenant) options() *process.Options {
	return &process.Options{
		Config: &c.Config, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}
}

// within opens Postgres, which all routes want, and closes what there is at the end.
func (c *tenant) within(ctx context.Context, work func(*stores.Stores, *visit) error) (err error) {
	v := &visit{mux: chi.NewRouter()}
	if v.workspace, err = c.WorkspaceOrFirst(c.Workspace); err != nil {
		return err
	}
	if err := c.Resolve(); err != nil {
		return err
	}
	s := &stores.Stores{}
	defer s.Close()
	if s.Postgres, err = pgstores.Open(ctx, c.Postgres.URL.Reveal(), tenantConns); err != nil {
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
	v.actor = uuid.NewSHA1(s.Installation.ID, []byte(trail.Author)) // one for all who sit at the command line
	if a := trail.FromContext(ctx); a != nil {
		a.Workspace = &v.workspace
	}
	return trail.Record(ctx, s.Postgres, func() error { return work(s, v) })
}

// serve adds routes.
func (v *visit) serve(routes []route.Route) {
	for _, rt := range routes {
		v.mux.Method(rt.Method, rt.Pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.(*answer).err = rt.Handle(w, r)
		}))
	}
}

// get asks a route that reads.
func (v *visit) get(ctx context.Context, path string, query url.Values) (answer, error) {
	return v.ask(ctx, http.MethodGet, path+"?"+query.Encode(), nil, nil)
}

// post asks a route with a body.
func (v *visit) post(ctx context.Context, path string, body any) (answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	return v.ask(ctx, http.MethodPost, path, raw, nil)
}

// ask asks a route. What it answers goes to out, if there is one and it is no error.
func (v *visit) ask(ctx context.Context, method, address string, body []byte, out io.Writer) (answer, error) {
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
	got := &answer{header: http.Header{}, out: out}
	v.mux.ServeHTTP(got, r)
	return *got, target.FlagError(got.err)
}

// answer is what a route answered.
type answer struct {
	header http.Header
	body   bytes.Buffer
	out    io.Writer // nil: body
	err    error
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. What is no success is an error here.
func (a *answer) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.out != nil {
		return a.out.Write(p)
	}
	return a.body.Write(p)
}

// print prints the answer as it is.
func (a *answer) print(out io.Writer) error {
	return output.JSON(out, json.RawMessage(a.body.Bytes()))
}

// printed prints an answer as JSON, unless it is an error.
func printed(out *output.Writer, got answer, err error) error {
	if err != nil {
		return err
	}
	return got.print(out)
}

// read reads an answer.
func read[T any](a answer) (to T, err error) {
	if err = json.Unmarshal(a.body.Bytes(), &to); err != nil {
		err = fmt.Errorf("reading the answer: %w", err)
	}
	return to, err
}
