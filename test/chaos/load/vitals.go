package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Vitals are the resources that a process uses.
type Vitals struct {
	Goroutines, OpenFiles float64
	Resident              float64 // bytes
}

// maxGrowth is how many more goroutines or files a process may use in a later settling than in the
// first: pools and caches fill up once.
const maxGrowth = 400

// checkProcesses reads the metrics of each process and checks that its resources are bounded and
// that the metrics contain nothing of a workspace.
func (l *Load) checkProcesses(ctx context.Context) (found []Violation, err error) {
	for _, url := range l.cfg.Metrics {
		page, err := l.metrics(ctx, url)
		if err != nil {
			return found, err
		}
		if canary := foreignCanary(page, ""); canary != "" {
			found = append(found, Violation{10, "metrics show something of a workspace", url + ": " + canary})
		}
		for _, t := range l.tenants {
			if bytes.Contains(page, []byte(t.id)) {
				found = append(found, Violation{10, "metrics show a workspace", url + ": " + t.id})
			}
		}
		now, err := ReadVitals(page)
		if err != nil {
			return found, fmt.Errorf("%s: %w", url, err)
		}
		first, ok := l.baseline[url]
		if !ok {
			first, l.baseline[url] = now, now
		}
		found = append(found, l.cfg.Bounds.compare(url, first, now)...)
	}
	return found, nil
}

func (l *Load) metrics(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := l.client.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

// parseMetrics parses metrics in the text format, by name.
func parseMetrics(page []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	return families, nil
}

// ReadVitals reads the Vitals from the metrics of a process.
func ReadVitals(page []byte) (v Vitals, err error) {
	families, err := parseMetrics(page)
	if err != nil {
		return v, err
	}
	for name, dst := range map[string]*float64{
		"go_goroutines": &v.Goroutines, "process_open_fds": &v.OpenFiles, "process_resident_memory_bytes": &v.Resident,
	} {
		family := families[name]
		if family == nil {
			return v, fmt.Errorf("%s is not among the metrics", name)
		}
		*dst = family.GetMetric()[0].GetGauge().GetValue()
	}
	return v, nil
}

func (b Bounds) compare(url string, first, now Vitals) (found []Violation) {
	for _, one := range []struct {
		what                string
		value, first, bound float64
		growth              float64
	}{
		{"goroutines", now.Goroutines, first.Goroutines, b.Goroutines, maxGrowth},
		{"open files", now.OpenFiles, first.OpenFiles, b.OpenFiles, maxGrowth},
		{"bytes of memory", now.Resident, 0, b.Resident, b.Resident},
	} {
		if one.value > one.bound || one.value > one.first+one.growth {
			found = append(found, Violation{14, "a process takes too much", fmt.Sprintf(
				"%s: %.0f %s, after the first round %.0f, bound %.0f", url, one.value, one.what, one.first, one.bound,
			)})
		}
	}
	return found
}
