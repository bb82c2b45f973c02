package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// lookAt is what the demo needs to know to say where to look.
type lookAt struct {
	caCert    string // file that curl believes; empty: none
	address   string
	workspace uuid.UUID
	cpu       string    // name of the CPU's source
	host      uuid.UUID // the machine's node; zero: it is not in the graph
	history   bool      // the back-fill is there
	// key is what stands for the key in a command: the key itself where a
	// person sees it once, else a shell expression that finds one.
	key     string
	expires time.Time // of the key that is shown; zero when none is
	hint    string    // what to do before the commands work, "" for nothing
}

// keyVariable holds the key in commands when nothing else can tell it.
const keyVariable = "LIVEGRAPH_API_KEY"

// text returns the commands, each one line that works when it is pasted alone.
func (l *lookAt) text() string {
	var b strings.Builder
	b.WriteString("\nLook at it; each command works when pasted into a shell")
	if !l.expires.IsZero() {
		b.WriteString(" (the key in them is the demo's own, until " + l.expires.UTC().Format("2006-01-02 15:04 UTC") + ")")
	}
	b.WriteString(":\n")
	if l.hint != "" {
		b.WriteString("\n" + l.hint + "\n")
	}
	for _, c := range l.commands() {
		fmt.Fprintf(&b, "\n# %s\n%s\n", c.shows, c.command)
	}
	// Not among the commands: it does not end by itself.
	follow := strings.Replace(l.curl("/api/live-data/stream", "source="+l.cpu), "curl ", "curl -N ", 1)
	fmt.Fprintf(&b, "\n# the CPU's points as they arrive, until Ctrl-C\n  %s\n", follow)
	fmt.Fprintf(&b, "\nAll of the interface, to read in a browser: %s/api/docs\n", l.address)
	return b.String()
}

type lookCommand struct{ shows, command string }

func (l *lookAt) commands() []lookCommand {
	third := lookCommand{
		"this machine's newest values, of every series",
		l.curl("/api/live-data/query", "latest=true", "limit=100"),
	}
	if l.history {
		third = lookCommand{
			"four years of Seattle's weather, real measurements: coldest, mean and warmest daily high of every 30 days",
			l.curl("/api/live-data/query", "source="+dataset+"/seattle", "metric=temp_max",
				"from=2012-01-01T00:00:00Z", "to=2016-01-01T00:00:00Z", "interval=30d", "aggregation=min,avg,max"),
		}
	}
	commands := []lookCommand{
		{
			"the sources: what is measured, in which units, and which of them are live",
			l.curl("/api/live-data/sources", "limit=100"),
		},
		{
			"this machine's CPU over the last five minutes: mean and peak of every ten seconds",
			l.curl(
				"/api/live-data/query", "source="+l.cpu, "metric=usage_percent", "from=-5m", "interval=10s", "aggregation=avg,max",
			),
		},
		third,
	}
	if l.host == uuid.Nil {
		return commands
	}
	return append(commands,
		lookCommand{
			"this machine in the graph: its parts, what runs on it, and how they hang together",
			l.curl("/api/queries/nodes/"+l.host.String()+"/neighbors", "depth=1", "limit=100"),
		},
		lookCommand{
			"the processes of this machine, newest first; they come and go with the real ones",
			l.curl("/api/queries/nodes", "property.kind=process", "sort=-createdAt"),
		},
		lookCommand{
			"a search by words, meaning and the graph; ask in words of your own",
			l.post("/api/rag/hybrid-search", `{"query":"`+question+`","entityTypes":["process","object"],"limit":5}`),
		})
}

// question is what the demo's graph has an answer to that stands in no single node.
const question = "which process talks over the network and is near the disk that fills up?"

// curl writes a GET as a command; parameters are name=value.
func (l *lookAt) curl(path string, parameters ...string) string {
	parts := append([]string{"curl -sSG"}, l.headers()...)
	for _, p := range parameters {
		parts = append(parts, "--data-urlencode "+quote(p))
	}
	return strings.Join(append(parts, quote(l.address+path)), " ")
}

// post writes a POST of JSON as a command.
func (l *lookAt) post(path, body string) string {
	parts := append([]string{"curl -sS"}, l.headers()...)
	return strings.Join(
		append(parts, "-H 'Content-Type: application/json'", "-d "+quote(body), quote(l.address+path)), " ",
	)
}

func (l *lookAt) headers() (parts []string) {
	if l.caCert != "" {
		parts = append(parts, "--cacert "+quote(l.caCert))
	}
	return append(parts, `-H "Authorization: Bearer `+l.key+`"`, "-H "+quote("x-workspace-id: "+l.workspace.String()))
}

// quote makes a word that the shell takes as it is.
func quote(word string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
