package demo

import (
	"fmt"
	"os"
	"strings"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/output"
)

// question is an example question whose answer requires several nodes of the demo's graph.
const question = "which process talks over the network and is near the disk that fills up?"

// hints returns commands that show what the demo did. Each is one line that works when pasted alone. host is the
// machine's node, "" if it is not in the graph.
func (s *session) hints(host string) string {
	var b strings.Builder
	b.WriteString("\nLook at it; each command works when pasted into a shell:\n")
	show := func(what, command string) {
		fmt.Fprintf(&b, "\n# %s\n%s %s --data-dir %s --workspace %s\n", what, output.ShellQuote(os.Args[0]), command,
			output.ShellQuote(s.deps.DataDir), s.deps.Workspace)
	}
	show("the sources, and which of them are live", "sources list")
	show("this machine's CPU over the last five minutes: mean and peak of every ten seconds", "query --source "+
		output.ShellQuote(machine.HostName()+"/cpu")+" --metric usage_percent --from 5m --interval 10s --aggregation avg,max")
	if len(s.stations) > 0 {
		show("four years of Seattle's weather: coldest, mean and warmest daily high of every 30 days",
			"query --source weather/seattle --metric temp_max --from 2012-01-01T00:00:00Z --to 2016-01-01T00:00:00Z "+
				"--interval 30d --aggregation min,avg,max")
	}
	if host != "" {
		show("this machine in the graph: its parts and what runs on it", "graph neighbors "+host)
		show("a search by words, meaning and the graph; ask in words of your own",
			"search --hybrid --entity-type process,object --limit 5 "+output.ShellQuote(question))
	}
	address := strings.TrimRight(s.deps.BaseURL, "/")
	fmt.Fprintf(&b, "\nIn a browser: the API at %s/api/docs, the admin UI at %s/admin\n", address, address)
	return b.String()
}
