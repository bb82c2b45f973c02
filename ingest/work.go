package ingest

import (
	"fmt"
	"time"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/jsonpoints"
	"github.com/livegraph/livegraph/ingest/parse/lineprotocol"
	"github.com/livegraph/livegraph/ingest/parse/otlp"
	"github.com/livegraph/livegraph/ingest/parse/remotewrite"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Limits of the buffer pool.
const (
	// maxPooledBytes is the maximum size of a request's buffers that are returned to the pool.
	maxPooledBytes = 64 << 20
	// pooledBytes is the maximum total size of the pooled buffers, and pooledTime the time after which unused ones are
	// released.
	pooledBytes = 160 << 20
	pooledTime  = 30 * time.Second
)

// work is the state of a request: the parsers, and the batch that they fill. It is reused, so that buffers do not grow
// again for each request.
type work struct {
	format    Format
	precision string // of Lines
	batch     *block.Batch
	json      *jsonpoints.Parser
	lines     *lineprotocol.Parser
	prom      *remotewrite.Parser
	otlp      *otlp.Parser
}

func newWork(labels *block.LabelCache, resourceTags []string) *work {
	return &work{
		batch: block.NewBatch(labels), json: jsonpoints.New(labels), lines: lineprotocol.New(labels),
		prom: remotewrite.New(labels), otlp: otlp.New(labels, resourceTags),
	}
}

// begin prepares w for a request.
func (w *work) begin(format Format, req *Request) {
	w.format, w.precision = format, req.Precision
	w.batch.Begin(req.Workspace, req.ReceivedAt, req.Body)
}

// end removes all references to the request.
func (w *work) end() {
	w.batch.End()
	w.json.Reset()
	w.lines.Reset()
	w.prom.Reset()
	w.otlp.Reset()
}

// parse reads the request's body into the batch. It returns an error only if the whole request is refused. Errors of
// single points are counted in the batch's tally.
func (w *work) parse(maxPoints int) error {
	switch w.format {
	case JSON:
		return w.json.Parse(w.batch, maxPoints)
	case NDJSON:
		return w.json.ParseLines(w.batch, maxPoints)
	case RemoteWrite:
		return w.prom.Parse(w.batch, maxPoints)
	case RemoteWrite2:
		return w.prom.ParseVersion2(w.batch, maxPoints)
	case OTLP:
		return w.otlp.Parse(w.batch, maxPoints)
	case OTLPJSON:
		return w.otlp.ParseJSON(w.batch, maxPoints)
	case Lines:
		return w.lines.Parse(w.batch, w.precision, maxPoints)
	default:
		return fault.Wrap(fmt.Errorf("points in the format %s", w.format), fault.Internal, "")
	}
}
