package main

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
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres"
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
	target    `embed:""`
	Workspace *uuid.UUID `help:"Workspace; default: that of first-run.json." placeholder:"ID"`
	JSON      bool       `help:"Print JSON: the answer of the interface."`
}

// visit is a tenant with its stores at hand.
type visit struct {
	workspace uuid.UUID
	actor     uuid.UUID
	mux       *chi.Mux
}

// reads opens what the routes that read want, and runs work.
func (c *tenant) reads(ctx context.Context, work func(*visit) error) error {
	return c.within(ctx, func(p *process, v *visit) (err error) {
		if p.clickhouse, err = openClickHouse(ctx, p.cfg); err != nil {
			return err
		}
		if p.embedders, err = openEmbedders(c.Embedder); err != nil {
			return err
		}
		if p.milvus, err = openMilvus(c.Milvus); err != nil {
			return err
		}
		v.serve(queries.Routes(queries.Deps{
			Graph: p.postgres, Journal: p.postgres, TokenKey: p.install.CheckpointKey, QueryTimeout: c.API.QueryTimeout,
		}))
		v.serve(p.searchRoutes())
		v.serve(livedata.Routes(livedata.Deps{
			Sources: p.postgres, Series: p.postgres, Points: timeseries.New(p.clickhouse), Marks: p.postgres, Dead: p.postgres,
			TokenKey: p.install.CheckpointKey, QueryTimeout: c.API.QueryTimeout,
		}))
		return work(v)
	})
}

// writes opens what the graph's routes want, those that write included, and runs work.
func (c *tenant) writes(ctx context.Context, work func(*visit) error) error {
	return c.within(ctx, func(p *process, v *visit) (err error) {
		if p.kafka, err = c.openLog(ctx, 0); err != nil {
			return err
		}
		if err = p.kafka.FindTopics(ctx); err != nil {
			return err
		}
		if p.redis, err = dialRedis(ctx, p.cfg); err != nil {
			return err
		}
		p.repeats = idempotency.New(p.postgres, p.logger, p.metrics)
		v.serve(p.graphRoutes(request.NewBudget(tenantBodies)))
		waiting, stop := context.WithCancel(ctx)
		var background sync.WaitGroup
		background.Go(func() { _ = p.replies.Run(waiting) })
		background.Go(func() { _ = p.waiter.Run(waiting) })
		defer background.Wait()
		defer stop()
		return work(v)
	})
}

// within opens Postgres, which all routes want, and closes what there is at the end.
func (c *tenant) within(ctx context.Context, work func(*process, *visit) error) (err error) {
	v := &visit{mux: chi.NewRouter()}
	if v.workspace, err = c.workspace(c.Workspace); err != nil {
		return err
	}
	if err := c.resolve(); err != nil {
		return err
	}
	p := &process{cfg: &c.Config, logger: slog.New(slog.DiscardHandler), metrics: prometheus.NewRegistry()}
	defer p.close()
	if p.postgres, err = postgres.Open(ctx, c.Postgres.URL.Reveal(), tenantConns); err != nil {
		return err
	}
	if p.install, err = p.postgres.Installation(ctx); err != nil {
		return err
	}
	found, err := p.postgres.WorkspacesByID(ctx, []uuid.UUID{v.workspace})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("--workspace: there is no workspace %s; `livegraph workspaces list` shows them", v.workspace)
	}
	v.actor = uuid.NewSHA1(p.install.ID, []byte(createdByCLI)) // one for all who sit at the command line
	if a := actOf(ctx); a != nil {
		a.workspace = &v.workspace
	}
	return note(ctx, p.postgres, func() error { return work(p, v) })
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
	return *got, flagError(got.err)
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
	return printJSON(out, json.RawMessage(a.body.Bytes()))
}

// printed prints an answer as JSON, unless it is an error.
func printed(out *output, got answer, err error) error {
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
