package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/output"
)

// SettingsCmd prints the configuration.
type SettingsCmd struct {
	target.Settings `embed:""`
	JSON            bool `help:"Print JSON." xor:"form"`
	Reference       bool `help:"Print every setting with its variable, default and meaning, as Markdown." xor:"form"`
}

// Run prints the settings in force under the flags' names, with secrets hidden, as a
// file that --config accepts or as JSON.
func (c *SettingsCmd) Run(out *output.Writer, command *kong.Context) error {
	flags := settingsOf(command)
	if c.Reference {
		return printReference(out, flags)
	}
	values := map[string]any{}
	for _, flag := range flags {
		value := flag.Target.Interface()
		if d, ok := value.(time.Duration); ok {
			value = d.String()
		}
		values[flag.Name] = value
		if c.JSON {
			continue
		}
		text, err := json.Marshal(value) // also valid as a YAML scalar or list
		if err != nil {
			return err
		}
		if string(text) == "null" {
			text = []byte("[]")
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", flag.Name, text); err != nil {
			return err
		}
	}
	if c.JSON {
		return output.JSON(out, values)
	}
	return nil
}

// settingsOf returns the flags that are settings: those of the application that have a variable, but not
// --config, which names the file with settings.
func settingsOf(command *kong.Context) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(command.Model.Flags), func(flag *kong.Flag) bool {
		return len(flag.Envs) == 0 || flag.Name == "config"
	})
}

// printReference prints docs/settings.md.
func printReference(out io.Writer, flags []*kong.Flag) error {
	var page strings.Builder
	page.WriteString(referenceHead)
	for _, flag := range flags {
		fmt.Fprintf(
			&page, "| `--%s` | `%s` | %s | %s |\n", flag.Name, strings.Join(flag.Envs, "`, `"), defaultOf(flag), cell(flag.Help),
		)
	}
	_, err := io.WriteString(out, page.String())
	return err
}

const referenceHead = "# Settings\n" +
	"\n" +
	"Printed by `livegraph config --reference`. A flag beats its environment variable, which beats the file that\n" +
	"`--config` (LIVEGRAPH_CONFIG) names: YAML with the flags' names as keys, whole (`kafka-brokers: [a:9092]`) or\n" +
	"nested (`kafka: {brokers: [a:9092]}`). Lists are comma-separated in flags and variables. Durations are like\n" +
	"`150ms`, `60s`, `1h`. A value that is not allowed, or a key of the file that is no setting, ends the start with a\n" +
	"message that names it. `livegraph config` prints the settings in force, secrets hidden.\n" +
	"\n" +
	"| flag | variable | default | meaning |\n" +
	"|---|---|---|---|\n"

func defaultOf(flag *kong.Flag) string {
	if flag.Default == "" {
		return ""
	}
	return "`" + cell(flag.Default) + "`"
}

// cell escapes the characters that would end a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
