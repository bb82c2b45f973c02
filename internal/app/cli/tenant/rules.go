package tenant

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/api/promql"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/process"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/outbound"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/internal/services/rulefile"
	"github.com/livegraph/livegraph/internal/services/rulestate"
)

// RulesCmd groups the commands on rules.
type RulesCmd struct {
	List          RulesListCmd     `cmd:"" help:"List the files of rules."`
	Get           RulesGetCmd      `cmd:"" help:"Print a file of rules."`
	Put           RulesPutCmd      `cmd:"" help:"Create or replace a file of rules, or check it with --check."`
	Delete        RulesDeleteCmd   `cmd:"" help:"Delete a file of rules."`
	Alerts        RulesAlertsCmd   `cmd:"" help:"List the active alerts."`
	Alertmanagers AlertmanagersCmd `cmd:"" help:"List and change the Alertmanagers to which the alerts are sent."`
}

// withRuleRoutes opens the store of rules, and runs work.
func (c *tenant) withRuleRoutes(ctx context.Context, work func(*session) error) error {
	return c.withStores(ctx, func(s *stores.Stores, v *session) error {
		v.serve(process.RuleRoutes(c.Config, s.Postgres, outbound.New(c.Outbound.Networks())))
		v.serve(promql.Routes(promql.Deps{Rules: s.Postgres, QueryTimeout: c.API.QueryTimeout}))
		return work(v)
	})
}

// RulesListCmd lists files of rules.
type RulesListCmd struct{ tenant }

// listedFile is a file in the API's list.
type listedFile struct {
	Name          string
	Groups, Rules int
	Version       int64
	UpdatedAt     time.Time
}

// Run prints the files.
func (c *RulesListCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withRuleRoutes(ctx, func(v *session) error {
		files := listing[listedFile]{
			path: "/api/rules", query: url.Values{"limit": {"100"}}, noun: "file",
			head: []string{"NAME", "GROUPS", "RULES", "VERSION", "UPDATED"},
			row: func(f *listedFile) []string {
				return []string{
					f.Name, strconv.Itoa(f.Groups), strconv.Itoa(f.Rules), strconv.FormatInt(f.Version, 10), timeText(&f.UpdatedAt),
				}
			},
		}
		return files.printWith(ctx, out, &c.tenant, v)
	})
}

// RulesGetCmd prints a file.
type RulesGetCmd struct {
	tenant
	Name string `arg:"" help:"The name of the file."`
}

// Run prints the content of the file, as it was sent.
func (c *RulesGetCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withRuleRoutes(ctx, func(v *session) error {
		got, err := v.get(ctx, rulePath(c.Name), nil)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		file, err := decode[struct{ Data struct{ Content string } }](got)
		if err == nil {
			_, err = fmt.Fprint(out, strings.TrimRight(file.Data.Content, "\n")+"\n")
		}
		return err
	})
}

func rulePath(name string) string { return "/api/rules/" + url.PathEscape(name) }

// RulesPutCmd creates, replaces or checks a file.
type RulesPutCmd struct {
	tenant
	File  string `arg:"" help:"The file of rules in Prometheus' format. -: standard input."`
	Name  string `help:"The name that it gets; default: that of the file, without its extension." placeholder:"NAME"`
	Check bool   `help:"Check the file only."`
}

// Run stores the file.
func (c *RulesPutCmd) Run(ctx context.Context, out *output.Writer) error {
	content, err := readInput(c.File, rulefile.MaxBytes+1)
	if err != nil {
		return err
	}
	name := c.Name
	if name == "" {
		if name = strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File)); c.File == "-" {
			name = "rules"
		}
	}
	return c.withRuleRoutes(ctx, func(v *session) error {
		got, err := v.do(ctx, http.MethodPut, rulePath(name)+"?dryRun="+strconv.FormatBool(c.Check), content, nil)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		file, err := decode[struct{ Data listedFile }](got)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%s with %s", plural.Count(file.Data.Groups, "group"), plural.Count(file.Data.Rules, "rule"))
		if c.Check {
			_, err = fmt.Fprintf(out, "%s: %s, no errors\n", c.File, what)
			return err
		}
		_, err = fmt.Fprintf(out, "%s: %s; `livegraph rules alerts` lists the alerts\n", name, what)
		return err
	})
}

// RulesDeleteCmd deletes a file.
type RulesDeleteCmd struct {
	tenant
	Name string `arg:"" help:"The name of the file."`
}

// Run deletes the file.
func (c *RulesDeleteCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withRuleRoutes(ctx, func(v *session) error {
		if _, err := v.do(ctx, http.MethodDelete, rulePath(c.Name), nil, nil); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%s is deleted; its alerts will be resolved\n", c.Name)
		return err
	})
}

// RulesAlertsCmd lists active alerts.
type RulesAlertsCmd struct{ tenant }

// Run prints the alerts, as the last evaluations left them.
func (c *RulesAlertsCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withRuleRoutes(ctx, func(v *session) error {
		got, err := v.get(ctx, promql.Prefix+"/api/v1/alerts", nil)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		found, err := decode[struct {
			Data struct{ Alerts []rulestate.Alert }
		}](got)
		if err != nil {
			return err
		}
		alerts := found.Data.Alerts
		// Those that fire come first.
		slices.SortStableFunc(alerts, func(a, b rulestate.Alert) int { return strings.Compare(a.State, b.State) })
		rows := [][]string{{"STATE", "ALERT", "SINCE", "VALUE", "LABELS", "SUMMARY"}}
		for _, a := range alerts {
			others := a.Labels.Map()
			delete(others, "alertname")
			rows = append(rows, []string{
				a.State, a.Labels.Get("alertname"), timeText(a.ActiveAt), a.Value, tagText(others), a.Annotations.Get("summary"),
			})
		}
		if err := output.Table(out, rows); err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, plural.Count(len(alerts), "alert"))
		return err
	})
}
