package tenant

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

const (
	alertmanagersPath = "/api/alertmanagers"
	maxSecretFile     = 8 << 10 // bytes; the API refuses what is too long
)

// AlertmanagersCmd groups the commands on Alertmanagers.
type AlertmanagersCmd struct {
	List   AlertmanagersListCmd   `cmd:"" help:"List the Alertmanagers, without their secrets."`
	Set    AlertmanagersSetCmd    `cmd:"" help:"Add an Alertmanager, or change how requests to it are authenticated."`
	Remove AlertmanagersRemoveCmd `cmd:"" help:"Remove an Alertmanager."`
}

// alertmanager is an Alertmanager in a request, in which a secret that is not given is kept.
type alertmanager struct {
	URL           string               `json:"url"`
	Authorization *authorization       `json:"authorization,omitempty"`
	Headers       []alertmanagerHeader `json:"headers,omitempty"`
}

// storedAlertmanager is an Alertmanager in an answer.
type storedAlertmanager struct {
	alertmanager
	UpdatedAt  *time.Time `json:"updatedAt"`
	LastSentAt *time.Time `json:"lastSentAt"`
	LastError  string     `json:"lastError"`
}

type authorization struct {
	Type     string `json:"type"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	Token    string `json:"token,omitempty"`
}

type alertmanagerHeader struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// row returns the row of an Alertmanager in a table.
func (a *storedAlertmanager) row() []string {
	login, names := "-", make([]string, len(a.Headers))
	if a.Authorization != nil {
		login = strings.TrimSpace(a.Authorization.Type + " " + a.Authorization.Username)
	}
	for i, h := range a.Headers {
		names[i] = h.Name
	}
	return []string{
		a.URL, login, cmp.Or(strings.Join(names, ","), "-"), timeText(a.UpdatedAt), timeText(a.LastSentAt),
		cmp.Or(a.LastError, "-"),
	}
}

// alertmanagers returns the Alertmanagers, and the entity tag of the list.
func (v *session) alertmanagers(ctx context.Context) (all []storedAlertmanager, tag string, got answer, err error) {
	if got, err = v.do(ctx, http.MethodGet, alertmanagersPath, nil, nil); err != nil {
		return nil, "", got, err
	}
	list, err := decode[struct {
		Data struct{ Alertmanagers []storedAlertmanager }
	}](got)
	return list.Data.Alertmanagers, got.header.Get("ETag"), got, err
}

// changeAlertmanagers replaces the Alertmanagers by those that change returns, unless they were changed meanwhile.
func (v *session) changeAlertmanagers(
	ctx context.Context, change func([]alertmanager) ([]alertmanager, error),
) (answer, error) {
	stored, tag, got, err := v.alertmanagers(ctx)
	if err != nil {
		return got, err
	}
	all := make([]alertmanager, len(stored))
	for i := range stored {
		all[i] = stored[i].alertmanager
	}
	if all, err = change(all); err != nil {
		return got, err
	}
	body, err := json.Marshal(map[string]any{"alertmanagers": all})
	if err != nil {
		return got, err
	}
	return v.doIf(ctx, tag, http.MethodPut, alertmanagersPath, body, nil)
}

// AlertmanagersListCmd lists Alertmanagers.
type AlertmanagersListCmd struct{ tenant }

// Run prints the Alertmanagers.
func (c *AlertmanagersListCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withRuleRoutes(ctx, func(v *session) error {
		all, _, got, err := v.alertmanagers(ctx)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		rows := [][]string{{"URL", "AUTHORIZATION", "HEADERS", "UPDATED", "LAST SENT", "ERROR"}}
		for i := range all {
			rows = append(rows, all[i].row())
		}
		if err := output.Table(out, rows); err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, plural.Count(len(all), "Alertmanager"))
		return err
	})
}

// AlertmanagersSetCmd adds or changes an Alertmanager.
type AlertmanagersSetCmd struct {
	tenant
	URL          string            `arg:"" help:"Its URL, without /api/v2/alerts."`
	Username     string            `help:"User of basic authentication." placeholder:"NAME" xor:"type"`
	PasswordFile string            `help:"File with the password. -: standard input. Without it, the stored password is kept." placeholder:"FILE"`
	TokenFile    string            `help:"File with a bearer token. -: standard input." placeholder:"FILE" xor:"type"`
	Header       map[string]string `help:"Further header with the file that has its value; repeat it for several. With NAME= the stored value is kept." placeholder:"NAME=FILE"`
}

// alertmanager returns the Alertmanager that the flags describe.
func (c *AlertmanagersSetCmd) alertmanager() (a alertmanager, err error) {
	a.URL = c.URL
	switch {
	case c.Username != "":
		a.Authorization = &authorization{Type: "basic", Username: c.Username}
		a.Authorization.Password, err = readSecret(c.PasswordFile)
	case c.PasswordFile != "":
		err = errors.New("--password-file: requires --username")
	case c.TokenFile != "":
		a.Authorization = &authorization{Type: "bearer"}
		a.Authorization.Token, err = readSecret(c.TokenFile)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Header)) {
		h := alertmanagerHeader{Name: name}
		if err == nil {
			h.Value, err = readSecret(c.Header[name])
		}
		a.Headers = append(a.Headers, h)
	}
	return a, err
}

// readSecret returns the content of a file without the end of its last line, "" without a file.
func readSecret(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	content, err := readInput(file, maxSecretFile)
	content = bytes.TrimRight(content, "\r\n")
	if err == nil && len(content) == 0 {
		err = fmt.Errorf("%s: is empty", file)
	}
	return string(content), err
}

// Run sets the Alertmanager.
func (c *AlertmanagersSetCmd) Run(ctx context.Context, out *output.Writer) error {
	next, err := c.alertmanager()
	if err != nil {
		return err
	}
	return c.withRuleRoutes(ctx, func(v *session) error {
		got, err := v.changeAlertmanagers(ctx, func(all []alertmanager) ([]alertmanager, error) {
			return append(without(all, c.URL), next), nil
		})
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		_, err = fmt.Fprintf(out, "%s is set\n", output.Printable(c.URL))
		return err
	})
}

func without(all []alertmanager, address string) []alertmanager {
	return slices.DeleteFunc(all, func(a alertmanager) bool { return a.URL == address })
}

// AlertmanagersRemoveCmd removes an Alertmanager.
type AlertmanagersRemoveCmd struct {
	tenant
	URL string `arg:"" help:"Its URL."`
}

// Run removes the Alertmanager.
func (c *AlertmanagersRemoveCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withRuleRoutes(ctx, func(v *session) error {
		_, err := v.changeAlertmanagers(ctx, func(all []alertmanager) ([]alertmanager, error) {
			others := without(slices.Clone(all), c.URL)
			if len(others) == len(all) {
				return nil, fmt.Errorf("there is no Alertmanager %s", output.Printable(c.URL))
			}
			return others, nil
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s is removed\n", output.Printable(c.URL))
		return err
	})
}
