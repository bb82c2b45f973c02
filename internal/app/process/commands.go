package process

import (
	"github.com/livegraph/livegraph/consumers/commands"
)

// addCommands adds the consumer that executes commands.
func (b *builder) addCommands() error {
	cfg := b.Config.Commands
	consumer := commands.New(commands.Deps{
		Log: b.Kafka, Graph: b.Commands, Redis: b.Redis, Logger: b.Logger, Metrics: b.Metrics, Tracing: b.Tracing,
		Config: commands.Config{
			Group: cfg.Group, GroupRecords: cfg.GroupRecords, FetchBytes: cfg.FetchBytes, Grace: consumerGrace,
			Transactions: commands.MaxTransactions(cfg.Connections),
		},
	})
	b.add("commands", consumer.Run)
	return nil
}
