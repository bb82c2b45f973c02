package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// ReplayCmd groups the commands on replays.
type ReplayCmd struct {
	Start  ReplayStartCmd  `cmd:"" default:"withargs" help:"Make a built-in consumer read a part of its topic again, and show the progress."`
	List   ReplayListCmd   `cmd:"" help:"List replays, newest first."`
	Show   ReplayShowCmd   `cmd:"" help:"Show a replay."`
	Cancel ReplayCancelCmd `cmd:"" help:"Cancel a replay. Rows it has stored stay."`
}

// ReplayStartCmd queues a replay.
type ReplayStartCmd struct {
	target.Target `embed:""`
	Topic         string      `help:"Topic to read again: points." required:"" placeholder:"TOPIC"`
	FromStart     bool        `help:"From the oldest record of the log." xor:"from"`
	FromTime      *timeFlag   `help:"From the first record that was accepted at this time or later: RFC 3339, or an age such as 2h or 7d." xor:"from" placeholder:"TIME"`
	FromOffset    offsetsFlag `help:"From these offsets of these partitions, and of no others." xor:"from" placeholder:"P:N,…"`
	ToTime        *timeFlag   `help:"To the last record that was accepted before this time. Default: to the current end of the log." xor:"to" placeholder:"TIME"`
	ToOffset      offsetsFlag `help:"To before these offsets; the other partitions to the end." xor:"to" placeholder:"P:N,…"`
	Partitions    []int32     `help:"Only these partitions." placeholder:"P,…"`
	Workspace     *uuid.UUID  `help:"Only records of this workspace." placeholder:"ID"`
	MaxRows       *int64      `help:"Maximum rows per second. Default: unlimited." placeholder:"N"`
	DryRun        bool        `help:"Print what would be read, and do nothing."`
	Detach        bool        `help:"Do not wait: print the replay with its id and leave it to the server."`
	JSON          bool        `help:"Print JSON, a line for each change of the progress."`
}

// offsetsFlag is a flag with an offset for each of several partitions.
type offsetsFlag map[int32]int64

// Decode reads the flag.
func (o *offsetsFlag) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("offsets", &text); err != nil {
		return err
	}
	if *o == nil {
		*o = offsetsFlag{}
	}
	for pair := range strings.SplitSeq(text, ",") {
		left, right, _ := strings.Cut(strings.TrimSpace(pair), ":")
		partition, err1 := strconv.ParseInt(left, 10, 32)
		offset, err2 := strconv.ParseInt(right, 10, 64)
		if err1 != nil || err2 != nil || partition < 0 || offset < 0 {
			return fmt.Errorf("%q is not PARTITION:OFFSET, such as 0:1200", pair)
		}
		if _, duplicate := (*o)[int32(partition)]; duplicate {
			return fmt.Errorf("partition %d is named twice", partition)
		}
		(*o)[int32(partition)] = offset
	}
	return nil
}

// progressPollInterval is the interval at which the progress of a replay or a re-index
// is read.
const progressPollInterval = 500 * time.Millisecond

// Run queues the replay and shows its progress until it ends. Ctrl-C stops the display,
// not the replay.
func (c *ReplayStartCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPipeline(ctx, func(service *pipelineadmin.Service) error {
		request := pipelineadmin.ReplayRequest{
			Topic: c.Topic, FromStart: c.FromStart, FromTime: c.FromTime.pointer(), FromOffsets: c.FromOffset,
			ToTime:    c.ToTime.pointer(),
			ToOffsets: c.ToOffset, Partitions: c.Partitions, Workspace: c.Workspace, MaxRows: c.MaxRows,
			RequestedBy: trail.Operator(),
		}
		if c.DryRun {
			job, err := service.PlanReplay(ctx, request)
			if err != nil {
				return err
			}
			return c.printPlan(out, job)
		}
		job, err := service.StartReplay(ctx, request)
		if err != nil {
			return err
		}
		trail.AddResult(ctx, job.ID)
		if c.Detach {
			return printReplay(out, job, c.JSON)
		}
		return c.follow(ctx, out, service, job)
	})
}

func (c *ReplayStartCmd) printPlan(out *output.Writer, job pipelineadmin.Replay) error {
	if c.JSON {
		return output.JSON(out, map[string]any{
			"topic": job.Topic, "consumer": job.Consumer, "records": job.Records, "partitions": job.Partitions,
		})
	}
	if _, err := fmt.Fprintf(
		out, "would read %s of topic %s again, for consumer %s:\n", plural.Count(job.Records, "record"), job.Topic,
		job.Consumer,
	); err != nil {
		return err
	}
	return output.Table(out, partitionRows(job))
}

// follow shows the progress until the replay ends.
func (c *ReplayStartCmd) follow(
	ctx context.Context, out *output.Writer, service *pipelineadmin.Service, job pipelineadmin.Replay,
) error {
	line := output.NewLine(out.Writer)
	if !c.JSON {
		line.Print("replay %s: %s of topic %s", job.ID, plural.Count(job.Records, "record"), job.Topic)
	}
	var shownAt time.Time
	for {
		switch {
		case c.JSON:
			if !job.UpdatedAt.Equal(shownAt) || job.State.Final() {
				if err := json.NewEncoder(out).Encode(job); err != nil {
					return err
				}
				shownAt = job.UpdatedAt
			}
		default:
			line.Show(replayText(job), job.State.Final())
		}
		if job.State.Final() {
			return c.reportResult(line, job)
		}
		select {
		case <-ctx.Done():
			if !c.JSON {
				line.Print(
					"the replay continues: `livegraph replay show %s` shows it, `livegraph replay cancel %s` cancels it", job.ID,
					job.ID,
				)
			}
			return nil
		case <-time.After(progressPollInterval):
		}
		next, err := service.Replay(ctx, job.ID)
		switch {
		case err == nil:
			job = next
		case ctx.Err() == nil && !fault.Is(err, fault.Unavailable): // Postgres may recover
			return err
		}
	}
}

// reportResult prints the replay's notes. It returns an error if the replay failed or was
// cancelled.
func (c *ReplayStartCmd) reportResult(line *output.Line, job pipelineadmin.Replay) error {
	if !c.JSON {
		for _, note := range job.Notes {
			line.Print("%s", note)
		}
	}
	switch job.State {
	case jobs.ReplayFailed:
		return fmt.Errorf("replay %s failed: %s", job.ID, output.TextOr(job.Error, "unknown error"))
	case jobs.ReplayCancelled:
		return fmt.Errorf("replay %s was cancelled", job.ID)
	}
	return nil
}

func replayText(job pipelineadmin.Replay) string {
	text := fmt.Sprintf(
		"%-9s %5.1f %%  %d of %s, %s", job.State, job.Percent, job.RecordsDone, plural.Count(job.Records, "record"),
		plural.Count(job.Rows, "row"),
	)
	if job.State == jobs.ReplayRunning && job.RowsRate > 0 {
		text += fmt.Sprintf(", %.0f rows/s", job.RowsRate)
	}
	if job.ETASeconds != nil {
		text += ", " + (time.Duration(*job.ETASeconds * float64(time.Second))).Round(time.Second).String() + " left"
	}
	return text
}

// ReplayListCmd lists replays.
type ReplayListCmd struct {
	target.Target `embed:""`
	Limit         int  `help:"Maximum number of replays, 1 to 1000." default:"20" placeholder:"N"`
	JSON          bool `help:"Print JSON."`
}

// Run prints the newest replays.
func (c *ReplayListCmd) Run(ctx context.Context, out *output.Writer) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return errors.New("--limit: must be from 1 to 1000")
	}
	return c.WithPipeline(ctx, func(service *pipelineadmin.Service) error {
		list, _, err := service.Replays(ctx, 0, c.Limit)
		if err != nil {
			return err
		}
		if c.JSON {
			return output.JSON(out, list)
		}
		rows := [][]string{{"ID", "TOPIC", "STATE", "DONE", "RECORDS", "ROWS", "CREATED", "BY"}}
		for _, job := range list {
			rows = append(rows, []string{
				job.ID.String(), job.Topic, string(job.State), fmt.Sprintf("%.1f %%", job.Percent),
				strconv.FormatInt(job.Records, 10),
				strconv.FormatInt(job.Rows, 10), job.CreatedAt.UTC().Format(time.RFC3339), job.RequestedBy,
			})
		}
		return output.Table(out, rows)
	})
}

// ReplayShowCmd shows a replay.
type ReplayShowCmd struct {
	target.Target `embed:""`
	ID            uuid.UUID `arg:"" help:"The replay's id."`
	JSON          bool      `help:"Print JSON."`
}

// Run prints the replay.
func (c *ReplayShowCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPipeline(ctx, func(service *pipelineadmin.Service) error {
		job, err := service.Replay(ctx, c.ID)
		if err != nil {
			return err
		}
		return printReplay(out, job, c.JSON)
	})
}

// ReplayCancelCmd cancels a replay.
type ReplayCancelCmd struct {
	target.Target `embed:""`
	ID            uuid.UUID `arg:"" help:"The replay's id."`
	JSON          bool      `help:"Print JSON."`
}

// Run requests the cancellation and prints the replay afterwards.
func (c *ReplayCancelCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPipeline(ctx, func(service *pipelineadmin.Service) error {
		job, err := service.CancelReplay(ctx, c.ID)
		if err != nil {
			return err
		}
		return printReplay(out, job, c.JSON)
	})
}

func printReplay(out *output.Writer, job pipelineadmin.Replay, asJSON bool) error {
	if asJSON {
		return output.JSON(out, job)
	}
	state := string(job.State)
	if job.CancelRequested && !job.State.Final() {
		state += ", to be cancelled"
	}
	lines := []string{
		fmt.Sprintf("replay %s of topic %s: %s", job.ID, job.Topic, state),
		replayText(job),
		fmt.Sprintf(
			"requested by %s at %s, started %s", job.RequestedBy, job.CreatedAt.UTC().Format(time.RFC3339),
			plural.Count(job.Runs, "time"),
		),
	}
	if job.Workspace != nil {
		lines = append(lines, "of workspace "+job.Workspace.String()+" only")
	}
	if job.Error != nil {
		lines = append(lines, *job.Error)
	}
	lines = append(lines, job.Notes...)
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, output.Printable(line)); err != nil {
			return err
		}
	}
	return output.Table(out, partitionRows(job))
}

func partitionRows(job pipelineadmin.Replay) [][]string {
	rows := [][]string{{"PARTITION", "FROM", "TO", "NEXT", "GONE"}}
	for _, p := range job.Partitions {
		rows = append(rows, []string{
			strconv.Itoa(int(p.Partition)), strconv.FormatInt(p.From, 10), strconv.FormatInt(p.To, 10),
			strconv.FormatInt(p.Next, 10), strconv.FormatInt(p.Trimmed, 10),
		})
	}
	return rows
}
