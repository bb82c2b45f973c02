// Package promql serves the HTTP API of Prometheus for reading: queries in PromQL, series, labels and
// metadata. It parses parameters and writes answers and errors as Prometheus does. Prometheus' own engine
// evaluates the queries, over the storage of package promstore.
//
// Parameters that are not known are ignored, as Prometheus does.
package promql

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/internal/services/promengine"
	"github.com/livegraph/livegraph/internal/services/promstore"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// EngineVersion is the version of Prometheus whose engine evaluates the queries.
const EngineVersion = "3.15.1"

// maxPoints is the maximum number of points of a series in the answer to a range query, as in Prometheus.
const maxPoints = 11_000

// When functions over range vectors are computed by the store instead of the engine.
const (
	WindowsAuto   = "auto"   // if the query reads too many samples for the engine
	WindowsAlways = "always" // if it can be done
)

// Deps are the dependencies of the routes.
type Deps struct {
	Store    *promstore.Store
	Metadata metadataStore
	Rules    ruleStore
	Version  string // of the build
	// MaxSamples is the maximum number of samples of a query in memory.
	MaxSamples int
	// Windows is when functions over range vectors are computed by the store: WindowsAuto or WindowsAlways.
	Windows string
	// QueryTimeout is the maximum duration of a query.
	QueryTimeout time.Duration
	Logger       *slog.Logger          // nil: the default logger
	Metrics      prometheus.Registerer // nil: no metrics are registered
}

// metadataStore reads the descriptions of metrics; see storage/postgres/registry.
type metadataStore interface {
	// MetricMetadata returns what Prometheus sent of the workspace's metrics, or of one.
	MetricMetadata(ctx context.Context, workspace uuid.UUID, metric string, limit int) ([]metricmetadata.Metadata, error)
	// DescribedMetrics returns the sources that have descriptions of their metrics.
	DescribedMetrics(ctx context.Context, workspace uuid.UUID, limit int) ([]registry.SourceLabel, error)
}

type api struct {
	Deps
	engine  *promql.Engine
	options promengine.Options
	places  *places
}

// Prefix is the path of the API. A data source of Grafana has it at the end of its URL.
const Prefix = "/prometheus"

const basePath = Prefix + "/api/v1"

// Routes returns the routes.
func Routes(deps Deps) []route.Route {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	a := &api{Deps: deps, places: newPlaces(), options: promengine.Options{
		MaxSamples: deps.MaxSamples, Timeout: deps.QueryTimeout, Logger: deps.Logger,
	}}
	a.engine = promengine.New(a.options)
	a.register(deps.Metrics)
	dialect := &route.Dialect{Prefix: Prefix, WorkspaceOptional: true, Key: key, Errors: errorDialect()}
	read := func(method, path string, handle handler) route.Route {
		return route.Route{
			Method: method, Pattern: basePath + path, Scopes: []request.Scope{request.ReadLiveData}, Dialect: dialect,
			Handle: func(w http.ResponseWriter, r *http.Request) error { return a.handle(w, r, handle) },
		}
	}
	routes := []route.Route{
		read(http.MethodGet, "/label/{name}/values", a.labelValues),
		read(http.MethodGet, "/metadata", a.metadata),
		read(http.MethodGet, "/rules", a.rules),
		read(http.MethodGet, "/alerts", a.alerts),
		read(http.MethodGet, "/status/buildinfo", a.buildInfo),
	}
	for path, handle := range map[string]handler{
		"/query": a.query, "/query_range": a.queryRange, "/series": a.series, "/labels": a.labels,
		"/format_query": a.formatQuery, "/query_exemplars": a.queryExemplars,
	} {
		routes = append(routes, read(http.MethodGet, path, handle), read(http.MethodPost, path, handle))
	}
	return append(routes, route.Route{
		Method: http.MethodPost, Pattern: basePath + "/read", Scopes: []request.Scope{request.ReadLiveData},
		Dialect: dialect, Handle: a.remoteRead,
	})
}

// key returns the key in an Authorization header: of scheme Bearer, or the password of scheme Basic.
func key(authorization string) (text string, ok bool) {
	scheme, text, _ := strings.Cut(authorization, " ")
	if strings.EqualFold(scheme, "Basic") {
		return request.BasicPassword(text)
	}
	return strings.TrimLeft(text, " "), strings.EqualFold(scheme, "Bearer")
}

// call is a request with its parameters.
type call struct {
	*http.Request
	form      form
	workspace uuid.UUID
	now       time.Time
}

// handler answers a request. release is called after the answer is sent; it may be nil.
type handler func(ctx context.Context, c *call) (result answer, release func(), err error)

func (a *api) handle(w http.ResponseWriter, r *http.Request, handle handler) error {
	parameters, err := readForm(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	c := &call{Request: r, form: parameters, workspace: request.PrincipalOf(r.Context()).Workspace, now: time.Now()}
	result, release, err := handle(ctx, c)
	if release != nil {
		defer release()
	}
	if err != nil {
		return a.options.PublicError(err)
	}
	writeAnswer(w, &result)
	return nil
}
