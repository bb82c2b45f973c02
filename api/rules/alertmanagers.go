package rules

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
)

const (
	maxAlertmanagers = 10
	maxURL           = 2000 // characters
)

// alertmanagers is the JSON form of the Alertmanagers of a workspace.
type alertmanagers struct {
	URLs []string `json:"urls"`
}

func (a *api) alertmanagers(w http.ResponseWriter, r *http.Request) error {
	if err := request.NoInput(r); err != nil {
		return err
	}
	urls, err := a.Store.Alertmanagers(r.Context(), request.PrincipalOf(r.Context()).Workspace)
	if err != nil {
		return err
	}
	reply.Resource(w, r, listOf(urls))
	return nil
}

// listOf returns the JSON form of URLs, of which there may be none.
func listOf(urls []string) alertmanagers { return alertmanagers{append([]string{}, urls...)} }

func (a *api) setAlertmanagers(w http.ResponseWriter, r *http.Request) error {
	condition, err := reply.ConditionOf(r)
	if err != nil {
		return err
	}
	var body alertmanagers
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	var c request.Check
	c.Required("urls", body.URLs != nil)
	if len(body.URLs) > maxAlertmanagers {
		c.Fail("urls", fmt.Sprintf("must be at most %d", maxAlertmanagers))
	}
	for i, address := range body.URLs[:min(len(body.URLs), maxAlertmanagers)] {
		field := fmt.Sprintf("urls[%d]", i)
		c.Text(field, address, 1, maxURL)
		if err := a.CheckURL(address); err != nil {
			c.Fail(field, err.Error())
		}
	}
	if err := c.Err(); err != nil {
		return err
	}
	urls := slices.Clone(body.URLs)
	slices.Sort(urls)
	urls = slices.Compact(urls)
	workspace := request.PrincipalOf(r.Context()).Workspace
	err = a.Store.SetAlertmanagers(r.Context(), workspace, urls, func(current []string) error {
		return condition.Check(listOf(current))
	})
	if err != nil {
		return err
	}
	reply.Changed(w, r, http.StatusOK, listOf(urls), listOf(urls))
	return nil
}
