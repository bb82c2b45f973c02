package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// badQueries returns parameters of a query, with the name of the invalid parameter, or "" for
// a valid query.
func badQueries(node string) map[string]string {
	return map[string]string{
		"aggregation=median": "aggregation", "aggregation=increase": "aggregation", "aggregation=": "aggregation",
		"aggregation=AVG": "aggregation", "aggregation=avg,avg": "aggregation", "aggregation=avg,": "aggregation",
		"aggregation=avg&interval=0s": "interval", "aggregation=avg&interval=-1m": "interval",
		"aggregation=avg&interval=1ns": "interval", "aggregation=avg&interval=500ms": "interval",
		"aggregation=avg&interval=31d": "interval",
		"interval=auto":                "interval", "aggregation=avg&interval=AUTO": "interval",
		"aggregation=avg&interval=": "interval", "aggregation=avg&interval=1": "interval",
		"aggregation=avg&interval=m": "interval", "aggregation=avg&interval=1.5h": "interval",
		"aggregation=avg&interval=99999999999999999999s": "interval",
		"aggregation=avg&interval=1y":                    "interval", "interval=1m": "interval", "groupBy=metric": "groupBy",
		"aggregation=avg&groupBy=source": "groupBy", "aggregation=avg&groupBy=none,metric": "groupBy",
		"aggregation=avg&groupBy=metric,metric": "groupBy", "aggregation=avg&groupBy=tag.": "groupBy",
		"aggregation=avg&groupBy=": "groupBy", "aggregation=avg&fill=null": "fill",
		"aggregation=avg&interval=1m&fill=zero": "fill",
		"aggregation=avg&interval=1m&fill=NaN":  "fill", "aggregation=avg&interval=1m&fill=0x1p4": "fill",
		"aggregation=avg&interval=1m&fill=1e400": "fill", "aggregation=avg&interval=1m&fill=": "fill",
		"aggregation=avg&interval=1m&fill=%2B1": "fill",
		"timezone=Mars/Olympus":                 "timezone", "timezone=": "timezone", "timezone=Local": "timezone",
		"timezone=../../etc/passwd": "timezone", "timezone=%2Fetc%2Flocaltime": "timezone",
		"from=2026-02-30T00:00:00Z": "from", "from=2026-01-01T23:59:60Z": "from", "from=2026-01-01T00:00:00": "from",
		"from=2026-01-01": "from", "from=10000-01-01T00:00:00Z": "from", "from=2026-01-01T00:00:00%2B25:00": "from",
		"from=2026-01-01T00:00:00+01:00": "from", "from=yesterday": "from", "from=": "from", "from=-": "from",
		"from=-5": "from", "from=-0m": "from", "from=1e3": "from", "from=1.5": "from", "from=-1.5h": "from",
		"from=9223372036854775807":  "from",
		"from=99999999999999999999": "from", "from=1795246800000000000": "from", "from=now": "", "from=-1h&to=-2h": "from",
		"from=2100-01-01T00:00:00Z": "from", "to=x": "to", "order=up": "order", "order=": "order", "latest=1": "latest",
		"latest=yes":                  "latest",
		"latest=true&aggregation=avg": "latest", "latest=true&to=now": "to", "epoch=s": "epoch", "format=xml": "format",
		"pointsLimit=0": "pointsLimit", "pointsLimit=1000001": "pointsLimit", "pointsLimit=-1": "pointsLimit",
		"pointsLimit=1e3": "pointsLimit",
		"sourceId=x":      "sourceId", "sourceId=": "sourceId", "nodeId=x": "nodeId",
		"nodeId=" + node + "&nodeId=" + node: "nodeId", "source=a&source=b": "source", "limit=0": "limit",
		"offset=-1": "offset", "aggregate=avg": "aggregate",
		"downsample=avg": "downsample", "downsample=": "downsample", "downsample=LTTB": "downsample",
		"downsample=lttb&aggregation=avg": "downsample", "downsample=lttb&latest=true": "downsample",
		"downsample=lttb&interval=1m": "interval",
		"downsample=lttb&maxPoints=1": "maxPoints", "downsample=lttb&maxPoints=1000001": "maxPoints",
		"downsample=lttb&maxPoints=": "maxPoints", "downsample=lttb&maxPoints=1e3": "maxPoints",
		"downsample=lttb&cursor=x": "cursor",
		"maxPoints=10":             "maxPoints", "aggregation=avg&interval=1m&maxPoints=10": "maxPoints",
		"latest=true&maxPoints=10": "maxPoints", "tag.=x": "tag.", "checkpoint=x": "checkpoint", "metric=%00": "metric",
		"from=-1h&from=-2h": "from",
	}
}

func TestBadQueryParametersNameTheParameter(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for query, field := range badQueries(f.node) {
		a := f.Do(t, contract.Request{Path: "/api/live-data/query?" + query})
		if field == "" {
			require.Equal(t, http.StatusOK, a.Status, query)
			continue
		}
		require.Equal(t, http.StatusBadRequest, a.Status, "%s: %s", query, a.Body)
		require.Equal(t, validation, a.Error.Code)
		require.Equal(t, field, a.Error.Details["field"], query)
		require.NotEmpty(t, a.Error.Details["reason"], query)
	}
	a := f.Do(t, contract.Request{Path: "/api/live-data/query?aggregation=increase"})
	require.Equal(
		t, []any{"avg", "min", "max", "sum", "count", "first", "last", "stddev", "p50", "p90", "p95", "p99", "rate", "delta"},
		a.Error.Details["allowed"],
	)
	a = f.Do(t, contract.Request{Path: "/api/live-data/query?from=2026-01-01T00:00:00+01:00"})
	require.Contains(t, a.Error.Message, "%2B")
}
