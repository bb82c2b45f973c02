package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/linkstore"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// WorkspacesCmd groups the commands on workspaces.
type WorkspacesCmd struct {
	Create WorkspacesCreateCmd `cmd:"" help:"Create a workspace."`
	List   WorkspacesListCmd   `cmd:"" help:"List the workspaces."`
	Update WorkspacesUpdateCmd `cmd:"" help:"Change a workspace's name, plan or limits."`
	Delete WorkspacesDeleteCmd `cmd:"" help:"Delete a workspace and all its data."`
}

// WorkspacesCreateCmd creates a workspace.
type WorkspacesCreateCmd struct {
	target.Target `embed:""`
	Name          string `help:"Its name; it may repeat." required:"" placeholder:"NAME"`
	Plan          string `help:"starter (60 requests a minute, 10,000 a day), pro (300, 100,000) or enterprise (set by --per-minute and --per-day, else unlimited)." enum:"${plans}" default:"${plan}"`
	Mode          string `help:"live or test; fixed. A key opens workspaces of its own mode." enum:"live,test" default:"live"`
	PerMinute     *int64 `help:"Requests a minute; plan enterprise." placeholder:"N"`
	PerDay        *int64 `help:"Requests a day; plan enterprise." placeholder:"N"`
	JSON          bool   `help:"Print JSON."`
}

// Run creates the workspace and prints it.
func (c *WorkspacesCreateCmd) Run(ctx context.Context, out *output.Writer) error {
	if err := errors.Join(checkName(c.Name), checkLimits(c.Plan, c.PerMinute, c.PerDay)); err != nil {
		return err
	}
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		w, err := db.CreateWorkspace(ctx, access.Workspace{
			Name: c.Name, Plan: c.Plan, Mode: c.Mode, PerMinute: c.PerMinute, PerDay: c.PerDay,
		})
		if err != nil {
			return err
		}
		trail.AddResult(ctx, w.ID)
		if c.JSON {
			return output.JSON(out, w)
		}
		_, err = fmt.Fprintf(out, "workspace %s (%s, %s, %s)\n", w.ID, w.Name, w.Plan, w.Mode)
		return err
	})
}

// WorkspacesListCmd lists workspaces.
type WorkspacesListCmd struct {
	target.Target `embed:""`
	JSON          bool `help:"Print JSON."`
}

// Run prints the existing workspaces, oldest first.
func (c *WorkspacesListCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		list, err := db.Workspaces(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			if list == nil {
				list = []access.Workspace{}
			}
			return output.JSON(out, list)
		}
		rows := [][]string{{"ID", "NAME", "PLAN", "MODE", "PER MINUTE", "PER DAY", "SOURCES", "SERIES", "KEPT", "CREATED"}}
		for i := range list {
			w := &list[i]
			perMinute, perDay := w.RequestLimits()
			rows = append(rows, []string{
				w.ID.String(), w.Name, w.Plan, w.Mode, limitText(perMinute), limitText(perDay),
				fmt.Sprintf("%d/%d", w.Sources, w.MaxSources), fmt.Sprintf("%d/%d", w.Series, w.MaxSeries),
				retentionText(w.RetentionDays),
				w.CreatedAt.Format(time.DateTime),
			})
		}
		return output.Table(out, rows)
	})
}

// WorkspacesUpdateCmd changes a workspace.
type WorkspacesUpdateCmd struct {
	target.Target `embed:""`
	ID            uuid.UUID      `arg:"" help:"The workspace's id."`
	Name          *string        `help:"A new name." placeholder:"NAME"`
	Plan          *string        `help:"Another plan: starter, pro or enterprise." placeholder:"PLAN"`
	PerMinute     *int64         `help:"Requests a minute, plan enterprise; 0: unlimited." placeholder:"N"`
	PerDay        *int64         `help:"Requests a day, plan enterprise; 0: unlimited." placeholder:"N"`
	MaxSources    *int64         `help:"Maximum number of sources." placeholder:"N"`
	MaxSeries     *int64         `help:"Maximum number of series." placeholder:"N"`
	RetentionDays *retentionFlag `help:"Days for which points are kept, unless their source keeps them for less; none: forever. A longer retention does not restore points that a shorter one removed." placeholder:"N|none"`
	Links         *string        `help:"Whose mentions of names become edges: off, documents or all (nodes)." placeholder:"MODE"`
	JSON          bool           `help:"Print JSON."`
}

// Run changes what the flags name and prints the workspace.
func (c *WorkspacesUpdateCmd) Run(ctx context.Context, out *output.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		change := access.WorkspaceChange{
			Name: c.Name, Plan: c.Plan, PerMinute: zeroIsNone(c.PerMinute), PerDay: zeroIsNone(c.PerDay),
			MaxSources: c.MaxSources, MaxSeries: c.MaxSeries,
		}
		if c.RetentionDays != nil {
			change.RetentionDays = &c.RetentionDays.days
		}
		if c.Plan != nil && *c.Plan != access.PlanEnterprise { // the other plans have fixed limits
			change.PerMinute, change.PerDay = new(*int64), new(*int64)
		} else if c.Plan == nil && (isPositive(c.PerMinute) || isPositive(c.PerDay)) {
			if err := requireEnterprise(ctx, db, c.ID); err != nil {
				return err
			}
		}
		w, err := db.UpdateWorkspace(ctx, c.ID, change)
		if err != nil {
			return err
		}
		if c.Links != nil {
			if _, err := db.SetLinkMode(ctx, c.ID, linkstore.Mode(*c.Links)); err != nil {
				return err
			}
		}
		if c.JSON {
			return output.JSON(out, w)
		}
		perMinute, perDay := w.RequestLimits()
		_, err = fmt.Fprintf(
			out, "workspace %s (%s, %s, %s): %s requests a minute, %s a day; at most %s and %s; points are kept %s\n",
			w.ID, output.Printable(w.Name), w.Plan, w.Mode, limitText(perMinute), limitText(perDay),
			plural.Count(w.MaxSources, "source"), plural.CountOf(w.MaxSeries, "series", "series"),
			retentionText(w.RetentionDays),
		)
		return err
	})
}

func (c *WorkspacesUpdateCmd) check() error {
	var problems []error
	if c.Name != nil {
		problems = append(problems, checkName(*c.Name))
	}
	if c.Links != nil {
		var check request.Check
		check.OneOf("--links", *c.Links, linkstore.Modes()...)
		problems = append(problems, check.Err())
	}
	if c.Plan != nil {
		var check request.Check
		check.OneOf("--plan", *c.Plan, access.Plans()...)
		problems = append(problems, check.Err())
		if *c.Plan != access.PlanEnterprise && (isPositive(c.PerMinute) || isPositive(c.PerDay)) {
			problems = append(problems, errPlanLimits)
		}
	}
	for flag, value := range map[string]*int64{
		"--per-minute": c.PerMinute, "--per-day": c.PerDay, "--max-sources": c.MaxSources, "--max-series": c.MaxSeries,
	} {
		if value != nil && *value < 0 {
			problems = append(problems, fmt.Errorf("%s must not be negative", flag))
		}
	}
	for _, limit := range []*int64{c.PerMinute, c.PerDay} {
		if limit != nil && *limit >= ratelimit.Unlimited {
			problems = append(problems, errLimitTooLarge)
			break
		}
	}
	return errors.Join(problems...)
}

func requireEnterprise(ctx context.Context, db *stores.DB, id uuid.UUID) error {
	found, err := db.WorkspacesByID(ctx, []uuid.UUID{id})
	if err != nil {
		return err
	}
	if len(found) == 1 && found[0].Plan != access.PlanEnterprise {
		return errPlanLimits
	}
	return nil // the update refuses an unknown workspace
}

var errPlanLimits = errors.New(
	"--per-minute and --per-day are for the plan enterprise; the others have their own limits",
)

// A larger limit could not be distinguished from no limit in the responses' headers.
var errLimitTooLarge = fmt.Errorf(
	"--per-minute and --per-day must be below %d; a workspace of plan enterprise without them is unlimited",
	ratelimit.Unlimited,
)

func checkName(name string) error {
	var check request.Check
	check.Text("--name", name, 1, 256)
	return check.Err()
}

func checkLimits(plan string, limits ...*int64) error {
	for _, limit := range limits {
		switch {
		case limit == nil:
		case plan != access.PlanEnterprise:
			return errPlanLimits
		case *limit <= 0:
			return errors.New("--per-minute and --per-day must be above zero")
		case *limit >= ratelimit.Unlimited:
			return errLimitTooLarge
		}
	}
	return nil
}

func isPositive(limit *int64) bool { return limit != nil && *limit > 0 }

// zeroIsNone converts a flag into a change: nil without the flag, a pointer to nil for 0,
// else a pointer to the limit.
func zeroIsNone(limit *int64) **int64 {
	switch {
	case limit == nil:
		return nil
	case *limit == 0:
		return new(*int64)
	}
	return &limit
}

func limitText(limit *int64) string {
	if limit == nil {
		return "unlimited"
	}
	return strconv.FormatInt(*limit, 10)
}
