// Package cli implements the command line of the binary, with a file per command.
// Commands find the engines by the same settings as the server does.
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
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// The import of time/tzdata embeds the time zones: queries accept time zones by name, and
// not every machine has the database.

// CLI is the command line.
type CLI struct {
	Config kong.ConfigFlag `help:"YAML file with settings; keys are the flags' names." env:"LIVEGRAPH_CONFIG" placeholder:"FILE"`
	Flags  settings        `embed:""`

	Serve        ServeCmd               `cmd:"" help:"Run the service. Engines without an address are started embedded."`
	Demo         DemoCmd                `cmd:"" help:"Fill a workspace of a running server with this machine's own metrics and graph, and show them."`
	Workspaces   WorkspacesCmd          `cmd:"" help:"Create, list, change and delete workspaces."`
	Keys         KeysCmd                `cmd:"" help:"Create, list, roll and revoke API keys."`
	Operators    OperatorsCmd           `cmd:"" help:"List, create and delete operators, the users of the admin UI, and reset passwords."`
	Export       ExportCmd              `cmd:"" help:"Write a workspace's graph to a file, one node or edge per line."`
	Import       ImportCmd              `cmd:"" help:"Create the nodes and edges of an exported file in a workspace."`
	Backup       BackupCmd              `cmd:"" help:"Take a backup of the whole installation while it runs."`
	Restore      RestoreCmd             `cmd:"" help:"Fill an empty installation from a backup."`
	Sources      tenant.SourcesCmd      `cmd:"" help:"List the sources of a workspace."`
	Series       tenant.SeriesCmd       `cmd:"" help:"List the series of a workspace."`
	Query        tenant.QueryCmd        `cmd:"" help:"Show points of a workspace, raw or aggregated."`
	Graph        tenant.GraphCmd        `cmd:"" help:"Show a workspace's graph, and undo and redo its commands."`
	Documents    tenant.DocumentsCmd    `cmd:"" help:"List the documents of a workspace, and import files as documents."`
	Rules        tenant.RulesCmd        `cmd:"" help:"List, store and delete files of recording and alerting rules, and list alerts."`
	SavedQueries tenant.SavedQueriesCmd `cmd:"" help:"List, store, run and delete saved queries of search."`
	Search       tenant.SearchCmd       `cmd:"" help:"Find nodes of a workspace by words and meaning, with --hybrid also by the graph."`
	Answer       tenant.AnswerCmd       `cmd:"" help:"Answer a question with sentences of a workspace's nodes and documents, and their sources."`
	Index        tenant.IndexCmd        `cmd:"" help:"Show the status of a workspace's search index."`
	Webhooks     tenant.WebhooksCmd     `cmd:"" help:"List, create, delete and test the webhooks of a workspace, and show their deliveries."`
	MCP          MCPCmd                 `cmd:"" name:"mcp" help:"Offer a workspace to a language model by the Model Context Protocol, on stdin and stdout."`
	MQTT         MQTTCmd                `cmd:"" name:"mqtt" help:"Subscribe to MQTT brokers and send their messages to a workspace as points."`
	Audit        AuditCmd               `cmd:"" help:"Show the API requests of all workspaces from the audit log, filtered, as a table, CSV or JSON."`
	Topics       TopicsCmd              `cmd:"" help:"List the topics with their partitions, offsets and lag, and the brokers' addresses."`
	Replay       ReplayCmd              `cmd:"" help:"Make a built-in consumer read a part of its topic again; list, show and cancel replays."`
	DLQ          DLQCmd                 `cmd:"" name:"dlq" help:"List, show, redrive and discard dead letters."`
	Reindex      ReindexCmd             `cmd:"" help:"Rebuild the search index while searches use the current one."`
	Bench        BenchCmd               `cmd:"" help:"Send points to a running server and measure it."`
	Doctor       DoctorCmd              `cmd:"" help:"Check every engine and print advice."`
	Ready        ReadyCmd               `cmd:"" help:"Ask the server on this machine whether it is ready: for health checks."`
	Migrate      MigrateCmd             `cmd:"" help:"Migrate the stores' schemas to this version."`
	Engines      EnginesCmd             `cmd:"" help:"Set up the embedded engines."`
	Settings     SettingsCmd            `cmd:"" name:"config" help:"Print the settings in force, secrets hidden."`
	Version      VersionCmd             `cmd:"" help:"Print the version."`
}

// settings are the settings without their validation: commands that use them validate them, see
// [target.Settings].
type settings config.Config

// Main runs the command line and returns the exit code. version is the binary's version.
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

// commonFlags are the flags in the help of every command. The help of serve and config lists all
// settings. Tools accept them too, so that they find production by the same environment, but few are
// of interest there.
var commonFlags = map[string]bool{"data-dir": true, "help": true, "config": true}

// newParser creates the parser of the command line.
func newParser(ctx context.Context, version buildVersion, stdout, stderr io.Writer) (*kong.Kong, error) {
	var cli CLI
	return kong.New(&cli,
		kong.Name("livegraph"),
		kong.Description("Graph, live data and search in one service, on Kafka, ClickHouse, Postgres, Redis and Milvus."),
		kong.UsageOnError(),
		kong.Vars{
			"plans": strings.Join(access.Plans(), ","), "plan": access.PlanStarter,
			"entityTypes": strings.Join(graph.EntityTypes(), ", "),
			"functions":   strings.Join(timeseries.FunctionNames(), ", "),
		},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Help(printHelp),
		kong.Configuration(config.YAML),
		kong.TypeMapper(reflect.TypeFor[uuid.UUID](), kong.MapperFunc(decodeID)),
		kong.TypeMapper(reflect.TypeFor[*uuid.UUID](), kong.MapperFunc(decodeID)),
		kong.Writers(stdout, stderr),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&output.Writer{Writer: stdout}, version, (*config.Config)(&cli.Flags)),
	)
}

// printHelp prints the help of a command.
func printHelp(options kong.HelpOptions, command *kong.Context) error {
	selected := command.Selected()
	all := selected != nil && (selected.Name == "serve" || selected.Name == "config")
	for _, flag := range command.Model.Flags {
		flag.Hidden = !all && !commonFlags[flag.Name]
	}
	return kong.DefaultHelpPrinter(options, command)
}

// decodeID parses an id from the command line.
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
