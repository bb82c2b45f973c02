package block

import "github.com/livegraph/livegraph/internal/metricmetadata"

// maxMetadata is the maximum number of metrics of which a request can have metadata. More are ignored.
const maxMetadata = 10_000

// AddMetadata adds the metadata of a metric, unless it is that of the metric before, as that of the series of one
// metric is.
func (b *Batch) AddMetadata(m *metricmetadata.Metadata) {
	if n := len(b.Metadata); m.Metric != "" && n < maxMetadata && (n == 0 || b.Metadata[n-1] != *m) {
		b.Metadata = append(b.Metadata, *m)
	}
}
