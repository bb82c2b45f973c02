package bench

import (
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/rival"
)

const (
	sustainedTime    = 10 * time.Minute
	sustainedBatch   = 10_000
	sustainedCallers = 4
	sustainedBodies  = 200 // sent repeatedly, with later times
	sustainedSteps   = sustainedBatch / 1000
)

// stampDigits matches a time in milliseconds of the years 2017 to 2033. No value of the load has as
// many digits before the decimal point.
var stampDigits = regexp.MustCompile(`[ \[,](1[5-9]\d{11})`)

// restamped is a request whose times can be overwritten in place.
type restamped struct {
	body    []byte
	offsets []int
	times   []int64 // milliseconds
}

func newRestamped(b require.TestingT, body []byte) restamped {
	r := restamped{body: body}
	for _, at := range stampDigits.FindAllSubmatchIndex(body, -1) {
		ms, err := strconv.ParseInt(string(body[at[2]:at[3]]), 10, 64)
		require.NoError(b, err)
		r.offsets, r.times = append(r.offsets, at[2]), append(r.times, ms)
	}
	require.Len(b, r.offsets, sustainedBatch)
	return r
}

// at writes the request to buffer, with all times shifted by a delay.
func (r restamped) at(buffer []byte, later time.Duration) []byte {
	buffer = append(buffer[:0], r.body...)
	for i, offset := range r.offsets {
		ms := r.times[i] + later.Milliseconds()
		for digit := offset + 12; digit >= offset; digit-- {
			buffer[digit] = byte('0' + ms%10)
			ms /= 10
		}
	}
	return buffer
}

// sustain sends points of 1,000 series to Livegraph and to each peer for ten minutes, as fast as
// they are accepted. The clock stops when the last points are visible.
func (l *lived) sustain(format load.Format) {
	l.b.Helper()
	fleet := l.fleet("sustained-"+string(format), livedThousand)
	plan := load.Plan{
		Points: sustainedBodies * sustainedBatch, Batch: sustainedBatch, Callers: sustainedCallers, Format: format,
		Values: load.ValuesGauge, Interval: time.Second, Start: l.month(),
	}
	l.months += 2 // ten minutes of points may extend into the second month
	name := "sustained-" + string(format)
	l.idle()
	l.resetPeak()
	before := l.usage()
	sender := l.sustainedSender(fleet, plan)
	took, points, err := l.sendFor(sender.bodies, sender.send, sender.visible)
	require.NoError(l.b, err)
	settling := time.Now()
	l.rolledUp()
	l.r.Add("livegraph/"+name+"/rollups", "s", time.Since(settling).Seconds())
	l.settle()
	ours := outcome{points: points, seconds: took, used: l.usage().since(before), peak: l.peak()}
	l.note(name, "livegraph", 1, ours, ours)
	l.r.Add("livegraph/"+name+"/memory", "MiB", ours.peak)
	for _, other := range l.rivals {
		to, bodies := l.bodiesFor(other, livedThousand, fleet, plan)
		if to == "" {
			continue
		}
		require.NoError(l.b, other.Resume())
		took, points, err := l.sendFor(bodies, func(body []byte) error {
			return other.Send(l.b.Context(), to, [][]byte{body}, 1)
		}, func(requests int64) error {
			end := plan.Start.Add(time.Duration(requests*sustainedSteps) * time.Second)
			return other.AwaitVisible(l.b.Context(), rival.Load{
				Measurements: fleet.Measurements(), PerLine: 1, From: end.Add(-sustainedSteps * time.Second), To: end,
				Points: sustainedBatch,
			})
		})
		require.NoError(l.b, other.Pause())
		if err != nil {
			l.r.Logf("%s: %s is skipped: %v", name, other.Name, err)
			continue
		}
		l.note(name, other.Name, 1, outcome{points: points, seconds: took}, ours)
	}
}

// sendFor sends the bodies in turn, with later times in each cycle, until the time has elapsed, and
// waits until all points are visible. It returns the elapsed seconds and the number of points.
func (l *lived) sendFor(
	bodies [][]byte, send func([]byte) error, visible func(requests int64) error,
) (seconds float64, points int64, err error) {
	l.b.Helper()
	templates := make([]restamped, len(bodies))
	for i, body := range bodies {
		templates[i] = newRestamped(l.b, body)
	}
	var next atomic.Int64
	began := time.Now()
	end := began.Add(time.Duration(float64(sustainedTime) * l.share))
	var callers errgroup.Group
	for range sustainedCallers {
		callers.Go(func() error {
			var buffer []byte
			for time.Now().Before(end) {
				n := next.Add(1) - 1
				cycle := n / int64(len(templates)) * int64(len(templates)) * sustainedSteps
				buffer = templates[n%int64(len(templates))].at(buffer, time.Duration(cycle)*time.Second)
				if err := send(buffer); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := callers.Wait(); err != nil {
		return 0, 0, err
	}
	err = visible(next.Load())
	return time.Since(began).Seconds(), next.Load() * sustainedBatch, err
}

// sustainedSender sends prepared bodies to Livegraph and waits for their checkpoints.
type sustainedSender struct {
	bodies  [][]byte
	send    func([]byte) error
	visible func(int64) error
}

// sustainedRecent is the number of newest checkpoints to wait for. It is larger than the number of
// concurrent requests, so they include the last record of every partition.
const sustainedRecent = 16 * sustainedCallers

func (l *lived) sustainedSender(fleet *load.Fleet, plan load.Plan) sustainedSender {
	l.b.Helper()
	bodies, err := fleet.Bodies(plan)
	require.NoError(l.b, err)
	c, err := client.New(client.Options{
		BaseURL: l.URL(), Workspace: l.First.WorkspaceID,
		HTTP:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
		Retry: client.Retry{First: 100 * time.Millisecond, Total: time.Minute},
	})
	require.NoError(l.b, err)
	l.b.Cleanup(c.Close)
	require.NoError(l.b, c.SetKey(l.First.AdminKey))
	media := "application/json"
	if plan.Format == load.FormatLines {
		media = "text/plain"
	}
	var mu sync.Mutex
	var recent []string
	return sustainedSender{bodies: bodies, send: func(body []byte) error {
		receipt, err := c.IngestBody(l.b.Context(), media, body)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		recent = append(recent, receipt.Checkpoint)
		if len(recent) > sustainedRecent {
			recent = recent[1:]
		}
		return nil
	}, visible: func(int64) error {
		for _, checkpoint := range recent {
			if err := c.WaitVisible(l.b.Context(), checkpoint); err != nil {
				return err
			}
		}
		return nil
	}}
}
