// Package monitoring tests the metrics of a real server under a real load, and the page
// that documents them.
package monitoring

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

var binary string

var update = flag.Bool("update", false, "rewrite docs/metrics.md")

func TestMain(m *testing.M) { harness.Main(m, &binary) }

// scrape reads the metrics as Prometheus would.
func scrape(t testing.TB, s *harness.Server) (text string, families map[string]*dto.MetricFamily) {
	t.Helper()
	text, err := tryScrape(s)
	require.NoError(t, err)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err = parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	return text, families
}

func tryScrape(s *harness.Server) (string, error) {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + s.Metrics + "/metrics")
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	return string(body), err
}
