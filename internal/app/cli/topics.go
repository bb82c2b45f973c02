package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/bytesize"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
)

// TopicsCmd lists the topics.
type TopicsCmd struct {
	target.Target `embed:""`
	JSON          bool `help:"Print JSON."`
}

// topicList is the JSON that TopicsCmd prints.
type topicList struct {
	Brokers []string              `json:"brokers"`
	Topics  []pipelineadmin.Topic `json:"topics"`
}

// Run prints the brokers' addresses and each topic with its partitions, for custom
// consumers and to show the lag of the built-in ones.
func (c *TopicsCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPipeline(ctx, func(service *pipelineadmin.Service) error {
		topics, err := service.Topics(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return output.JSON(out, topicList{Brokers: c.Kafka.Brokers, Topics: topics})
		}
		if _, err := fmt.Fprintf(out, "brokers %s\n", strings.Join(c.Kafka.Brokers, ",")); err != nil {
			return err
		}
		rows := [][]string{{"TOPIC", "PARTITION", "BEGIN", "END", "RECORDS", "SIZE", "GROUP", "COMMITTED", "LAG"}}
		for i := range topics {
			rows = append(rows, topicRows(&topics[i])...)
		}
		return output.Table(out, rows)
	})
}

// topicRows returns the rows of a topic and its partitions. If the topic has several
// readers, the rows of each reader and its partitions follow.
func topicRows(t *pipelineadmin.Topic) [][]string {
	rows := [][]string{
		{
			t.Name, "all", "", "", strconv.FormatInt(t.Records, 10), sizeAndRetention(*t), groupNames(t), "",
			countOrNone(t.Lag),
		},
	}
	for i, p := range t.Partitions {
		row := []string{
			"", strconv.Itoa(int(p.Partition)), strconv.FormatInt(p.Begin, 10), strconv.FormatInt(p.End, 10),
			strconv.FormatInt(p.End-p.Begin, 10), bytesize.Format(p.Bytes), "", "-", "-",
		}
		// The row of a partition includes the only reader's offset and lag.
		if len(t.Readers) == 1 {
			row[7], row[8] = committedAndLag(&t.Readers[0].Partitions[i])
		}
		rows = append(rows, row)
	}
	if len(t.Readers) < 2 {
		return rows
	}
	for _, r := range t.Readers {
		rows = append(rows, []string{"", "all", "", "", "", "", r.Group, "", strconv.FormatInt(r.Lag, 10)})
		for i := range r.Partitions {
			committed, lag := committedAndLag(&r.Partitions[i])
			rows = append(rows, []string{"", strconv.Itoa(int(r.Partitions[i].Partition)), "", "", "", "", "", committed, lag})
		}
	}
	return rows
}

func committedAndLag(p *pipelineadmin.ReaderPartition) (committed, lag string) {
	return countOrNone(p.Committed), strconv.FormatInt(p.Lag, 10)
}

// groupNames returns the names of the consumer groups of a topic's readers.
func groupNames(t *pipelineadmin.Topic) string {
	groups := make([]string, len(t.Readers))
	for i, r := range t.Readers {
		groups[i] = r.Group
	}
	return orNone(strings.Join(groups, ","))
}

func sizeAndRetention(t pipelineadmin.Topic) string {
	kept := "unlimited"
	if t.RetentionBytes >= 0 {
		kept = bytesize.Format(t.RetentionBytes) + " a partition"
	}
	return bytesize.Format(t.Bytes) + " (kept: " + kept + ")"
}

func countOrNone(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
