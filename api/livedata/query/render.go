package query

import (
	"bufio"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

const (
	// renderRows is the maximum number of points of a chunk.
	renderRows = 4096
	// rowBytes is the approximate size of a point of one column, in bytes.
	rowBytes = 48
)

// chunk is a part of an answer: points of one group, with the bytes before and after them.
type chunk struct {
	prefix, suffix []byte
	points         *timeseries.Points
	from, to       int
}

// chunksOf cuts a group's points into parts, of which there is at least one.
func chunksOf(points *timeseries.Points, before, after []byte) []chunk {
	rows := 0
	if points != nil {
		rows = len(points.TS)
	}
	chunks := make([]chunk, 0, rows/renderRows+1)
	for from := 0; from < rows || from == 0; from += renderRows {
		chunks = append(chunks, chunk{points: points, from: from, to: min(from+renderRows, rows)})
	}
	chunks[0].prefix, chunks[len(chunks)-1].suffix = before, after
	return chunks
}

// appendChunk appends a chunk: points as [timestamp, value, …], separated by commas.
func (r *run) appendChunk(dst []byte, p *chunk) []byte {
	dst = append(dst, p.prefix...)
	var clock value.Clock
	for i := p.from; i < p.to; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = clock.AppendTimestamp(append(dst, '['), p.points.TS[i], r.q.epoch)
		for _, column := range p.points.Columns {
			dst = value.AppendCell(append(dst, ','), column, i)
		}
		dst = append(dst, ']')
	}
	return append(dst, p.suffix...)
}

// writeChunks writes parts in their order. Of many points it renders as many parts at a time as
// there are processors: to write numbers takes about as long as ClickHouse takes to find them.
func (r *run) writeChunks(out *bufio.Writer, chunks []chunk) {
	rows := 0
	for i := range chunks {
		rows += chunks[i].to - chunks[i].from
	}
	buffers := make([][]byte, 1)
	if rows > renderRows {
		buffers = make([][]byte, runtime.GOMAXPROCS(0))
	}
	for begin := 0; begin < len(chunks); begin += len(buffers) {
		batch := chunks[begin:min(begin+len(buffers), len(chunks))]
		r.renderConcurrently(batch, buffers)
		for i := range batch {
			if _, err := out.Write(buffers[i]); err != nil {
				return // the client is gone
			}
		}
	}
}

// renderConcurrently renders parts beside each other, into the buffers.
func (r *run) renderConcurrently(chunks []chunk, buffers [][]byte) {
	one := func(i int) { buffers[i] = r.render(buffers[i], &chunks[i]) }
	wait := startConcurrently(len(chunks)-1, func(i int) { one(i + 1) })
	defer wait()
	one(0)
}

// startConcurrently starts count calls of do in goroutines. The caller must call wait, which
// waits for all of them. If one of them panicked, wait panics in the caller's goroutine, with
// the stack of the original panic in the message.
func startConcurrently(count int, do func(i int)) (wait func()) {
	var running sync.WaitGroup
	panics := make([]any, count)
	for i := range count {
		running.Go(func() {
			defer func() {
				if problem := recover(); problem != nil {
					panics[i] = fmt.Sprintf("%v, at %s", problem, debug.Stack())
				}
			}()
			do(i)
		})
	}
	return func() {
		running.Wait()
		for _, problem := range panics {
			if problem != nil {
				panic(problem)
			}
		}
	}
}

// render renders a chunk into the buffer, which it overwrites.
func (r *run) render(buffer []byte, p *chunk) []byte {
	if buffer == nil {
		buffer = make([]byte, 0, len(p.prefix)+(p.to-p.from)*rowBytes+len(p.suffix))
	}
	return r.appendChunk(buffer[:0], p)
}
