package rival

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkRivals verifies that the other stores save every point: it waits until queries find them.

func TestQuestDBVersionMatchesItsJar(t *testing.T) {
	require.Regexp(t, `^\d+\.\d+\.\d+$`, questVersion())
	require.Contains(t, questPOM, "<version>"+questVersion()+"</version>")
}

func TestSeriesAreWrittenAsJSONLines(t *testing.T) {
	var line struct {
		Metric     map[string]string
		Values     []float64
		Timestamps []int64
	}
	body := SeriesBody(nil, "bench-0", 7, []int64{1000, 2000}, []float64{1.25, 2})
	require.NoError(t, json.Unmarshal(body, &line))
	require.Equal(t, map[string]string{"__name__": "bench-0_m0", "sensor": "7"}, line.Metric)
	require.Equal(t, []float64{1.25, 2}, line.Values)
	require.Equal(t, []int64{1000, 2000}, line.Timestamps)
}

func TestRefusalStopsSending(t *testing.T) {
	var taken atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if taken.Add(1) == 3 {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	r := &Rival{Name: "other", client: server.Client()}
	err := r.Send(t.Context(), server.URL, make([][]byte, 100), 1)
	require.ErrorContains(t, err, "other POST: 400 Bad Request: no")
	require.Less(t, taken.Load(), int64(100))
}
