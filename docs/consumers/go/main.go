// Command go is an example of a custom consumer: a member of a consumer group that reads
// topic points and prints each point as a line of JSON, or a table of the current points
// at the end. See the guide in the parent folder.
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

// options are the options of the command line.
type options struct {
	brokers, topic, group string
	workspace             string    // print only its points; empty: all
	fromOffset            int64     // in each partition; -1: the committed offset
	fromTime              time.Time // time in the log; zero: the committed offset
	untilEnd              bool      // stop at the end of the log as of the start
	summary               bool      // print the current points at the end, not each point
}

func main() { os.Exit(consume(os.Args[1:])) }

// consume runs the consumer and returns the exit code.
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

// login returns the login for Kafka from the environment variables of Livegraph, because a
// password on the command line would be visible in the list of processes. It returns nil without
// a user.
func login() []sasl.Mechanism {
	user := scram.Auth{User: os.Getenv("LIVEGRAPH_KAFKA_SASL_USERNAME"), Pass: os.Getenv("LIVEGRAPH_KAFKA_SASL_PASSWORD")}
	switch {
	case user.User == "":
		return nil
	case strings.EqualFold(os.Getenv("LIVEGRAPH_KAFKA_SASL_MECHANISM"), "scram-sha-512"):
		return []sasl.Mechanism{user.AsSha512Mechanism()}
	}
	return []sasl.Mechanism{user.AsSha256Mechanism()} // the mechanism of the embedded Kafka
}

// consumer is a member of the group.
type consumer struct {
	options
	client    *kgo.Client
	positions *positions
	out       *bufio.Writer
	table     *table
	record    pointblock.Record
}

func run(ctx context.Context, o options, out *bufio.Writer) (err error) {
	p := &positions{options: o, started: map[int32]bool{}, next: map[int32]int64{}}
	c := &consumer{options: o, positions: p, out: out, table: newTable()}
	c.client, err = kgo.NewClient(
		kgo.SeedBrokers(strings.Split(o.brokers, ",")...),
		kgo.SASL(login()...),
		// With TLS: kgo.DialTLSConfig(…).
		kgo.ConsumerGroup(o.group),
		kgo.ConsumeTopics(o.topic),
		kgo.AdjustFetchOffsetsFn(p.start),
		kgo.OnPartitionsRevoked(p.revoked),
		kgo.OnPartitionsLost(p.revoked),
		kgo.DisableAutoCommit(),    // commit processed records, not fetched ones
		kgo.BlockRebalanceOnPoll(), // keep partitions while their records are processed
	)
	if err != nil {
		return err
	}
	defer c.client.CloseAllowingRebalance()
	p.admin = kadm.NewClient(c.client)
	if o.untilEnd {
		if err := p.stopAtCurrentEnds(ctx); err != nil {
			return err
		}
	}
	for ctx.Err() == nil && !p.atEnds() {
		if err := c.poll(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	if o.summary {
		return c.table.print(out)
	}
	return nil
}

// poll fetches and handles records, and then commits them. After a failure in between, the records
// are read again (at least once).
func (c *consumer) poll(ctx context.Context) error {
	defer c.client.AllowRebalance()
	pollCtx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	fetches := c.client.PollFetches(pollCtx)
	if err := fetches.Err0(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var failure error
	fetches.EachRecord(func(r *kgo.Record) {
		if failure == nil {
			failure = c.handle(r)
		}
	})
	if failure != nil {
		return failure
	}
	if err := c.out.Flush(); err != nil { // the output must be written before the commit
		return err
	}
	return c.client.CommitUncommittedOffsets(ctx)
}

// handle applies one record to the output or the table.
func (c *consumer) handle(r *kgo.Record) error {
	defer c.positions.done(r)
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
		numbers, texts := span.AppendValues(nil), span.AppendStrings(nil)
		value := func(i int) any {
			if span.Kind != pointblock.KindNumber {
				return texts[i]
			}
			return numbers[i]
		}
		if c.summary {
			c.table.put(span.SeriesID, identity, ts, value, version)
			continue
		}
		for i, at := range ts {
			if err := printLine(c.out, pointLine{infoOf(&identity), formatTime(at), value(i), version}); err != nil {
				return err
			}
		}
	}
	for _, d := range c.record.Deletions {
		if c.summary {
			c.table.remove(c.record.Workspace, d, version)
		} else if err := printLine(c.out, newDeletionLine(c.record.Workspace, d, version)); err != nil {
			return err
		}
	}
	return nil
}

// versionOf returns the version of a record's points. Of the points of one series and time, the one
// with the highest version is current: the latest in the log. A redriven dead letter has the version
// of its original record.
func versionOf(r *kgo.Record) int64 {
	const offsetMask = 1<<48 - 1 // bits of the offset in the header
	for _, h := range r.Headers {
		var version int64
		if _, err := fmt.Sscan(string(h.Value), &version); h.Key == "lg-version" && err == nil {
			return version & offsetMask
		}
	}
	return r.Offset
}
