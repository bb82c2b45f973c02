package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/livegraph/livegraph/internal/config"
)

// SettingsCmd prints the configuration.
type SettingsCmd struct {
	config.Config `embed:""`
	JSON          bool `help:"Print JSON."`
}

// Run prints the settings in force under the flags' names, secrets hidden: as a
// file that --config takes, or as JSON.
func (c *SettingsCmd) Run(out *output, command *kong.Context) error {
	values := map[string]any{}
	for _, flag := range command.Selected().Flags {
		if flag.Name == "json" || flag.Name == "help" {
			continue
		}
		value := flag.Target.Interface()
		if d, ok := value.(time.Duration); ok {
			value = d.String()
		}
		values[flag.Name] = value
		if c.JSON {
			continue
		}
		text, err := json.Marshal(value) // a YAML scalar or list, too
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
		return printJSON(out, values)
	}
	return nil
}
