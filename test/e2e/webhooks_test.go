package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// testWebhooks creates a webhook by the command line. A change of the graph and a test event are queued for it, and
// the server tries to send them. The host does not exist.
func testWebhooks(t *testing.T, s *server) {
	var created struct{ Data struct{ ID, Secret string } }
	require.NoError(t, json.Unmarshal([]byte(s.CLI(
		"webhooks", "create", "on call", "https://x.invalid/a", "--event", "node.created", "--event", "alert.firing",
		"--label", "severity=page", "--entity-type", "object", "--json",
	)), &created))
	require.True(t, strings.HasPrefix(created.Data.Secret, "whsec_"))
	id := created.Data.ID
	require.Regexp(
		t, `on call +`+id+` +enabled +https://x.invalid/a +alert.firing,node.created +0`, s.CLI("webhooks", "list"),
	)
	require.Contains(t, s.CLI("webhooks", "test", id), "is queued")
	s.Do(http.MethodPost, "/api/commands/execute", map[string]any{
		"type": "CREATE_NODE", "payload": map[string]any{"id": uuid.New(), "name": "Pump", "entityType": "object"},
	}, http.StatusCreated, nil)
	var list string
	require.Eventually(t, func() bool {
		list = s.CLI("webhooks", "deliveries", id, "--state", "pending")
		attempted := strings.Count(list, "cannot be resolved") + strings.Count(list, "no answer")
		return attempted == 2 && strings.Contains(list, "webhook.test") && strings.Contains(list, "node.created")
	}, time.Minute, 100*time.Millisecond, "%s", list)
	var deliveries struct{ Data []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(s.CLI("webhooks", "deliveries", id, "--json")), &deliveries))
	require.Contains(t, s.CLI("webhooks", "redeliver", id, deliveries.Data[0].ID), "is queued")
	require.Contains(t, s.CLI("webhooks", "delete", id), "is deleted")
	require.Contains(t, s.CLI("webhooks", "list"), "0 webhooks")
}
