package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/internal/doctor"
	"github.com/livegraph/livegraph/internal/operate"
)

// TopicsCmd lists the topics.
type TopicsCmd struct {
	target `embed:""`
	JSON   bool `help:"Print JSON."`
}

// topicList is the JSON that it prints.
type topicList struct {
	Brokers []string        `json:"brokers"`
	Topics  []operate.Topic `json:"topics"`
}

// Run prints the brokers' addresses and each topic with its partitions: for consumers
// of one's own, and to see how far the built-in ones are.
func (c *TopicsCmd) Run(ctx context.Context, out *output) error {
	return c.withDesk(ctx, func(desk *operate.Desk) error {
		topics, err := desk.Topics(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(out, topicList{Brokers: c.Kafka.Brokers, Topics: topics})
		}
		if _, err := fmt.Fprintf(out, "brokers %s\n", strings.Join(c.Kafka.Brokers, ",")); err != nil {
			return err
		}
		rows := [][]string{{"TOPIC", "PARTITION", "BEGIN", "END", "RECORDS", "SIZE", "GROUP", "COMMITTED", "LAG"}}
		for _, t := range topics {
			rows = append(rows, []string{
				t.Name, "all", "", "", strconv.FormatInt(t.Records, 10), sizeAndRetention(t), orNone(t.Group), "", countOrNone(t.Lag),
			})
			for _, p := range t.Partitions {
				rows = append(rows, []string{
					"", strconv.Itoa(int(p.Partition)), strconv.FormatInt(p.Begin, 10), strconv.FormatInt(p.End, 10),
					strconv.FormatInt(p.End-p.Begin, 10), doctor.Size(p.Bytes), "", countOrNone(p.Committed), countOrNone(p.Lag),
				})
			}
		}
		return printTable(out, rows)
	})
}

func sizeAndRetention(t operate.Topic) string {
	kept := "no bound"
	if t.RetentionBytes >= 0 {
		kept = doctor.Size(t.RetentionBytes) + " a partition"
	}
	return doctor.Size(t.Bytes) + " (kept: " + kept + ")"
}

func countOrNone(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
