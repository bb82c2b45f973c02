package demo

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
	"github.com/livegraph/livegraph/test/testenv"
)

func batchOf(values ...float64) []machine.Sample {
	batch := make([]machine.Sample, len(values))
	for i, v := range values {
		batch[i].Value = v
	}
	return batch
}

func valuesIn(batch []machine.Sample) []float64 {
	values := []float64{}
	for _, s := range batch {
		values = append(values, s.Value)
	}
	return values
}

func TestTheBufferDropsTheOldestWhenItIsFull(t *testing.T) {
	b := newBuffer(5)
	for _, batch := range [][]machine.Sample{batchOf(1, 2), batchOf(3, 4), nil, batchOf(5, 6)} {
		b.push(batch)
	}
	waiting, dropped := b.counts()
	require.Equal(t, 4, waiting)
	require.EqualValues(t, 2, dropped)
	b.push(batchOf(7))
	taken := b.pop(t.Context(), 4)
	require.Equal(t, []float64{3, 4, 5, 6}, valuesIn(taken), "in order, no more than asked for")
	b.push(batchOf(1, 2, 3, 4, 5, 6))
	_, dropped = b.counts()
	require.EqualValues(t, 9, dropped, "a batch larger than the buffer cannot be kept at all")
}

func TestABatchLargerThanARequestIsSentAlone(t *testing.T) {
	b := newBuffer(100)
	b.push(batchOf(1, 2, 3))
	b.push(batchOf(4))
	taken := b.pop(t.Context(), 2)
	require.Equal(t, []float64{1, 2, 3}, valuesIn(taken))
}

func TestTakingWaitsForABatchTheEndOrTheContext(t *testing.T) {
	b := newBuffer(10)
	go func() {
		time.Sleep(20 * time.Millisecond)
		b.push(batchOf(1))
		b.close()
	}()
	require.Len(t, b.pop(t.Context(), 10), 1)
	require.Empty(t, b.pop(t.Context(), 10))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.Empty(t, newBuffer(10).pop(ctx, 10))
}

func TestAKeyIsDueBeforeItExpiresAndMadeOnceForAll(t *testing.T) {
	created := 0
	var used []string
	k := &keyring{
		create: func(context.Context) (string, time.Time, error) {
			created++
			if created == 3 {
				return "", time.Time{}, errors.New("away")
			}
			return strings.Repeat("k", created), time.Now().Add(time.Hour), nil
		},
		use: func(key string) { used = append(used, key) },
	}
	require.NoError(t, k.renew(t.Context(), ""))
	now := time.Now()
	_, _, due := k.current(now.Add(50 * time.Minute))
	require.False(t, due)
	key, _, due := k.current(now.Add(55 * time.Minute))
	require.True(t, due)
	require.NoError(t, k.renew(t.Context(), key))
	require.NoError(t, k.renew(t.Context(), key), "somebody else renewed it already")
	require.Equal(t, []string{"k", "kk"}, used)
	require.ErrorContains(t, k.renew(t.Context(), "kk"), "away")
	key, _, _ = k.current(now)
	require.Equal(t, "kk", key, "the old key stays when no new one can be made")
}

func TestAKeyWithoutExpiryIsNeverDue(t *testing.T) {
	k := &keyring{use: func(string) {}, create: func(context.Context) (string, time.Time, error) {
		return "k", time.Time{}, nil
	}}
	require.NoError(t, k.renew(t.Context(), ""))
	_, _, due := k.current(time.Now().AddDate(10, 0, 0))
	require.False(t, due)
}

func TestLatenciesAreOfTheLastRequests(t *testing.T) {
	var w latencies
	require.False(t, w.latency().known)
	for i := range 1000 {
		w.add(time.Duration(i) * time.Millisecond)
	}
	l := w.latency()
	require.Equal(t, 999*time.Millisecond, l.last)
	require.Equal(t, (880+113)*time.Millisecond, l.p95)
	w = nil
	w.add(time.Second)
	require.Equal(t, latency{last: time.Second, p95: time.Second, known: true}, w.latency())
}

func TestTheRateIsOfTheLastSeconds(t *testing.T) {
	began := time.Unix(1000, 0)
	s := &stats{began: began}
	for i := range 60 {
		s.recordIngest(began.Add(time.Duration(i)*time.Second), 100, 0, time.Millisecond)
	}
	require.InDelta(t, 100, s.rate(began.Add(59*time.Second)), 1)
	require.InDelta(t, 50, s.rate(began.Add(64*time.Second)), 1)
	require.Zero(t, s.rate(began.Add(80*time.Second)))
}

func TestTheCPUsHistoryGrowsByNewValuesOnly(t *testing.T) {
	s := &stats{}
	read := func(second int64, cpu float64) {
		s.setLatest(latestValues{cpu: []float64{cpu}, newest: time.Unix(second, 0)})
	}
	read(1, 1)
	read(3, 2)
	read(3, 2)
	read(1, 1)
	v := s.snapshot(time.Unix(5, 0), "", 0, 0)
	require.Equal(t, []float64{1, 2}, v.latest.cpu)
	require.Equal(t, 2*time.Second, v.lag, "time does not go back")
	for i := range int64(500) {
		read(10+i, 9)
	}
	require.Len(t, s.snapshot(time.Unix(600, 0), "", 0, 0).latest.cpu, maxHistory)
}

func TestCommandsSurviveOddNames(t *testing.T) {
	l := hints{
		address: "http://127.0.0.1:8080", workspace: uuid.Nil, cpu: "it's a host/cpu", key: "k", expires: time.Unix(0, 0),
	}
	text := l.text()
	require.Contains(t, text, `'source=it'\''s a host/cpu'`)
	require.Contains(t, text, "until 1970-01-01 00:00 UTC")
	require.Regexp(t, `(?m)^  curl -NsSG .*/api/live-data/stream$`, text)
	require.Contains(t, text, "latest=true", "without a history the third command shows the newest values")
	for word, quoted := range map[string]string{
		"": "''", "a b": "'a b'", "$HOME": "'$HOME'", "from=-5m": "from=-5m", "é": "'é'",
	} {
		require.Equal(t, quoted, quote(word))
		echoed, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+quoted).Output()
		require.NoError(t, err)
		require.Equal(t, word, string(echoed))
	}
}

func TestWithoutATerminalOrACommandTheKeyIsAVariable(t *testing.T) {
	p, out := newFakeServer(t), &testenv.Output{}
	deps := newDeps(p, out, time.Hour)
	deps.KeyCommand = ""
	require.NoError(t, Run(t.Context(), Options{Interval: 100 * time.Millisecond, Duration: time.Second}, deps))
	require.Contains(t, out.String(), "First set LIVEGRAPH_API_KEY")
	require.Contains(t, out.String(), `-H "Authorization: Bearer $LIVEGRAPH_API_KEY"`)
}

func TestTheHistoryIsSentAsItIs(t *testing.T) {
	stations, err := weather.Stations()
	require.NoError(t, err)
	total := 0
	for i := range stations {
		source := stationSource(&stations[i])
		require.Len(t, source.Metrics, 5)
		for _, series := range stationSeries("id", &stations[i]) {
			require.Len(t, series.Timestamps, len(series.Numbers)+len(series.Strings))
			require.True(t, (series.Numbers == nil) != (series.Strings == nil))
			require.EqualValues(t, 1325376000000, series.Timestamps[0], "midnight of 2012-01-01 in UTC")
		}
		total += (len(stations[i].Columns) - 1) * len(stations[i].Days)
	}
	require.Equal(t, 11688, total)
}
