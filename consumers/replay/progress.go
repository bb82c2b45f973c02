package replay

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// rateOver is the time over which rates are taken at least, and rateWeight what the
// newest counts among those of before.
const (
	rateOver   = time.Second
	rateWeight = 0.5
)

// progress is how far a job is, over all its runs.
type progress struct {
	jobs      *stores.DB
	id, claim uuid.UUID
	metrics   *counters

	trimmed func(partition int32, below int64) int64 // of this run
	stored  func() int64                             // rows of this run

	mu         sync.Mutex
	partitions []jobs.ReplayPartition // as of now
	before     []jobs.ReplayPartition // as of the run's beginning
	rowsBefore int64
	refused    int64
	rates      rates
	shown      int64 // rows and records that the metrics have
	shownDone  int64
}

// rates are those of late.
type rates struct {
	at            time.Time
	records, rows int64 // sums at that time
	perSecond     [2]float64
}

func newProgress(job jobs.Replay, claim uuid.UUID, jobs *stores.DB, m *counters) *progress {
	p := &progress{
		jobs: jobs, id: job.ID, claim: claim, metrics: m, partitions: job.Partitions, rowsBefore: job.Rows,
		refused: job.Refused,
		trimmed: func(int32, int64) int64 { return 0 }, stored: func() int64 { return 0 },
	}
	p.before = append(p.before, job.Partitions...)
	_, done, _ := job.Progress()
	p.shownDone = done
	p.rates = rates{at: time.Now(), records: done, rows: job.Rows}
	m.running.Set(1)
	return p
}

// left returns what there is still to read.
func (p *progress) left() map[int32]kafka.Span {
	spans := map[int32]kafka.Span{}
	for _, part := range p.partitions {
		spans[part.Partition] = kafka.Span{From: part.Next, To: part.To}
	}
	return spans
}

// rows returns the rows of all runs.
func (p *progress) rows() int64 { return p.rowsBefore + p.stored() }

func (p *progress) refuse(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused += n
	p.metrics.refused.Add(float64(n))
}

// advance notes that partitions are stored up to some offsets.
func (p *progress) advance(ctx context.Context, next map[int32]int64) error {
	return p.jobs.AdvanceReplay(ctx, p.id, p.claim, p.take(next))
}

// complete reports that everything is read: what is not stored was trimmed.
func (p *progress) complete() {
	next := map[int32]int64{}
	for _, part := range p.partitions {
		next[part.Partition] = part.To
	}
	p.take(next)
}

// take takes up how far partitions are and gives all that is to be noted.
func (p *progress) take(next map[int32]int64) jobs.ReplayProgress {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.partitions {
		part := &p.partitions[i]
		if at, ok := next[part.Partition]; ok {
			part.Next = max(part.Next, at)
			part.Trimmed = p.before[i].Trimmed + p.trimmed(part.Partition, part.Next)
		}
	}
	job := jobs.Replay{Partitions: p.partitions}
	total, done, _ := job.Progress()
	rows := p.rows()
	p.rates.observe(time.Now(), done, rows)
	p.metrics.advance(done-p.shownDone, rows-p.rowsBefore-p.shown, total, done)
	p.shownDone, p.shown = done, rows-p.rowsBefore
	return p.note(p.rates.perSecond)
}

func (p *progress) note(perSecond [2]float64) jobs.ReplayProgress {
	return jobs.ReplayProgress{
		Partitions: append([]jobs.ReplayPartition(nil), p.partitions...), Rows: p.rows(), Refused: p.refused,
		RecordsRate: perSecond[0], RowsRate: perSecond[1],
	}
}

// finish ends the job.
func (p *progress) finish(ctx context.Context, state jobs.ReplayState, problem string) error {
	ctx, cancel := context.WithTimeout(ctx, noteLimit)
	defer cancel()
	p.mu.Lock()
	note := p.note([2]float64{})
	p.mu.Unlock()
	return p.jobs.FinishReplay(ctx, p.id, p.claim, note, state, problem)
}

// over reports that this run works at the job no more.
func (p *progress) over() { p.metrics.running.Set(0) }

// observe takes up the sums at a time.
func (r *rates) observe(now time.Time, records, rows int64) {
	took := now.Sub(r.at)
	if took < rateOver {
		return
	}
	for i, n := range []int64{records - r.records, rows - r.rows} {
		newest := float64(n) / took.Seconds()
		if r.perSecond[i] == 0 {
			r.perSecond[i] = newest
		} else {
			r.perSecond[i] += rateWeight * (newest - r.perSecond[i])
		}
	}
	r.at, r.records, r.rows = now, records, rows
}
