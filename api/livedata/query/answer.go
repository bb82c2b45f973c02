package query

import (
	"bufio"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/reply"
)

// writeAnswer responds with the groups and their points. There can be a million points, so
// they are streamed, and their JSON is never in memory as a whole.
func (r *run) writeAnswer(w http.ResponseWriter, request *http.Request) error {
	columns := r.q.columns()
	var chunks []chunk
	for i, g := range r.groups {
		head, err := json.Marshal(value.GroupHead{
			SourceID: g.source, SourceName: g.sourceName, Metric: g.metric, Kind: value.KindName(g.kind), Unit: g.unit,
			Tags: g.tags, Columns: columns,
		}, json.Deterministic(true))
		if err != nil {
			return err
		}
		prefix := make([]byte, 0, len(head)+16)
		if i > 0 {
			prefix = append(prefix, ',')
		}
		prefix = append(prefix, head[:len(head)-1]...) // without its brace
		chunks = append(chunks, chunksOf(r.points[i], append(prefix, `,"points":[`...), []byte("]}"))...)
	}
	reply.StreamList(w, request, r.meta, func(out *bufio.Writer) { r.writeChunks(out, chunks) })
	return nil
}
