package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// keyVariable is the environment variable for the key in commands if neither the key nor a command can be printed.
const keyVariable = "LIVEGRAPH_API_KEY"

// question is an example question whose answer requires several nodes of the demo's graph.
const question = "which process talks over the network and is near the disk that fills up?"

// hints prints commands that show what the demo did.
type hints struct {
	caCert    string // file that curl trusts; empty: none
	address   string
	workspace uuid.UUID
	cpu       string    // name of the CPU's source
	host      uuid.UUID // the machine's node; zero: it is not in the graph
	history   bool      // the weather is stored
	key       string    // as used in a command: the key, or a shell expression
	expires   time.Time // of the printed key; zero if none is printed
	before    string    // what to do before the commands work, "" for nothing
}

// text returns the commands. Each is one line that works when pasted alone.
func (h *hints) text() string {
	var b strings.Builder
	b.WriteString("\nLook at it; each command works when pasted into a shell")
	if !h.expires.IsZero() {
		b.WriteString(" (the key in them is the demo's own, until " + h.expires.UTC().Format("2006-01-02 15:04 UTC") + ")")
	}
	b.WriteString(":\n")
	if h.before != "" {
		b.WriteString("\n" + h.before + "\n")
	}
	show := func(what, command string) { fmt.Fprintf(&b, "\n# %s\n%s\n", what, command) }
	show("the sources: what is measured, in which units, and which of them are live",
		h.get("/api/live-data/sources", "limit=100"))
	show("this machine's CPU over the last five minutes: mean and peak of every ten seconds", h.get("/api/live-data/query",
		"source="+h.cpu, "metric=usage_percent", "from=-5m", "interval=10s", "aggregation=avg,max"))
	if h.history {
		show("four years of Seattle's weather, real measurements: coldest, mean and warmest daily high of every 30 days",
			h.get("/api/live-data/query", "source="+dataset+"/seattle", "metric=temp_max",
				"from=2012-01-01T00:00:00Z", "to=2016-01-01T00:00:00Z", "interval=30d", "aggregation=min,avg,max"))
	} else {
		show("this machine's newest values, of every series", h.get("/api/live-data/query", "latest=true", "limit=100"))
	}
	if h.host != uuid.Nil {
		show("this machine in the graph: its parts, what runs on it, and how they are connected",
			h.get("/api/queries/nodes/"+h.host.String()+"/neighbors", "depth=1", "limit=100"))
		show("the processes of this machine, newest first; they come and go with the real ones",
			h.get("/api/queries/nodes", "property.kind=process", "sort=-createdAt"))
		show("a search by words, meaning and the graph; ask in words of your own", h.curl("curl -sS",
			"/api/rag/hybrid-search", "-H 'Content-Type: application/json'",
			"-d "+quote(`{"query":"`+question+`","entityTypes":["process","object"],"limit":5}`)))
	}
	// Indented, unlike the commands: it does not end by itself.
	show("the CPU's points as they arrive, until Ctrl-C",
		"  "+h.curl("curl -NsSG", "/api/live-data/stream", "--data-urlencode "+quote("source="+h.cpu)))
	fmt.Fprintf(&b, "\nAll of the interface, to read in a browser: %s/api/docs\n", h.address)
	return b.String()
}

// get returns a command that sends a GET request. Parameters have the form name=value.
func (h *hints) get(path string, parameters ...string) string {
	for i, p := range parameters {
		parameters[i] = "--data-urlencode " + quote(p)
	}
	return h.curl("curl -sSG", path, parameters...)
}

func (h *hints) curl(curl, path string, arguments ...string) string {
	parts := []string{curl}
	if h.caCert != "" {
		parts = append(parts, "--cacert "+quote(h.caCert))
	}
	parts = append(parts, `-H "Authorization: Bearer `+h.key+`"`, "-H "+quote("x-workspace-id: "+h.workspace.String()))
	return strings.Join(append(append(parts, arguments...), quote(h.address+path)), " ")
}

// quote quotes a word for the shell if necessary.
func quote(word string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
