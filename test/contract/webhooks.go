package contract

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/webhooks"
	deliverer "github.com/livegraph/livegraph/consumers/webhooks"
	"github.com/livegraph/livegraph/internal/platform/outbound"
)

// Webhooks is the group of the routes of webhooks. URLs of the loopback addresses are allowed.
func Webhooks(_ testing.TB, s *Server) []route.Route {
	guard := outbound.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	return webhooks.Routes(webhooks.Deps{Store: s.DB, CheckURL: guard.CheckURL})
}

// DeliverWebhooks sends deliveries with a client until the test ends.
func DeliverWebhooks(t testing.TB, s *Server, client *http.Client) {
	t.Helper()
	background(t, deliverer.New(deliverer.Deps{Store: s.DB, Client: client, Poll: 20 * time.Millisecond}).Run)
}
