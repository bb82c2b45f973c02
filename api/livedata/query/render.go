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
	// renderRows is how many points are rendered at a time.
	renderRows = 4096
	// rowBytes is about what a point of one column takes.
	rowBytes = 48
)

// part is some of an answer: points of one group, with what comes before and after them.
type part struct {
	before, after []byte
	points        *timeseries.Points
	from, to      int
}

// partsOf cuts a group's points into parts, of which there is at least one.
func partsOf(points *timeseries.Points, before, after []byte) []part {
	rows := 0
	if points != nil {
		rows = len(points.TS)
	}
	parts := make([]part, 0, rows/renderRows+1)
	for from := 0; from < rows || from == 0; from += renderRows {
		parts = append(parts, part{points: points, from: from, to: min(from+renderRows, rows)})
	}
	parts[0].before, parts[len(parts)-1].after = before, after
	return parts
}

// appendPart appends points as [timestamp, value, …], with commas between them.
func (r *run) appendPart(dst []byte, p *part) []byte {
	dst = append(dst, p.before...)
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
	return append(dst, p.after...)
}

// writeParts writes parts in their order. Of many points it renders as many parts at a time as
// there are processors: to write numbers takes about as long as ClickHouse takes to find them.
func (r *run) writeParts(out *bufio.Writer, parts []part) {
	rows := 0
	for i := range parts {
		rows += parts[i].to - parts[i].from
	}
	buffers := make([][]byte, 1)
	if rows > renderRows {
		buffers = make([][]byte, runtime.GOMAXPROCS(0))
	}
	for begin := 0; begin < len(parts); begin += len(buffers) {
		some := parts[begin:min(begin+len(buffers), len(parts))]
		r.renderBeside(some, buffers)
		for i := range some {
			if _, err := out.Write(buffers[i]); err != nil {
				return // the client is gone
			}
		}
	}
}

// renderBeside renders parts beside each other, into the buffers.
func (r *run) renderBeside(parts []part, buffers [][]byte) {
	one := func(i int) { buffers[i] = r.render(buffers[i], &parts[i]) }
	wait := beside(len(parts)-1, func(i int) { one(i + 1) })
	defer wait()
	one(0)
}

// beside does so many things, told apart by an index, beside each other and their caller, who
// has to wait for all of them. A panic is the caller's then, who answers for it; so that its
// place is known, it says it.
func beside(things int, do func(i int)) (wait func()) {
	var doing sync.WaitGroup
	panics := make([]any, things)
	for i := range things {
		doing.Go(func() {
			defer func() {
				if problem := recover(); problem != nil {
					panics[i] = fmt.Sprintf("%v, at %s", problem, debug.Stack())
				}
			}()
			do(i)
		})
	}
	return func() {
		doing.Wait()
		for _, problem := range panics {
			if problem != nil {
				panic(problem)
			}
		}
	}
}

// render renders a part into the buffer from its beginning on.
func (r *run) render(buffer []byte, p *part) []byte {
	if buffer == nil {
		buffer = make([]byte, 0, len(p.before)+(p.to-p.from)*rowBytes+len(p.after))
	}
	return r.appendPart(buffer[:0], p)
}
