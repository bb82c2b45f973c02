package promql

import (
	"context"
	"math"
	"time"

	jsoniter "github.com/json-iterator/go"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/jsonutil"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/promengine"
	"github.com/livegraph/livegraph/internal/services/promstore"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// maxSelectors is the maximum number of selectors in a query of exemplars. Each is a search in the registry.
const maxSelectors = 100

// queryExemplars lists the exemplars of the series that a query selects. As in Prometheus, the functions of the query
// do not matter, and an answer to a query without selectors has no data.
func (a *api) queryExemplars(ctx context.Context, c *call) (result answer, release func(), err error) {
	start, err := c.form.time("start", time.UnixMilli(0))
	if err != nil {
		return result, nil, err
	}
	end, err := c.form.time("end", time.UnixMilli(math.MaxInt64))
	if err != nil {
		return result, nil, err
	}
	if end.Before(start) {
		return result, nil, fault.New(fault.Malformed, "end timestamp must not be before start timestamp").
			With("field", "end")
	}
	expr, err := promengine.Parse(c.form.get("query"))
	if err != nil {
		return result, nil, fault.New(fault.Malformed, err.Error()).With("field", "query")
	}
	selectors := parser.ExtractSelectors(expr)
	switch {
	case len(selectors) == 0:
		return result, nil, nil
	case len(selectors) > maxSelectors:
		return result, nil, invalidParameter("query", "must have at most 100 selectors")
	}
	leave, err := a.places.acquire(ctx, c.workspace)
	if err != nil {
		return result, nil, err
	}
	defer leave()
	found, release, err := a.Store.Query(c.workspace, c.now).Exemplars(ctx, selectors, start.UnixMilli(), end.UnixMilli())
	if err != nil {
		return result, nil, err
	}
	result.data = exemplarList(found)
	return result, release, nil
}

type exemplarList []promstore.Exemplars

func (l exemplarList) encode(out *jsoniter.Stream) {
	writeList(out, len(l), func(i int) {
		out.WriteRaw(`{"seriesLabels":`)
		writeLabels(out, l[i].Labels)
		out.WriteRaw(`,"exemplars":`)
		writeList(out, len(l[i].List), func(j int) { writeExemplar(out, &l[i].List[j]) })
		out.WriteObjectEnd()
	})
}

func writeExemplar(out *jsoniter.Stream, x *timeseries.Exemplar) {
	out.WriteRaw(`{"labels":` + x.Labels + `,"value":`) // the labels are stored as JSON
	jsonutil.MarshalFloat(x.Value, out)
	out.WriteRaw(`,"timestamp":`)
	jsonutil.MarshalTimestamp(x.TS/1000, out)
	out.WriteObjectEnd()
}
