package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// DLQCmd groups the commands on dead letters.
type DLQCmd struct {
	List    DLQListCmd    `cmd:"" help:"List dead letters: records that could not be processed, newest first."`
	Show    DLQShowCmd    `cmd:"" help:"Show a dead letter, decoded."`
	Redrive DLQRedriveCmd `cmd:"" help:"Put dead letters back into their topic."`
	Discard DLQDiscardCmd `cmd:"" help:"Mark dead letters as discarded. The records stay in the topic."`
}

// deadLetterFlags are the flags that select dead letters.
type deadLetterFlags struct {
	Topic          []string   `help:"Only those of this topic; may be repeated." placeholder:"TOPIC"`
	Workspace      *uuid.UUID `help:"Only those of this workspace." placeholder:"ID"`
	From           *timeFlag  `help:"Only those written at this time or later: RFC 3339, or an age such as 2h or 7d." placeholder:"TIME"`
	To             *timeFlag  `help:"Only those written before this time." placeholder:"TIME"`
	ReasonContains string     `help:"Only those whose reason contains this text, case-insensitive." placeholder:"TEXT"`
}

func (f *deadLetterFlags) filter() pipelineadmin.DeadLetterFilter {
	return pipelineadmin.DeadLetterFilter{
		Topics: f.Topic, Workspace: f.Workspace, From: f.From.pointer(), To: f.To.pointer(), ReasonContains: f.ReasonContains,
	}
}

func (f *deadLetterFlags) anySet() bool {
	return len(f.Topic) > 0 || f.Workspace != nil || f.From != nil || f.To != nil || f.ReasonContains != ""
}

// DLQListCmd lists dead letters.
type DLQListCmd struct {
	target.Target   `embed:""`
	deadLetterFlags `embed:""`
	State           []string `help:"Only those in this state: open, redriven or discarded; may be repeated." placeholder:"STATE"`
	Limit           int      `help:"Maximum number of dead letters, 1 to 1000." default:"50" placeholder:"N"`
	JSON            bool     `help:"Print JSON."`
}

// Run prints the newest dead letters.
func (c *DLQListCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPipeline(ctx, func(service *pipelineadmin.Service) error {
		f := c.filter()
		for _, state := range c.State {
			f.States = append(f.States, jobs.DeadLetterState(state))
		}
		list, err := service.DeadLetters(ctx, f, c.Limit, scanProgress())
		if err != nil {
			return err
		}
		if c.JSON {
			return output.JSON(out, list)
		}
		rows := [][]string{{"DEAD LETTER", "WRITTEN", "STATE", "WORKSPACE", "CONTENT", "REASON"}}
		for _, l := range list.Letters {
			rows = append(rows, []string{
				l.String(), l.At.Format(time.RFC3339), string(l.State), workspaceText(l.Workspace), l.Summary,
				truncate(l.Reason, 100),
			})
		}
		if err := output.Table(out, rows); err != nil {
			return err
		}
		if more := list.Matched - int64(len(list.Letters)); more > 0 {
			_, err = fmt.Fprintf(out, "and %s: narrow the filter, or raise --limit\n", plural.Count(more, "older dead letter"))
		}
		return errors.Join(err, printSkipped(out, list.Scan))
	})
}

// printSkipped prints the number of dead letters that were not scanned.
func printSkipped(out *output.Writer, s pipelineadmin.Scan) error {
	if s.Skipped == 0 {
		return nil
	}
	_, err := fmt.Fprintf(
		out, "not scanned: %s; --to and --topic narrow the search to them\n", plural.Count(s.Skipped, "older dead letter"),
	)
	return err
}

// scanProgress returns a function that shows the progress of a scan of dead letters on
// the standard error, or nil if that is not a terminal.
func scanProgress() func(pipelineadmin.Scan) {
	line := output.NewLine(os.Stderr)
	if !line.Terminal {
		return nil
	}
	return func(s pipelineadmin.Scan) {
		if s.Total > 10_000 {
			line.Show(fmt.Sprintf("scanned %d of %d dead letters", s.Scanned, s.Total), s.Scanned >= s.Total)
		}
	}
}

func workspaceText(id *uuid.UUID) string {
	if id == nil {
		return "unknown"
	}
	return id.String()
}

// truncate shortens a text for a table.
func truncate(text string, maxRunes int) string {
	if runes := []rune(text); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return text
}

// DLQShowCmd shows a dead letter.
type DLQShowCmd struct {
	target.Target `embed:""`
	Letter        string `arg:"" help:"The dead letter, as list shows it." placeholder:"TOPIC/PARTITION/OFFSET"`
	Raw           bool   `help:"Print the record's value as it is, and nothing else." xor:"form"`
	JSON          bool   `help:"Print JSON, with key and value in base64." xor:"form"`
}

// Run prints the dead letter.
func (c *DLQShowCmd) Run(ctx context.Context, out *output.Writer) error {
	ref, err := pipelineadmin.ParseRecordRef(c.Letter)
	if err != nil {
		return err
	}
	return c.WithPipeline(ctx, func(service *pipelineadmin.Service) error {
		l, err := service.ShowDeadLetter(ctx, ref)
		switch {
		case err != nil:
			return err
		case c.Raw:
			_, err := out.Write(l.Value)
			return err
		case c.JSON:
			return output.JSON(out, struct {
				pipelineadmin.DeadLetterDetails
				Key   string `json:"key"`
				Value string `json:"value"`
			}{l, base64.StdEncoding.EncodeToString(l.Key), base64.StdEncoding.EncodeToString(l.Value)})
		}
		return printDeadLetter(out, l)
	})
}

func printDeadLetter(out *output.Writer, l pipelineadmin.DeadLetterDetails) error {
	state := string(l.State)
	if l.Mark != nil {
		state += fmt.Sprintf(", by %s at %s", l.Mark.MarkedBy, l.Mark.At.UTC().Format(time.RFC3339))
		if l.Mark.Reason != "" {
			state += ": " + l.Mark.Reason
		}
	}
	origin := "unknown"
	if l.Origin != nil {
		origin = l.Origin.String()
	}
	rows := [][]string{
		{"dead letter", l.String()}, {"state", state}, {"reason", l.Reason}, {"written", l.At.Format(time.RFC3339Nano)},
		{"origin", origin}, {"request", cmp.Or(l.RequestID, "unknown")}, {"workspace", workspaceText(l.Workspace)},
		{"content", l.Summary}, {"bytes", strconv.Itoa(l.Bytes)},
	}
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		rows = append(rows, []string{"header " + name, l.Headers[name]})
	}
	if err := output.Table(out, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return errors.Join(err, output.JSON(out, l.Decoded))
}

// actionFlags are the flags of the commands that redrive or discard dead letters.
type actionFlags struct {
	target.Target   `embed:""`
	deadLetterFlags `embed:""`
	Letters         []string `arg:"" optional:"" help:"Dead letters, as list shows them. Default: all open ones that the flags select." placeholder:"TOPIC/PARTITION/OFFSET"`
	All             bool     `help:"All open dead letters, if no flag selects any."`
	Again           bool     `help:"Include dead letters that were redriven or discarded before."`
	DryRun          bool     `help:"Print what would be done, and do nothing."`
	JSON            bool     `help:"Print JSON."`
}

// request reads the flags.
func (f *actionFlags) request(reason string) (pipelineadmin.DeadLetterRequest, error) {
	r := pipelineadmin.DeadLetterRequest{
		Filter: f.filter(), DryRun: f.DryRun, Again: f.Again, Reason: reason, RequestedBy: trail.Operator(),
	}
	for _, text := range f.Letters {
		ref, err := pipelineadmin.ParseRecordRef(text)
		if err != nil {
			return r, err
		}
		r.Records = append(r.Records, ref)
	}
	switch {
	case len(r.Records) > 0 && (f.anySet() || f.All):
		return r, errors.New("name dead letters or select them by flags, not both")
	case len(r.Records) == 0 && !f.anySet() && !f.All:
		return r, errors.New(
			"name dead letters, select them by --topic, --workspace, --from, --to or --reason-contains, or pass --all",
		)
	}
	return r, nil
}

// act redrives or discards dead letters by calling do, and prints the outcome of each.
func (f *actionFlags) act(ctx context.Context, out *output.Writer, reason, dryRunText string,
	do func(*pipelineadmin.Service, pipelineadmin.DeadLetterRequest, func(pipelineadmin.DeadLetterResult)) (
		pipelineadmin.DeadLetterResult, error,
	),
) error {
	r, err := f.request(reason)
	if err != nil {
		return err
	}
	return f.WithPipeline(ctx, func(service *pipelineadmin.Service) error {
		show := scanProgress()
		result, err := do(service, r, func(partial pipelineadmin.DeadLetterResult) {
			if show != nil {
				show(partial.Scan)
			}
		})
		if f.JSON {
			return errors.Join(output.JSON(out, result), err)
		}
		return errors.Join(printOutcomes(out, result, dryRunText), err)
	})
}

func printOutcomes(out *output.Writer, result pipelineadmin.DeadLetterResult, dryRunText string) error {
	rows := [][]string{{"DEAD LETTER", "OUTCOME", "CONTENT", "REASON"}}
	for _, o := range result.Outcomes {
		what := string(o.Outcome)
		if o.Outcome == pipelineadmin.OutcomePlanned {
			what = dryRunText
		}
		rows = append(rows, []string{o.String(), what, o.Summary, truncate(o.SkipReason, 200)})
	}
	if len(result.Outcomes) > 0 {
		if err := output.Table(out, rows); err != nil {
			return err
		}
	}
	counts := ""
	for _, fate := range []pipelineadmin.Outcome{
		pipelineadmin.OutcomePlanned, pipelineadmin.OutcomeRedriven, pipelineadmin.OutcomeDiscarded,
		pipelineadmin.OutcomeSkipped,
	} {
		n := result.Counts[fate]
		if n == 0 {
			continue
		}
		what := string(fate)
		if fate == pipelineadmin.OutcomePlanned {
			what = dryRunText
		}
		counts += fmt.Sprintf("%s %d, ", what, n)
	}
	if counts == "" {
		counts = "no dead letter is selected  "
	}
	if _, err := fmt.Fprintln(out, counts[:len(counts)-2]); err != nil {
		return err
	}
	return printSkipped(out, result.Scan)
}

// DLQRedriveCmd redrives dead letters.
type DLQRedriveCmd struct {
	actionFlags `embed:""`
	Reason      string `help:"The reason, which show prints later." placeholder:"TEXT"`
}

// Run writes the dead letters back to their topics.
func (c *DLQRedriveCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.act(ctx, out, c.Reason, "would be redriven", func(
		service *pipelineadmin.Service, r pipelineadmin.DeadLetterRequest, progress func(pipelineadmin.DeadLetterResult),
	) (pipelineadmin.DeadLetterResult, error) {
		return service.Redrive(ctx, r, progress)
	})
}

// DLQDiscardCmd marks dead letters as discarded.
type DLQDiscardCmd struct {
	actionFlags `embed:""`
	Reason      string `help:"The reason." required:"" placeholder:"TEXT"`
}

// Run marks the dead letters.
func (c *DLQDiscardCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.act(ctx, out, c.Reason, "would be discarded", func(
		service *pipelineadmin.Service, r pipelineadmin.DeadLetterRequest, progress func(pipelineadmin.DeadLetterResult),
	) (pipelineadmin.DeadLetterResult, error) {
		return service.Discard(ctx, r, progress)
	})
}
