package process

import "github.com/livegraph/livegraph/internal/services/pipelineadmin"

// addDeadLetterWatch adds what counts dead letters, for the metrics.
func (b *builder) addDeadLetterWatch() error {
	watch := pipelineadmin.NewWatch(pipelineadmin.New(b.Kafka, b.Postgres), b.Logger, b.Metrics)
	b.add("dead letters", watch.Run)
	return nil
}
