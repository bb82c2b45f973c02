package ingest

import (
	"fmt"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// What is kept for the next requests.
const (
	// maxPooledBytes is how large the buffers of a request may be to be kept.
	maxPooledBytes = 64 << 20
	// pooledBytes is how much memory those that wait may take together, and pooledTime
	// how long they are kept when no request comes.
	pooledBytes = 160 << 20
	pooledTime  = 30 * time.Second
)

// work is what a request is worked on with: the parsers, and the batch that they fill. It
// is kept and used again, so that buffers do not grow again for each request.
type work struct {
	format    Format
	precision string // of Lines
	batch     *batch
	json      *parser
	lines     *lineParser
	prom      *promParser
}

func newWork(prom *promCache) *work {
	return &work{batch: newBatch(), json: newParser(), lines: newLineParser(), prom: newPromParser(prom)}
}

// begin prepares for a request.
func (w *work) begin(format Format, req *Request) {
	w.format, w.precision = format, req.Precision
	w.batch.begin(req.Workspace, req.ReceivedAt, req.Body)
}

// end forgets the request.
func (w *work) end() {
	w.batch.end()
	w.json.reset()
	w.lines.reset()
	w.prom.reset()
}

// parse reads the request's body into the batch. The error is one of the whole request;
// what is wrong with single points is in the batch's tally.
func (w *work) parse(maxPoints int) error {
	switch w.format {
	case JSON:
		return w.json.parse(w.batch, maxPoints)
	case NDJSON:
		return w.json.parseNDJSON(w.batch, maxPoints)
	case RemoteWrite:
		return w.prom.parse(w.batch, maxPoints)
	case Lines:
		return w.lines.parse(w.batch, w.precision, maxPoints)
	default:
		return fault.Wrap(fmt.Errorf("points in the format %s", w.format), fault.Internal, "")
	}
}
