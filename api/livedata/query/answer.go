package query

import (
	"bufio"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/reply"
)

// writeAnswer answers with the groups and their points. There can be a million of
// them, so they are written as they go and are never in memory as JSON.
func (r *run) writeAnswer(w http.ResponseWriter, request *http.Request) error {
	columns := r.q.columns()
	var parts []part
	for i, g := range r.groups {
		head, err := json.Marshal(value.GroupHead{
			SourceID: g.source, SourceName: g.sourceName, Metric: g.metric, Kind: value.KindName(g.kind), Unit: g.unit,
			Tags: g.tags, Columns: columns,
		}, json.Deterministic(true))
		if err != nil {
			return err
		}
		before := make([]byte, 0, len(head)+16)
		if i > 0 {
			before = append(before, ',')
		}
		before = append(before, head[:len(head)-1]...) // without its brace
		parts = append(parts, partsOf(r.points[i], append(before, `,"points":[`...), []byte("]}"))...)
	}
	reply.StreamList(w, request, r.meta, func(out *bufio.Writer) { r.writeParts(out, parts) })
	return nil
}
