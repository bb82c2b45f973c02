package demo

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/output"
)

// question is an example question whose answer requires several nodes of the demo's graph.
const question = "which process talks over the network and is near the disk that fills up?"

// hints prints commands that show what the demo did.
type hints struct {
	caCert     string // file that curl trusts; empty: none
	address    string
	workspace  uuid.UUID
	cpu        string // name of the CPU's source
	host       string // the machine's node; "": it is not in the graph
	history    bool   // the weather is stored
	keyCommand string // prints a key; empty: none does
}

// text returns the commands. Each is one line that works when pasted alone.
func (h *hints) text() string {
	var b strings.Builder
	b.WriteString("\nLook at it; each command works when pasted into a shell:\n")
	key := "$(" + h.keyCommand + ")"
	if h.keyCommand == "" {
		key = "$LIVEGRAPH_API_KEY"
		b.WriteString("\nFirst set LIVEGRAPH_API_KEY to a key of the workspace; `livegraph keys create` makes one.\n")
	}
	headers := ` -H "Authorization: Bearer ` + key + `" -H 'x-workspace-id: ` + h.workspace.String() + "'"
	if h.caCert != "" {
		headers += " --cacert " + output.ShellQuote(h.caCert)
	}
	show := func(what, curl, path string, query url.Values) {
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
		fmt.Fprintf(&b, "\n# %s\n%s%s %s\n", what, curl, headers, output.ShellQuote(h.address+path))
	}
	show("the sources: what is measured, in which units, and which of them are live", "curl -sS",
		"/api/live-data/sources", url.Values{"limit": {"100"}})
	show("this machine's CPU over the last five minutes: mean and peak of every ten seconds", "curl -sS",
		"/api/live-data/query", url.Values{
			"source": {h.cpu}, "metric": {"usage_percent"}, "from": {"-5m"}, "interval": {"10s"}, "aggregation": {"avg,max"},
		})
	if h.history {
		show("four years of Seattle's weather, real measurements: coldest, mean and warmest daily high of every 30 days",
			"curl -sS", "/api/live-data/query", url.Values{
				"source": {"weather/seattle"}, "metric": {"temp_max"}, "from": {"2012-01-01T00:00:00Z"},
				"to": {"2016-01-01T00:00:00Z"}, "interval": {"30d"}, "aggregation": {"min,avg,max"},
			})
	}
	if h.host != "" {
		show("this machine in the graph: its parts, what runs on it, and how they are connected", "curl -sS",
			"/api/queries/nodes/"+h.host+"/neighbors", url.Values{"depth": {"1"}, "limit": {"100"}})
		search := `{"query":"` + question + `","entityTypes":["process","object"],"limit":5}`
		show("a search by words, meaning and the graph; ask in words of your own",
			"curl -sS -H 'Content-Type: application/json' -d "+output.ShellQuote(search), "/api/rag/hybrid-search", nil)
	}
	// Indented, unlike the commands: it does not end by itself.
	show("the CPU's points as they arrive, until Ctrl-C", "  curl -NsS", "/api/live-data/stream",
		url.Values{"source": {h.cpu}})
	fmt.Fprintf(&b, "\nAll of the interface, to read in a browser: %s/api/docs\n", h.address)
	return b.String()
}
