package tenant

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/process"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/outbound"
)

const webhooksPath = "/api/webhooks"

// WebhooksCmd groups the commands on webhooks.
type WebhooksCmd struct {
	List       WebhooksListCmd       `cmd:"" help:"List a workspace's webhooks."`
	Create     WebhooksCreateCmd     `cmd:"" help:"Create a webhook and print its secret, which is not shown again."`
	Delete     WebhooksDeleteCmd     `cmd:"" help:"Delete a webhook."`
	Deliveries WebhooksDeliveriesCmd `cmd:"" help:"List the deliveries of a webhook, newest first."`
	Redeliver  WebhooksRedeliverCmd  `cmd:"" help:"Send a delivery again."`
	Test       WebhooksTestCmd       `cmd:"" help:"Send a test event to a webhook."`
}

// withWebhookRoutes opens the stores of the routes of webhooks, and runs work.
func (c *tenant) withWebhookRoutes(ctx context.Context, work func(*session) error) error {
	return c.withStores(ctx, func(s *stores.Stores, v *session) error {
		v.serve(process.WebhookRoutes(s.Postgres, outbound.New(c.Outbound.Networks())))
		return work(v)
	})
}

// WebhooksListCmd lists webhooks.
type WebhooksListCmd struct{ tenant }

// listedWebhook is a webhook in an answer.
type listedWebhook struct {
	ID             uuid.UUID
	Name           string
	URL            string
	Events         []string
	Enabled        bool
	DisabledReason *string
	Dropped        int64
	Secret         string
}

func (w *listedWebhook) state() string {
	switch {
	case w.Enabled:
		return "enabled"
	case w.DisabledReason != nil:
		return "disabled: " + *w.DisabledReason
	}
	return "disabled"
}

// Run prints the webhooks.
func (c *WebhooksListCmd) Run(ctx context.Context, out *output.Writer) error {
	list := listing[listedWebhook]{
		path: webhooksPath, query: url.Values{"limit": {"100"}}, noun: "webhook",
		head: []string{"NAME", "ID", "STATE", "URL", "EVENTS", "DROPPED"},
		row: func(w *listedWebhook) []string {
			return []string{
				w.Name, w.ID.String(), w.state(), w.URL, strings.Join(w.Events, ","), strconv.FormatInt(w.Dropped, 10),
			}
		},
	}
	return c.withWebhookRoutes(ctx, func(v *session) error { return list.printWith(ctx, out, &c.tenant, v) })
}

// WebhooksCreateCmd creates a webhook.
type WebhooksCreateCmd struct {
	tenant
	Name         string            `arg:"" help:"Name of the webhook."`
	URL          string            `arg:"" help:"Where events are sent."`
	Event        []string          `help:"Type of events, such as alert.firing; repeat it for several." required:"" placeholder:"TYPE"`
	Label        map[string]string `help:"Only alerts with this label; repeat it for several." placeholder:"NAME=VALUE"`
	EntityType   []string          `help:"Only nodes of these types: ${entityTypes}." placeholder:"TYPE"`
	RelationType []string          `help:"Only edges of this type; repeat it for several." placeholder:"TYPE"`
	Node         []uuid.UUID       `help:"Only this node and its edges; repeat it for several." placeholder:"ID"`
}

// Run creates the webhook.
func (c *WebhooksCreateCmd) Run(ctx context.Context, out *output.Writer) error {
	body := map[string]any{"name": c.Name, "url": c.URL, "events": c.Event}
	if len(c.Label) > 0 {
		body["labels"] = c.Label
	}
	if len(c.EntityType) > 0 {
		body["entityTypes"] = c.EntityType
	}
	if len(c.RelationType) > 0 {
		body["relationTypes"] = c.RelationType
	}
	if len(c.Node) > 0 {
		body["nodeIds"] = c.Node
	}
	return c.withWebhookRoutes(ctx, func(v *session) error {
		got, err := v.post(ctx, webhooksPath, body)
		if err != nil {
			return err
		}
		created, err := decode[struct{ Data listedWebhook }](got)
		if err != nil {
			return err
		}
		trail.AddResult(ctx, created.Data.ID)
		if c.JSON {
			return got.print(out)
		}
		_, err = fmt.Fprintf(out, "id:     %s\nsecret: %s\n", created.Data.ID, created.Data.Secret)
		return err
	})
}

// WebhooksDeleteCmd deletes a webhook.
type WebhooksDeleteCmd struct {
	tenant
	Webhook uuid.UUID `arg:"" help:"The webhook."`
}

// Run deletes the webhook.
func (c *WebhooksDeleteCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withWebhookRoutes(ctx, func(v *session) error {
		if _, err := v.do(ctx, http.MethodDelete, webhooksPath+"/"+c.Webhook.String(), nil, nil); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "webhook %s is deleted\n", c.Webhook)
		return err
	})
}

// WebhooksDeliveriesCmd lists deliveries.
type WebhooksDeliveriesCmd struct {
	tenant
	Webhook uuid.UUID `arg:"" help:"The webhook."`
	State   string    `help:"Only those in this state: pending, delivered, failed." placeholder:"STATE"`
	Limit   int       `help:"Maximum number of deliveries, 1 to 100." default:"50"`
	Offset  int       `help:"Number of deliveries to skip." default:"0"`
}

// listedDelivery is a delivery in an answer.
type listedDelivery struct {
	ID            uuid.UUID
	EventID       uuid.UUID
	EventType     string
	State         string
	Attempts      int
	NextAttemptAt *time.Time
	LastStatus    *int
	LastError     *string
	CreatedAt     time.Time
}

// Run prints the deliveries.
func (c *WebhooksDeliveriesCmd) Run(ctx context.Context, out *output.Writer) error {
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}, "offset": {strconv.Itoa(c.Offset)}}
	setParameter(query, "state", c.State)
	list := listing[listedDelivery]{
		path: webhooksPath + "/" + c.Webhook.String() + "/deliveries", query: query, noun: "delivery", nouns: "deliveries",
		head: []string{"CREATED", "ID", "EVENT", "STATE", "ATTEMPTS", "NEXT", "LAST ERROR"},
		row: func(d *listedDelivery) []string {
			return []string{
				timeText(&d.CreatedAt), d.ID.String(), d.EventType, d.State, strconv.Itoa(d.Attempts), timeText(d.NextAttemptAt),
				output.TextOr(d.LastError, "-"),
			}
		},
	}
	return c.withWebhookRoutes(ctx, func(v *session) error { return list.printWith(ctx, out, &c.tenant, v) })
}

// WebhooksRedeliverCmd sends a delivery again.
type WebhooksRedeliverCmd struct {
	tenant
	Webhook  uuid.UUID `arg:"" help:"The webhook."`
	Delivery uuid.UUID `arg:"" help:"The delivery."`
}

// Run queues the delivery.
func (c *WebhooksRedeliverCmd) Run(ctx context.Context, out *output.Writer) error {
	path := webhooksPath + "/" + c.Webhook.String() + "/deliveries/" + c.Delivery.String() + "/redeliver"
	return c.queue(ctx, out, path)
}

// WebhooksTestCmd sends a test event.
type WebhooksTestCmd struct {
	tenant
	Webhook uuid.UUID `arg:"" help:"The webhook."`
}

// Run queues the event.
func (c *WebhooksTestCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.queue(ctx, out, webhooksPath+"/"+c.Webhook.String()+"/test")
}

// queue calls a route that queues a delivery, and prints its id.
func (c *tenant) queue(ctx context.Context, out *output.Writer, path string) error {
	return c.withWebhookRoutes(ctx, func(v *session) error {
		got, err := v.do(ctx, http.MethodPost, path, nil, nil)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		queued, err := decode[struct{ Data listedDelivery }](got)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "delivery %s is queued for a server with role rules\n", queued.Data.ID)
		return err
	})
}
