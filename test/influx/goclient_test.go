package influx

import (
	"net/http"
	"testing"
	"time"

	influxdb2 "github.com/influxdata/influxdb-client-go/v2"
	influxhttp "github.com/influxdata/influxdb-client-go/v2/api/http"
	"github.com/stretchr/testify/require"
)

func TestTheGoClientWritesBatchesOfItsOwn(t *testing.T) {
	s := running
	client := influxdb2.NewClientWithOptions(
		s.url, s.writer, influxdb2.DefaultOptions().SetBatchSize(500).SetUseGZip(true),
	)
	defer client.Close()
	answers, err := client.Ping(t.Context())
	require.NoError(t, err)
	require.True(t, answers)
	health, err := client.Health(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, "pass", health.Status)

	const points = 2200
	writer := client.WriteAPI("any", s.workspace)
	failures := writer.Errors()
	at := time.Now().Add(-time.Hour)
	for i := range points {
		writer.WritePoint(influxdb2.NewPoint("weather station", map[string]string{"pla,ce": "no rth=1", "empty": ""},
			map[string]any{
				"temperature": 20 + float64(i)/4, "visitors": int64(i), "uptime": uint64(i), "open": i%2 == 0,
				"note": "say \"hi\", \\ done",
			},
			at.Add(time.Duration(i)*time.Second)))
	}
	writer.Flush()
	select {
	case err := <-failures:
		require.NoError(t, err)
	default:
	}
	s.awaitCount(t, "weather%20station", 5*points)
	last := map[string]any{}
	for _, series := range s.query(t, "latest=true&source=weather%20station") {
		require.Equal(t, map[string]string{"pla,ce": "no rth=1"}, series.Tags)
		last[series.Metric] = series.Points[0][1]
	}
	require.Equal(t, map[string]any{
		"temperature": 569.75, "visitors": 2199.0, "uptime": 2199.0, "open": 0.0, "note": "say \"hi\", \\ done",
	}, last)
}

func TestTheGoClientReportsABadLine(t *testing.T) {
	s := running
	client := influxdb2.NewClient(s.url, s.writer)
	defer client.Close()
	writer := client.WriteAPIBlocking("any", s.workspace)
	err := writer.WriteRecord(t.Context(), "gopartly f=1 1000", "gopartly f= 2000", "gopartly f=3 3000")
	var refusal *influxhttp.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, http.StatusBadRequest, refusal.StatusCode)
	require.Equal(t, "invalid", refusal.Code)
	require.Contains(t, refusal.Message, "line 2: fields.f: must be a number")
	s.awaitCount(t, "gopartly", 2)

	wrong := influxdb2.NewClient(s.url, s.writer[:len(s.writer)-1])
	defer wrong.Close()
	require.ErrorAs(t, wrong.WriteAPIBlocking("any", s.workspace).WriteRecord(t.Context(), "m f=1"), &refusal)
	require.Equal(t, http.StatusUnauthorized, refusal.StatusCode)
	require.ErrorAs(t, client.WriteAPIBlocking("any", "telegraf").WriteRecord(t.Context(), "m f=1"), &refusal)
	require.Contains(t, refusal.Message, "bucket: must be the id of a workspace")
}

func TestTheGoClientRetriesWhatWasNotAccepted(t *testing.T) {
	s := running
	for source, status := range map[string]int{
		"throttled": http.StatusTooManyRequests, "unavailable": http.StatusServiceUnavailable,
	} {
		front := s.newRefusingProxy(t, 2, status)
		client := influxdb2.NewClientWithOptions(
			front.url, s.writer, influxdb2.DefaultOptions().SetBatchSize(100).SetRetryInterval(100).SetMaxRetryInterval(1000),
		)
		writer := client.WriteAPI("any", s.workspace)
		for i := range 500 {
			writer.WritePoint(influxdb2.NewPoint(source, nil, map[string]any{"f": i}, time.UnixMilli(int64(i))))
			if i%100 == 99 {
				time.Sleep(300 * time.Millisecond) // the client retries when the next batch comes
			}
		}
		require.Eventually(t, func() bool {
			writer.Flush()
			return front.refused.Load() == 2
		}, time.Minute, 100*time.Millisecond)
		client.Close()
		s.awaitCount(t, source, 500)
	}
}
