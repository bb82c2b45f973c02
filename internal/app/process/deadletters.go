package process

import "github.com/livegraph/livegraph/internal/services/pipelineadmin"

// addDeadLetterWatch adds the component that counts dead letters for the metrics.
func (b *builder) addDeadLetterWatch() error {
	counter := pipelineadmin.NewDeadLetterMonitor(pipelineadmin.New(b.Kafka, b.Postgres), b.Logger, b.Metrics)
	b.add("dead letters", counter.Run)
	return nil
}
