package replay

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// minRateInterval is the minimum time over which a rate is computed, and rateWeight the weight of
// the newest rate in the moving average.
const (
	minRateInterval = time.Second
	rateWeight      = 0.5
)

// progress is the progress of a job over all its runs.
type progress struct {
	jobs      *jobs.Store
	id, claim uuid.UUID
	metrics   *counters

	trimmed func(partition int32, below int64) int64 // of this run
	stored  func() int64                             // rows of this run

	mu              sync.Mutex
	partitions      []jobs.ReplayPartition // current
	before          []jobs.ReplayPartition // at the start of the run
	rowsBefore      int64
	refused         int64
	rates           rates
	reportedRows    int64 // rows of this run that were added to the metrics
	reportedRecords int64 // records of the job that were added to the metrics
}

// rates are moving averages.
type rates struct {
	at            time.Time
	records, rows int64 // sums at that time
	perSecond     [2]float64
}

func newProgress(job jobs.Replay, claim uuid.UUID, store *jobs.Store, m *counters) *progress {
	p := &progress{
		jobs: store, id: job.ID, claim: claim, metrics: m, partitions: job.Partitions, rowsBefore: job.Rows,
		refused: job.Refused,
		trimmed: func(int32, int64) int64 { return 0 }, stored: func() int64 { return 0 },
	}
	p.before = append(p.before, job.Partitions...)
	_, done, _ := job.Progress()
	p.reportedRecords = done
	p.rates = rates{at: time.Now(), records: done, rows: job.Rows}
	m.running.Set(1)
	return p
}

// remaining returns the ranges that are still to be read.
func (p *progress) remaining() map[int32]kafka.Span {
	spans := map[int32]kafka.Span{}
	for _, part := range p.partitions {
		spans[part.Partition] = kafka.Span{From: part.Next, To: part.To}
	}
	return spans
}

// rows returns the number of rows of all runs.
func (p *progress) rows() int64 { return p.rowsBefore + p.stored() }

func (p *progress) refuse(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused += n
	p.metrics.refused.Add(float64(n))
}

// advance stores in the job the offsets up to which partitions are stored.
func (p *progress) advance(ctx context.Context, next map[int32]int64) error {
	return p.jobs.AdvanceReplay(ctx, p.id, p.claim, p.update(next))
}

// complete sets all partitions to their end: everything was read, and the rest was trimmed.
func (p *progress) complete() {
	next := map[int32]int64{}
	for _, part := range p.partitions {
		next[part.Partition] = part.To
	}
	p.update(next)
}

// update sets the offsets of partitions, and returns the progress to store.
func (p *progress) update(next map[int32]int64) jobs.ReplayProgress {
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
	p.metrics.advance(done-p.reportedRecords, rows-p.rowsBefore-p.reportedRows, total, done)
	p.reportedRecords, p.reportedRows = done, rows-p.rowsBefore
	return p.snapshot(p.rates.perSecond)
}

func (p *progress) snapshot(perSecond [2]float64) jobs.ReplayProgress {
	return jobs.ReplayProgress{
		Partitions: append([]jobs.ReplayPartition(nil), p.partitions...), Rows: p.rows(), Refused: p.refused,
		RecordsRate: perSecond[0], RowsRate: perSecond[1],
	}
}

// finish ends the job.
func (p *progress) finish(ctx context.Context, state jobs.ReplayState, problem string) error {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	p.mu.Lock()
	note := p.snapshot([2]float64{})
	p.mu.Unlock()
	return p.jobs.FinishReplay(ctx, p.id, p.claim, note, state, problem)
}

// stopped sets the metric that a run is active to 0.
func (p *progress) stopped() { p.metrics.running.Set(0) }

// observe updates the rates with the sums at a time.
func (r *rates) observe(now time.Time, records, rows int64) {
	took := now.Sub(r.at)
	if took < minRateInterval {
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
