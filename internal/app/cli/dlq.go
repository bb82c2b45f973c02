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
	Discard DLQDiscardCmd `cmd:"" help:"Note that nothing is to be done about dead letters. They stay where they are."`
}

// letterFlags choose dead letters.
type letterFlags struct {
	Topic          []string   `help:"Only those of this topic; may be repeated." placeholder:"TOPIC"`
	Workspace      *uuid.UUID `help:"Only those of this workspace." placeholder:"ID"`
	From           *timeFlag  `help:"Only those put aside at this time or later: RFC 3339, or an age such as 2h or 7d." placeholder:"TIME"`
	To             *timeFlag  `help:"Only those put aside before this time." placeholder:"TIME"`
	ReasonContains string     `help:"Only those whose reason has this text, in any case." placeholder:"TEXT"`
}

func (f *letterFlags) filter() pipelineadmin.LetterFilter {
	return pipelineadmin.LetterFilter{
		Topics: f.Topic, Workspace: f.Workspace, From: f.From.pointer(), To: f.To.pointer(), ReasonContains: f.ReasonContains,
	}
}

func (f *letterFlags) given() bool {
	return len(f.Topic) > 0 || f.Workspace != nil || f.From != nil || f.To != nil || f.ReasonContains != ""
}

// DLQListCmd lists dead letters.
type DLQListCmd struct {
	target.Target `embed:""`
	letterFlags   `embed:""`
	State         []string `help:"Only those in this state: open, redriven or discarded; may be repeated." placeholder:"STATE"`
	Limit         int      `help:"Most letters, 1 to 1000." default:"50" placeholder:"N"`
	JSON          bool     `help:"Print JSON."`
}

// Run prints the newest letters.
func (c *DLQListCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPipeline(ctx, func(desk *pipelineadmin.Service) error {
		f := c.filter()
		for _, state := range c.State {
			f.States = append(f.States, jobs.LetterState(state))
		}
		list, err := desk.Letters(ctx, f, c.Limit, scanProgress())
		if err != nil {
			return err
		}
		if c.JSON {
			return output.JSON(out, list)
		}
		rows := [][]string{{"LETTER", "PUT ASIDE", "STATE", "WORKSPACE", "HOLDS", "REASON"}}
		for _, l := range list.Letters {
			rows = append(rows, []string{
				l.String(), l.At.Format(time.RFC3339), string(l.State), workspaceText(l.Workspace), l.Holds,
				shortened(l.Reason, 100),
			})
		}
		if err := output.Table(out, rows); err != nil {
			return err
		}
		if more := list.Matched - int64(len(list.Letters)); more > 0 {
			_, err = fmt.Fprintf(out, "and %s: narrow the filter, or raise --limit\n", plural.Count(more, "older letter"))
		}
		return errors.Join(err, sayScan(out, list.Scan))
	})
}

// sayScan reports what was not looked at.
func sayScan(out *output.Writer, s pipelineadmin.Scan) error {
	if s.Skipped == 0 {
		return nil
	}
	_, err := fmt.Fprintf(
		out, "not looked at: %s; --to and --topic narrow the search to them\n", plural.Count(s.Skipped, "older letter"),
	)
	return err
}

// scanProgress says on the standard error, if that is a terminal, how far a look at
// dead letters is.
func scanProgress() func(pipelineadmin.Scan) {
	line := output.NewLine(os.Stderr)
	if !line.Terminal {
		return nil
	}
	return func(s pipelineadmin.Scan) {
		if s.Total > 10_000 {
			line.Show(fmt.Sprintf("looked at %d of %d letters", s.Scanned, s.Total), s.Scanned >= s.Total)
		}
	}
}

func workspaceText(id *uuid.UUID) string {
	if id == nil {
		return "unknown"
	}
	return id.String()
}

// shortened cuts a text so that a table can be read.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// DLQShowCmd shows a dead letter.
type DLQShowCmd struct {
	target.Target `embed:""`
	Letter        string `arg:"" help:"Its place, as list shows it." placeholder:"TOPIC/PARTITION/OFFSET"`
	Raw           bool   `help:"Print the record's value as it is, and nothing else." xor:"form"`
	JSON          bool   `help:"Print JSON, with key and value in base64." xor:"form"`
}

// Run prints the letter.
func (c *DLQShowCmd) Run(ctx context.Context, out *output.Writer) error {
	at, err := pipelineadmin.ParsePlace(c.Letter)
	if err != nil {
		return err
	}
	return c.WithPipeline(ctx, func(desk *pipelineadmin.Service) error {
		l, err := desk.ShowLetter(ctx, at)
		switch {
		case err != nil:
			return err
		case c.Raw:
			_, err := out.Write(l.Value)
			return err
		case c.JSON:
			return output.JSON(out, struct {
				pipelineadmin.ShownLetter
				Key   string `json:"key"`
				Value string `json:"value"`
			}{l, base64.StdEncoding.EncodeToString(l.Key), base64.StdEncoding.EncodeToString(l.Value)})
		}
		return printLetter(out, l)
	})
}

func printLetter(out *output.Writer, l pipelineadmin.ShownLetter) error {
	state := string(l.State)
	if l.Mark != nil {
		state += fmt.Sprintf(", by %s at %s", l.Mark.By, l.Mark.At.UTC().Format(time.RFC3339))
		if l.Mark.Reason != "" {
			state += ": " + l.Mark.Reason
		}
	}
	origin := "it does not say"
	if l.Origin != nil {
		origin = l.Origin.String()
	}
	rows := [][]string{
		{"letter", l.String()}, {"state", state}, {"reason", l.Reason}, {"put aside", l.At.Format(time.RFC3339Nano)},
		{"stood at", origin}, {"request", cmp.Or(l.RequestID, "unknown")}, {"workspace", workspaceText(l.Workspace)},
		{"holds", l.Holds}, {"bytes", strconv.Itoa(l.Bytes)},
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

// actionFlags say which letters something is done about.
type actionFlags struct {
	target.Target `embed:""`
	letterFlags   `embed:""`
	Letters       []string `arg:"" optional:"" help:"Their places, as list shows them. Without any: all open ones that the flags choose." placeholder:"TOPIC/PARTITION/OFFSET"`
	All           bool     `help:"All open letters there are, if no flag chooses."`
	Again         bool     `help:"Those as well about which something was done before."`
	DryRun        bool     `help:"Print what would be done, and do nothing."`
	JSON          bool     `help:"Print JSON."`
}

// request reads the flags.
func (f *actionFlags) request(reason string) (pipelineadmin.LetterRequest, error) {
	r := pipelineadmin.LetterRequest{
		Filter: f.filter(), DryRun: f.DryRun, Again: f.Again, Reason: reason, By: trail.Operator(),
	}
	for _, text := range f.Letters {
		at, err := pipelineadmin.ParsePlace(text)
		if err != nil {
			return r, err
		}
		r.Places = append(r.Places, at)
	}
	switch {
	case len(r.Places) > 0 && (f.given() || f.All):
		return r, errors.New("name letters by their places or choose them by flags, not both")
	case len(r.Places) == 0 && !f.given() && !f.All:
		return r, errors.New(
			"name letters by their places, choose some by --topic, --workspace, --from, --to or --reason-contains, or " +
				"give --all",
		)
	}
	return r, nil
}

// act does something about letters and prints what became of them.
func (f *actionFlags) act(ctx context.Context, out *output.Writer, reason, would string,
	do func(*pipelineadmin.Service, pipelineadmin.LetterRequest, func(pipelineadmin.LetterResult)) (
		pipelineadmin.LetterResult, error,
	),
) error {
	r, err := f.request(reason)
	if err != nil {
		return err
	}
	return f.WithPipeline(ctx, func(desk *pipelineadmin.Service) error {
		show := scanProgress()
		result, err := do(desk, r, func(so pipelineadmin.LetterResult) {
			if show != nil {
				show(so.Scan)
			}
		})
		if f.JSON {
			return errors.Join(output.JSON(out, result), err)
		}
		return errors.Join(printOutcomes(out, result, would), err)
	})
}

func printOutcomes(out *output.Writer, result pipelineadmin.LetterResult, would string) error {
	rows := [][]string{{"LETTER", "WHAT", "HOLDS", "WHY"}}
	for _, o := range result.Outcomes {
		what := string(o.Fate)
		if o.Fate == pipelineadmin.FateWould {
			what = would
		}
		rows = append(rows, []string{o.String(), what, o.Holds, shortened(o.Why, 200)})
	}
	if len(result.Outcomes) > 0 {
		if err := output.Table(out, rows); err != nil {
			return err
		}
	}
	counts := ""
	for _, fate := range []pipelineadmin.Fate{
		pipelineadmin.FateWould, pipelineadmin.FateRedriven, pipelineadmin.FateDiscarded, pipelineadmin.FateSkipped,
	} {
		n := result.Counts[fate]
		if n == 0 {
			continue
		}
		what := string(fate)
		if fate == pipelineadmin.FateWould {
			what = would
		}
		counts += fmt.Sprintf("%s %d, ", what, n)
	}
	if counts == "" {
		counts = "no letter is chosen  "
	}
	if _, err := fmt.Fprintln(out, counts[:len(counts)-2]); err != nil {
		return err
	}
	return sayScan(out, result.Scan)
}

// DLQRedriveCmd puts dead letters back.
type DLQRedriveCmd struct {
	actionFlags `embed:""`
	Reason      string `help:"Why, for who looks at the letter later." placeholder:"TEXT"`
}

// Run puts the letters back.
func (c *DLQRedriveCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.act(ctx, out, c.Reason, "would be redriven", func(
		desk *pipelineadmin.Service, r pipelineadmin.LetterRequest, progress func(pipelineadmin.LetterResult),
	) (pipelineadmin.LetterResult, error) {
		return desk.Redrive(ctx, r, progress)
	})
}

// DLQDiscardCmd notes that nothing is to be done about dead letters.
type DLQDiscardCmd struct {
	actionFlags `embed:""`
	Reason      string `help:"Why." required:"" placeholder:"TEXT"`
}

// Run marks the letters.
func (c *DLQDiscardCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.act(ctx, out, c.Reason, "would be discarded", func(
		desk *pipelineadmin.Service, r pipelineadmin.LetterRequest, progress func(pipelineadmin.LetterResult),
	) (pipelineadmin.LetterResult, error) {
		return desk.Discard(ctx, r, progress)
	})
}
