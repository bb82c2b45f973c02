package webhooks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// Limits of a webhook.
const (
	maxName          = 256  // characters, also of names of labels
	maxURL           = 2000 // characters
	maxLabels        = 64
	maxLabelValue    = 1024 // characters
	maxRelationTypes = 100
	maxNodes         = 100
)

// newWebhook is the body of POST webhooks.
type newWebhook struct {
	Name          *string           `json:"name"`
	URL           *string           `json:"url"`
	Events        []string          `json:"events"`
	Labels        map[string]string `json:"labels"`
	EntityTypes   []string          `json:"entityTypes"`
	RelationTypes []string          `json:"relationTypes"`
	NodeIDs       []string          `json:"nodeIds"`
	Enabled       *bool             `json:"enabled"`
}

// webhook validates the body and returns the webhook that it describes.
func (b *newWebhook) webhook(checkURL func(string) error) (hooks.Webhook, error) {
	var c request.Check
	c.Required("name", b.Name != nil)
	c.Required("url", b.URL != nil)
	c.Required("events", b.Events != nil)
	if err := c.Err(); err != nil {
		return hooks.Webhook{}, err
	}
	w := hooks.Webhook{
		Name: *b.Name, URL: *b.URL, Events: b.Events, Enabled: b.Enabled == nil || *b.Enabled,
		Filters: hooks.Filters{Labels: b.Labels, EntityTypes: b.EntityTypes, RelationTypes: b.RelationTypes},
	}
	w.NodeIDs = c.UUIDs("nodeIds", b.NodeIDs, maxNodes)
	return w, check(&c, &w, checkURL)
}

// webhookPatch is the body of PATCH webhooks: a merge patch (RFC 7396).
type webhookPatch struct {
	Name          *string                                               `json:"name"`
	URL           *string                                               `json:"url"`
	Events        []string                                              `json:"events"`
	Labels        request.Nullable[map[string]request.Nullable[string]] `json:"labels"`
	EntityTypes   request.Nullable[[]string]                            `json:"entityTypes"`
	RelationTypes request.Nullable[[]string]                            `json:"relationTypes"`
	NodeIDs       request.Nullable[[]string]                            `json:"nodeIds"`
	Enabled       *bool                                                 `json:"enabled"`
}

// apply applies the patch to a webhook and validates the result.
func (p *webhookPatch) apply(w *hooks.Webhook, checkURL func(string) error) error {
	if p.Name != nil {
		w.Name = *p.Name
	}
	if p.URL != nil {
		w.URL = *p.URL
	}
	if p.Events != nil {
		w.Events = p.Events
	}
	if p.Labels.Null || w.Labels == nil {
		w.Labels = map[string]string{}
	}
	for name, value := range p.Labels.Value {
		if value.Null {
			delete(w.Labels, name)
			continue
		}
		w.Labels[name] = value.Value
	}
	if p.EntityTypes.Set {
		w.EntityTypes = p.EntityTypes.Value
	}
	if p.RelationTypes.Set {
		w.RelationTypes = p.RelationTypes.Value
	}
	var c request.Check
	if p.NodeIDs.Set {
		w.NodeIDs = c.UUIDs("nodeIds", p.NodeIDs.Value, maxNodes)
	}
	if p.Enabled != nil {
		w.Enabled = *p.Enabled
	}
	return check(&c, w, checkURL)
}

// check checks a webhook as it would be stored, and removes repetitions.
func check(c *request.Check, w *hooks.Webhook, checkURL func(string) error) error {
	c.Text("name", w.Name, 1, maxName)
	c.Text("url", w.URL, 1, maxURL)
	if err := checkURL(w.URL); err != nil {
		c.Fail("url", err.Error())
	}
	if len(w.Events) == 0 {
		c.Fail("events", "must not be empty")
	}
	checkTypes(c, "events", w.Events, hooks.EventTypes())
	checkTypes(c, "entityTypes", w.EntityTypes, graph.EntityTypes())
	if len(w.RelationTypes) > maxRelationTypes {
		c.Fail("relationTypes", fmt.Sprintf("must be at most %d", maxRelationTypes))
	}
	for i, relation := range w.RelationTypes {
		c.Text(fmt.Sprintf("relationTypes[%d]", i), relation, 1, graph.MaxRelationType)
	}
	if len(w.Labels) > maxLabels {
		c.Fail("labels", fmt.Sprintf("must be at most %d", maxLabels))
	}
	for _, name := range slices.Sorted(maps.Keys(w.Labels)) {
		if name == "" {
			c.Fail(`labels[""]`, "must not be an empty name")
		}
		c.Text("labels", name, 1, maxName)
		c.Text(request.Member("labels", name), w.Labels[name], 0, maxLabelValue)
	}
	w.Events, w.EntityTypes, w.RelationTypes = distinct(w.Events), distinct(w.EntityTypes), distinct(w.RelationTypes)
	return c.Err()
}

// checkTypes checks that each element of a list is allowed, and none is repeated often.
func checkTypes(c *request.Check, field string, list, allowed []string) {
	if len(list) > len(allowed) {
		c.Fail(field, fmt.Sprintf("must be at most %d", len(allowed)))
		return
	}
	for i, value := range list {
		c.OneOf(fmt.Sprintf("%s[%d]", field, i), value, allowed...)
	}
}

// distinct returns the elements of a list, each once, sorted.
func distinct(list []string) []string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
