package tenant

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/process"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/graph/analysis"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	analysesPath = "/api/analyses"
	// analysisInterval is how often a running analysis is read.
	analysisInterval = 300 * time.Millisecond
)

// withAnalysisRoutes opens the store of the routes of analyses, and runs work.
func (c *tenant) withAnalysisRoutes(ctx context.Context, work func(*session) error) error {
	return c.withStores(ctx, func(s *stores.Stores, v *session) error {
		keys := idempotency.New(s.Postgres, c.options().Logger, prometheus.NewRegistry())
		v.serve(process.AnalysisRoutes(s.Postgres, keys))
		return work(v)
	})
}

// analysisItem is an analysis in an answer.
type analysisItem struct {
	ID                          uuid.UUID
	Algorithm, State            string
	Phase, Property, Error      *string
	Nodes, Edges                int64
	Written, Unchanged, Skipped int64
	CreatedAt                   time.Time
	Result                      *analysis.Result
}

// progress returns the state of an analysis in words.
func (a *analysisItem) progress() string {
	if a.Phase == nil {
		return a.State
	}
	text := fmt.Sprintf("%s, %s, %s", a.State, plural.Count(a.Nodes, "node"), plural.Count(a.Edges, "edge"))
	if a.State == "running" {
		text = strings.Replace(text, a.State, *a.Phase, 1)
	}
	if a.Property != nil {
		text += fmt.Sprintf(", %d written, %d unchanged, %d skipped", a.Written, a.Unchanged, a.Skipped)
	}
	return text
}

// GraphAnalysesCmd lists analyses.
type GraphAnalysesCmd struct{ tenant }

// Run prints the analyses.
func (c *GraphAnalysesCmd) Run(ctx context.Context, out *output.Writer) error {
	list := listing[analysisItem]{
		path: analysesPath, query: url.Values{"limit": {"100"}}, noun: "analysis", nouns: "analyses",
		head: []string{"ID", "ALGORITHM", "CREATED", "STATE"},
		row: func(a *analysisItem) []string {
			return []string{a.ID.String(), a.Algorithm, a.CreatedAt.Format(time.RFC3339), a.progress()}
		},
	}
	return c.withAnalysisRoutes(ctx, func(v *session) error { return list.printWith(ctx, out, &c.tenant, v) })
}

// GraphAnalyzeCmd analyzes a graph.
type GraphAnalyzeCmd struct {
	tenant
	Algorithm    string   `arg:"" enum:"degree,pagerank,components,communities" help:"What is computed: ${enum}."`
	EntityType   []string `help:"Only nodes of this type, and edges between them; repeat it for several: ${entityTypes}." placeholder:"TYPE"`
	RelationType []string `help:"Only edges of this type; repeat it for several." sep:"none" placeholder:"TYPE"`
	Weight       string   `help:"Property of edges that is their weight." placeholder:"KEY"`
	Direction    string   `help:"Edges of a node that count or are followed: out, in or both." placeholder:"DIRECTION"`
	Damping      *float64 `help:"Probability that PageRank follows an edge." placeholder:"0.85"`
	Property     string   `help:"Property of nodes to which the values are written. Default: they are not written." placeholder:"KEY"`
	Detach       bool     `help:"Do not wait until the analysis is done."`
}

// body returns the body of the request.
func (c *GraphAnalyzeCmd) body() map[string]any {
	body := map[string]any{"algorithm": c.Algorithm}
	for name, text := range map[string]string{"weight": c.Weight, "direction": c.Direction, "property": c.Property} {
		if text != "" {
			body[name] = text
		}
	}
	if len(c.EntityType) > 0 {
		body["entityTypes"] = c.EntityType
	}
	if len(c.RelationType) > 0 {
		body["relationTypes"] = c.RelationType
	}
	if c.Damping != nil {
		body["damping"] = *c.Damping
	}
	return body
}

// Run queues the analysis, and prints its progress and its results. If it is interrupted, the analysis continues.
func (c *GraphAnalyzeCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withAnalysisRoutes(ctx, func(v *session) error {
		got, err := v.post(ctx, analysesPath, c.body())
		if err != nil {
			return err
		}
		queued, err := decode[struct{ Data analysisItem }](got)
		if err != nil {
			return err
		}
		trail.AddResult(ctx, queued.Data.ID)
		if c.Detach {
			if c.JSON {
				return got.print(out)
			}
			_, err = fmt.Fprintf(out, "analysis %s is queued\n", queued.Data.ID)
			return err
		}
		return c.follow(ctx, out, v, &queued.Data)
	})
}

// follow prints the progress of an analysis until it ends, and its results.
func (c *GraphAnalyzeCmd) follow(ctx context.Context, out *output.Writer, v *session, item *analysisItem) error {
	printed := ""
	for {
		got, err := v.get(ctx, analysesPath+"/"+item.ID.String(), nil)
		if err != nil {
			return err
		}
		current, err := decode[struct{ Data analysisItem }](got)
		if err != nil {
			return err
		}
		item = &current.Data
		if text := item.progress(); text != printed && !c.JSON {
			if _, err := fmt.Fprintln(out, text); err != nil {
				return err
			}
			printed = text
		}
		switch item.State {
		case "done":
			if c.JSON {
				return got.print(out)
			}
			return printResult(out, item.Result)
		case "failed":
			return fmt.Errorf("the analysis failed: %s", output.TextOr(item.Error, "-"))
		case "cancelled":
			return errors.New("the analysis was cancelled")
		}
		if !sleep.For(ctx, analysisInterval) {
			return context.Cause(ctx)
		}
	}
}

// printResult prints the nodes with the highest values, or the largest groups.
func printResult(out *output.Writer, r *analysis.Result) error {
	var rows [][]string
	if r.GroupCount != nil {
		rows = append(rows, []string{"GROUP", "SIZE", "A NODE"})
		for _, g := range r.Groups {
			rows = append(rows, []string{strconv.Itoa(g.Group), strconv.Itoa(g.Size), g.NodeID.String()})
		}
	} else {
		rows = append(rows, []string{"VALUE", "NODE"})
		for _, n := range r.Top {
			rows = append(rows, []string{strconv.FormatFloat(n.Value, 'g', 6, 64), n.NodeID.String()})
		}
	}
	if err := output.Table(out, rows); err != nil {
		return err
	}
	if r.GroupCount != nil {
		if _, err := fmt.Fprintf(out, "groups: %d\n", *r.GroupCount); err != nil {
			return err
		}
	}
	if r.Modularity != nil {
		_, err := fmt.Fprintf(out, "modularity: %.4f\n", *r.Modularity)
		return err
	}
	return nil
}
