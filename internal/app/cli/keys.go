package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/services/keyadmin"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// KeysCmd groups the commands on API keys.
type KeysCmd struct {
	Create KeysCreateCmd `cmd:"" help:"Create an API key. Its text is shown once."`
	List   KeysListCmd   `cmd:"" help:"List API keys, without their texts."`
	Roll   KeysRollCmd   `cmd:"" help:"Create a key's successor and keep the old key valid for a while."`
	Revoke KeysRevokeCmd `cmd:"" help:"Revoke a key now."`
}

// KeysCreateCmd creates a key.
type KeysCreateCmd struct {
	target.Target `embed:""`
	Workspace     []uuid.UUID  `help:"A workspace that the key gives access to; may be repeated, all of one mode." required:"" placeholder:"ID"`
	Name          string       `help:"Its name." required:"" placeholder:"NAME"`
	Scope         []string     `help:"A scope that it has; may be repeated. None: only /api/me. One of read:nodes, write:nodes, read:edges, write:edges, read:livedata, write:livedata, admin." placeholder:"SCOPE"`
	Expires       durationFlag `help:"How long the key is valid, such as 90d or 12h; default: until it is revoked." placeholder:"90d"`
	JSON          bool         `help:"Print JSON."`
}

// createdKey is a key with its text, which is printed only on creation.
type createdKey struct {
	access.Key
	Text string `json:"key"`
}

// Run creates the key and prints its text.
func (c *KeysCreateCmd) Run(ctx context.Context, out *output.Writer) error {
	scopes, err := checkScopes(c.Scope)
	if err = errors.Join(checkName(c.Name), err); err != nil {
		return err
	}
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		mode, err := keyMode(ctx, db, c.Workspace)
		if err != nil {
			return err
		}
		spec := access.NewKey{
			Name: c.Name, Mode: mode, Scopes: scopes, Workspaces: c.Workspace, CreatedBy: trail.Author,
		}
		if c.Expires > 0 {
			end := time.Now().Add(time.Duration(c.Expires))
			spec.ExpiresAt = &end
		}
		key, text, err := keyadmin.Create(ctx, db, spec)
		if err != nil {
			return err
		}
		trail.AddResult(ctx, key.ID)
		return printCreated(out, key, text, c.JSON)
	})
}

// keyMode returns the mode of the workspaces, which must exist and have the same one.
func keyMode(ctx context.Context, db *stores.DB, ids []uuid.UUID) (string, error) {
	found, err := db.WorkspacesByID(ctx, ids)
	if err != nil {
		return "", err
	}
	mode, err := keyadmin.Mode(found, ids)
	switch wrong := (*keyadmin.WorkspaceError)(nil); {
	case !errors.As(err, &wrong):
		return mode, err
	case wrong.Unknown:
		return "", fmt.Errorf("no workspace %s; `livegraph workspaces list` shows them", wrong.ID)
	}
	return "", errors.New("the workspaces are of different modes; a key gives access to workspaces of one mode")
}

func checkScopes(texts []string) ([]string, error) {
	scopes := []string{}
	for _, text := range texts {
		if !slices.Contains(request.Scopes, request.Scope(text)) {
			return nil, fmt.Errorf("--scope: %q is not one of %v", text, request.Scopes)
		}
		if !slices.Contains(scopes, text) {
			scopes = append(scopes, text)
		}
	}
	return scopes, nil
}

func printCreated(out *output.Writer, key access.Key, text apikey.Key, asJSON bool) error {
	if asJSON {
		return output.JSON(out, createdKey{Key: key, Text: text.Reveal()})
	}
	_, err := fmt.Fprintf(out, "%s\n\nid %s, scopes %s, expires %s. The text above is not shown again.\n",
		text.Reveal(), key.ID, orNone(strings.Join(key.Scopes, " ")), expiryText(key.ExpiresAt))
	return err
}

// KeysListCmd lists keys.
type KeysListCmd struct {
	target.Target `embed:""`
	Workspace     *uuid.UUID `help:"Only keys with access to this workspace." placeholder:"ID"`
	JSON          bool       `help:"Print JSON."`
}

// Run prints the keys, oldest first.
func (c *KeysListCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		list, err := db.Keys(ctx, c.Workspace)
		if err != nil {
			return err
		}
		if c.JSON {
			if list == nil {
				list = []access.Key{}
			}
			return output.JSON(out, list)
		}
		rows := [][]string{{"ID", "KEY", "NAME", "SCOPES", "STATE", "EXPIRES", "LAST USED", "CREATED"}}
		for i := range list {
			k := &list[i]
			rows = append(rows, []string{
				k.ID.String(), k.Display + "…", k.Name, orNone(strings.Join(k.Scopes, " ")), stateOf(k, time.Now()),
				expiryText(k.ExpiresAt), timeText(k.LastUsedAt), k.CreatedAt.Format(time.DateTime),
			})
		}
		return output.Table(out, rows)
	})
}

func stateOf(k *access.Key, now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return "expired"
	}
	return "active"
}

// KeysRollCmd creates a key's successor.
type KeysRollCmd struct {
	target.Target `embed:""`
	ID            uuid.UUID    `arg:"" help:"The key's id."`
	Grace         durationFlag `help:"How long the old key stays valid." default:"24h"`
	JSON          bool         `help:"Print JSON."`
}

// Run creates the successor with the same actor, scopes and workspaces, and prints its
// text.
func (c *KeysRollCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		key, text, err := keyadmin.Roll(ctx, db, c.ID, trail.Author, time.Duration(c.Grace))
		if err != nil {
			return err
		}
		trail.AddResult(ctx, key.ID)
		return printCreated(out, key, text, c.JSON)
	})
}

// KeysRevokeCmd revokes a key.
type KeysRevokeCmd struct {
	target.Target `embed:""`
	ID            uuid.UUID `arg:"" help:"The key's id."`
	JSON          bool      `help:"Print JSON."`
}

// Run revokes the key. No process accepts it a second later.
func (c *KeysRevokeCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		key, err := db.RevokeKey(ctx, c.ID)
		if err != nil {
			return err
		}
		if c.JSON {
			return output.JSON(out, key)
		}
		_, err = fmt.Fprintf(out, "key %s (%s…) is revoked\n", key.ID, key.Display)
		return err
	})
}

func expiryText(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.Format(time.DateTime)
}

func timeText(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.DateTime)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
