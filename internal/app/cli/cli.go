// Package cli is the command line of the binary: one file a command. Commands find the
// engines by the same settings as the server does.
package cli

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	_ "time/tzdata"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/app/cli/tenant"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// queries take time zones by name, and not every machine has them

// CLI is the command line.
type CLI struct {
	Config kong.ConfigFlag `help:"YAML file with settings; keys are the flags' names." env:"LIVEGRAPH_CONFIG" placeholder:"FILE"`

	Serve      ServeCmd          `cmd:"" help:"Run the service. Engines without an address are started embedded."`
	Demo       DemoCmd           `cmd:"" help:"Fill a workspace of a running server with this machine's own metrics and graph, and show them."`
	Workspaces WorkspacesCmd     `cmd:"" help:"Create, list, change and delete workspaces."`
	Keys       KeysCmd           `cmd:"" help:"Create, list, roll and revoke API keys."`
	Operators  OperatorsCmd      `cmd:"" help:"List, create and delete who may use the administration page, and reset passwords."`
	Export     ExportCmd         `cmd:"" help:"Write a workspace's graph to a file, one node or edge a line."`
	Import     ImportCmd         `cmd:"" help:"Make the nodes and edges of an exported file in a workspace."`
	Backup     BackupCmd         `cmd:"" help:"Take a backup of the whole installation while it runs."`
	Restore    RestoreCmd        `cmd:"" help:"Fill an empty installation from a backup."`
	Sources    tenant.SourcesCmd `cmd:"" help:"List the sources of a workspace."`
	Query      tenant.QueryCmd   `cmd:"" help:"Show points of a workspace, as they are or aggregated."`
	Graph      tenant.GraphCmd   `cmd:"" help:"Look around in a workspace's graph, and undo and redo what was done to it."`
	Search     tenant.SearchCmd  `cmd:"" help:"Find nodes of a workspace by words and meaning, with --hybrid by the graph, too."`
	Index      tenant.IndexCmd   `cmd:"" help:"Show how far a workspace's search index is."`
	Audit      AuditCmd          `cmd:"" help:"Show who used which key for what: all workspaces, by filter, as a table, CSV or JSON."`
	Topics     TopicsCmd         `cmd:"" help:"List the topics with their partitions, offsets and lag, and the brokers' addresses."`
	Replay     ReplayCmd         `cmd:"" help:"Have a built-in consumer read a part of its topic once more; list, show and cancel that."`
	DLQ        DLQCmd            `cmd:"" name:"dlq" help:"List, show, redrive and discard dead letters."`
	Reindex    ReindexCmd        `cmd:"" help:"Build the search index anew, beside the one that is searched."`
	Bench      BenchCmd          `cmd:"" help:"Send points to a running server and measure it."`
	Doctor     DoctorCmd         `cmd:"" help:"Check every engine and say what to do."`
	Ready      ReadyCmd          `cmd:"" help:"Ask the server on this machine whether it is ready: for health checks."`
	Migrate    MigrateCmd        `cmd:"" help:"Bring the stores' schemas up to this version."`
	Engines    EnginesCmd        `cmd:"" help:"Set up the embedded engines."`
	Settings   SettingsCmd       `cmd:"" name:"config" help:"Print the settings in force, secrets hidden."`
	Version    VersionCmd        `cmd:"" help:"Print the version."`
}

// Main runs the command line and returns the exit code. version is that of the binary.
func Main(version string, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	done := trail.Command{Version: version}
	parser, err := newParser(trail.WithCommand(ctx, &done), buildVersion(version), stdout, stderr)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	command, err := parser.Parse(args)
	if err != nil {
		parser.Errorf("%s", err)
		return 2
	}
	done.Read(command)
	if err := command.Run(); err != nil {
		_, _ = fmt.Fprintln(stderr, "livegraph:", err)
		return 1
	}
	return 0
}

// shown are the settings that every command's help lists; serve and config list all.
var shown = map[string]bool{"data-dir": true, "help": true, "config": true}

// newParser creates the parser of the command line.
func newParser(ctx context.Context, version buildVersion, stdout, stderr io.Writer) (*kong.Kong, error) {
	var cli CLI
	parser, err := kong.New(&cli,
		kong.Name("livegraph"),
		kong.Description("Graph, live data and search in one service, on Kafka, ClickHouse, Postgres, Redis and Milvus."),
		kong.UsageOnError(),
		kong.Vars{"plans": strings.Join(access.Plans(), ","), "plan": access.PlanStarter},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Configuration(config.YAML),
		kong.TypeMapper(reflect.TypeFor[uuid.UUID](), kong.MapperFunc(decodeID)),
		kong.TypeMapper(reflect.TypeFor[*uuid.UUID](), kong.MapperFunc(decodeID)),
		kong.Writers(stdout, stderr),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&output.Writer{Writer: stdout}, version),
	)
	if err != nil {
		return nil, err
	}
	hideSettings(parser.Model)
	return parser, nil
}

// hideSettings keeps the help of the tools short: they take all settings, so
// that they find production by the same environment, but few need to be read.
func hideSettings(app *kong.Application) {
	settings := map[string]bool{}
	for _, command := range app.Children {
		if command.Name == "config" {
			for _, flag := range command.Flags {
				settings[flag.Name] = true
			}
		}
	}
	var hide func(nodes []*kong.Node)
	hide = func(nodes []*kong.Node) {
		for _, node := range nodes {
			if node.Name == "serve" || node.Name == "config" {
				continue
			}
			for _, flag := range node.Flags {
				if settings[flag.Name] && !shown[flag.Name] {
					flag.Hidden = true
				}
			}
			hide(node.Children)
		}
	}
	hide(app.Children)
}

// decodeID reads an id of the command line.
func decodeID(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("id", &text); err != nil {
		return err
	}
	id, ok := request.ParseUUID(text)
	if !ok {
		return fmt.Errorf("%q is not a UUID", text)
	}
	if target.Kind() == reflect.Pointer { // an id that may be left out
		target.Set(reflect.ValueOf(&id))
	} else {
		target.Set(reflect.ValueOf(id))
	}
	return nil
}
