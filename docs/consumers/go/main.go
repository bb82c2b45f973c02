// Command go is an example of a separate consumer: a member of a consumer group
// that reads topic points, prints each point as a line of JSON, and keeps a table of
// what stands. See the guide in the folder above.
//
//	go run ./docs/consumers/go --brokers HOST:PORT --group my-group
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// options are the command line's.
type options struct {
	brokers, topic, group string
	workspace             string    // only its points; empty: all
	fromOffset            int64     // of every partition; -1: where the group was
	fromTime              time.Time // of the log; zero: where the group was
	untilEnd              bool      // stop at what is the end at the start
	summary               bool      // print what stands at the end, not each point
}

func main() { os.Exit(consume(os.Args[1:])) }

// consume is main except for the exit code, which it gives.
func consume(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		out := bufio.NewWriter(os.Stdout)
		if err = run(ctx, o, out); err == nil {
			err = out.Flush()
		}
	}
	if err != nil {
		slog.Error("the consumer ends", "error", err)
		return 1
	}
	return 0
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("consumer", flag.ContinueOnError)
	f.StringVar(&o.brokers, "brokers", os.Getenv("LIVEGRAPH_KAFKA_BROKERS"), "addresses of Kafka, host:port, by comma")
	f.StringVar(&o.topic, "topic", "points", "the topic, with its prefix")
	f.StringVar(&o.group, "group", "example-go", "the consumer group; another one reads from the beginning")
	f.StringVar(&o.workspace, "workspace", "", "only points of this workspace")
	f.Int64Var(&o.fromOffset, "from-offset", -1, "read again from this offset of each partition")
	f.BoolVar(&o.untilEnd, "until-end", false, "stop when all is read that is there at the start")
	f.BoolVar(&o.summary, "summary", false, "print a line a series at the end, not one a point")
	f.Func("from-time", "read again what the log has got since then (RFC 3339)", func(text string) (err error) {
		o.fromTime, err = time.Parse(time.RFC3339, text)
		return err
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.brokers == "" {
		return o, errors.New("--brokers is missing: `livegraph topics` shows the address of Kafka")
	}
	return o, nil
}

// login is how to log in to Kafka, by the settings of Livegraph itself: a password on the
// command line would be in the list of processes. Without a user nobody logs in.
func login() []sasl.Mechanism {
	user := scram.Auth{User: os.Getenv("LIVEGRAPH_KAFKA_SASL_USERNAME"), Pass: os.Getenv("LIVEGRAPH_KAFKA_SASL_PASSWORD")}
	switch {
	case user.User == "":
		return nil
	case strings.EqualFold(os.Getenv("LIVEGRAPH_KAFKA_SASL_MECHANISM"), "scram-sha-512"):
		return []sasl.Mechanism{user.AsSha512Mechanism()}
	}
	return []sasl.Mechanism{user.AsSha256Mechanism()} // the embedded Kafka's
}

// consumer is a member of the group at work.
type consumer struct {
	options
	client *kgo.Client
	place  *place
	out    *bufio.Writer
	table  *table
	record pointblock.Record
}

func run(ctx context.Context, o options, out *bufio.Writer) (err error) {
	p := &place{options: o, begun: map[int32]bool{}, next: map[int32]int64{}}
	c := &consumer{options: o, place: p, out: out, table: newTable()}
	c.client, err = kgo.NewClient(
		kgo.SeedBrokers(strings.Split(o.brokers, ",")...),
		kgo.SASL(login()...),
		// With TLS: kgo.DialTLSConfig(…).
		kgo.ConsumerGroup(o.group),
		kgo.ConsumeTopics(o.topic),
		kgo.AdjustFetchOffsetsFn(p.start),
		kgo.OnPartitionsRevoked(p.gone),
		kgo.OnPartitionsLost(p.gone),
		kgo.DisableAutoCommit(),    // committed is what is done, not what was fetched
		kgo.BlockRebalanceOnPoll(), // partitions stay while their records are worked on
	)
	if err != nil {
		return err
	}
	defer c.client.CloseAllowingRebalance()
	p.admin = kadm.NewClient(c.client)
	if o.untilEnd {
		if err := p.untilNow(ctx); err != nil {
			return err
		}
	}
	for ctx.Err() == nil && !p.reached() {
		if err := c.poll(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	if o.summary {
		return c.table.print(out)
	}
	return nil
}

// poll takes the records that have come, and commits them when they are done. Whatever
// happens in between, they come again: at least once.
func (c *consumer) poll(ctx context.Context) error {
	defer c.client.AllowRebalance()
	wait, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	fetches := c.client.PollFetches(wait)
	if err := fetches.Err0(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var failure error
	fetches.EachRecord(func(r *kgo.Record) {
		if failure == nil {
			failure = c.take(r)
		}
	})
	if failure != nil {
		return failure
	}
	if err := c.out.Flush(); err != nil { // first what is done is safe, then it is committed
		return err
	}
	return c.client.CommitUncommittedOffsets(ctx)
}

// take does what one record asks for.
func (c *consumer) take(r *kgo.Record) error {
	defer c.place.done(r)
	if err := pointblock.Decode(r.Value, &c.record); err != nil {
		slog.Warn("a record is passed over", "partition", r.Partition, "offset", r.Offset, "error", err)
		return nil
	}
	if c.workspace != "" && c.record.Workspace.String() != strings.ToLower(c.workspace) {
		return nil
	}
	version := versionOf(r)
	for i := range c.record.Spans {
		span := &c.record.Spans[i]
		identity, ts := span.Identity(&c.record), span.AppendTimestamps(nil)
		numbers, texts := span.AppendValues(nil), span.AppendTexts(nil)
		value := func(i int) any {
			if span.Kind == pointblock.KindString {
				return texts[i]
			}
			return numbers[i]
		}
		if c.summary {
			c.table.put(span.SeriesID, identity, ts, value, version)
			continue
		}
		for i, at := range ts {
			if err := printTo(c.out, line{describe(&identity), stamp(at), value(i), version}); err != nil {
				return err
			}
		}
	}
	for _, d := range c.record.Deletions {
		if c.summary {
			c.table.remove(c.record.Workspace, d, version)
		} else if err := printTo(c.out, deleted(c.record.Workspace, d, version)); err != nil {
			return err
		}
	}
	return nil
}

// versionOf orders the points of one series and time: the later in the log stands. A
// record that was put back from among the dead letters counts where it was before.
func versionOf(r *kgo.Record) int64 {
	const offset = 1<<48 - 1 // of the bits of the header
	for _, h := range r.Headers {
		var version int64
		if _, err := fmt.Sscan(string(h.Value), &version); h.Key == "lg-version" && err == nil {
			return version & offset
		}
	}
	return r.Offset
}
