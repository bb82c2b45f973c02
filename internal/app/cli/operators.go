package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/password"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// OperatorsCmd groups the commands on operators, the users of the admin UI.
type OperatorsCmd struct {
	List     OperatorsListCmd     `cmd:"" help:"List the operators."`
	Create   OperatorsCreateCmd   `cmd:"" help:"Create an operator. The password is shown once."`
	Password OperatorsPasswordCmd `cmd:"" help:"Reset an operator's password and end all its sessions."`
	Delete   OperatorsDeleteCmd   `cmd:"" help:"Delete an operator and end all its sessions."`
}

// OperatorsListCmd lists operators.
type OperatorsListCmd struct {
	target.Target `embed:""`
	JSON          bool `help:"Print JSON."`
}

// Run prints the operators by name.
func (c *OperatorsListCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		list, err := db.Operators(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			if list == nil {
				list = []access.Operator{}
			}
			return output.JSON(out, list)
		}
		rows := [][]string{{"ID", "NAME", "SESSIONS", "LAST LOGIN", "FROM", "CREATED"}}
		for i := range list {
			o := &list[i]
			from := "-"
			if o.LastLoginIP != nil {
				from = o.LastLoginIP.String()
			}
			rows = append(rows, []string{
				o.ID.String(), o.Name, strconv.Itoa(o.Sessions), timeText(o.LastLoginAt), from, o.CreatedAt.Format(time.DateTime),
			})
		}
		return output.Table(out, rows)
	})
}

// newPassword is the source of a password: generated, or a line of the standard input.
type newPassword struct {
	Stdin bool `help:"Read the password, of 12 to 256 characters, from the first line of the standard input instead of generating one."`
}

// read returns the password, and whether it was generated and must be shown.
func (p *newPassword) read(from io.Reader) (text string, generated bool, err error) {
	if !p.Stdin {
		return password.Generate(), true, nil
	}
	line, err := bufio.NewReader(io.LimitReader(from, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", false, fmt.Errorf("reading the password: %w", err)
	}
	text = strings.TrimRight(line, "\r\n")
	var check request.Check
	admin.CheckPassword(&check, "password", text)
	return text, false, check.Err()
}

// operatorWithPassword is an operator with a generated password, which is printed only
// once.
type operatorWithPassword struct {
	ID       uuid.UUID `json:"id"`
	Name     string    `json:"name"`
	Password string    `json:"password,omitempty"`
}

// printOperator prints an operator, and its password if that was generated.
func printOperator(out *output.Writer, asJSON bool, o *access.Operator, text string, generated bool) error {
	answer := operatorWithPassword{ID: o.ID, Name: o.Name}
	if generated {
		answer.Password = text
	}
	if asJSON {
		return output.JSON(out, answer)
	}
	if !generated {
		_, err := fmt.Fprintf(out, "operator %s (%s)\n", o.Name, o.ID)
		return err
	}
	_, err := fmt.Fprintf(out, "%s\n\nThe password of operator %s (%s). It is not shown again.\n", text, o.Name, o.ID)
	return err
}

// OperatorsCreateCmd creates an operator.
type OperatorsCreateCmd struct {
	target.Target `embed:""`
	newPassword   `embed:""`
	Name          string `help:"The name to log in with." required:"" placeholder:"NAME"`
	JSON          bool   `help:"Print JSON."`
}

// Run creates the operator and prints the password if it was generated.
func (c *OperatorsCreateCmd) Run(ctx context.Context, out *output.Writer) error {
	var check request.Check
	admin.CheckOperatorName(&check, "--name", c.Name)
	if err := check.Err(); err != nil {
		return err
	}
	text, generated, err := c.read(os.Stdin)
	if err != nil {
		return err
	}
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		o, err := db.CreateOperator(ctx, c.Name, password.Hash(text))
		if err != nil {
			return err
		}
		trail.AddResult(ctx, o.ID)
		return printOperator(out, c.JSON, &o, text, generated)
	})
}

// OperatorsPasswordCmd resets a password.
type OperatorsPasswordCmd struct {
	target.Target `embed:""`
	newPassword   `embed:""`
	Name          string `arg:"" help:"The operator's name."`
	JSON          bool   `help:"Print JSON."`
}

// Run changes the password, ends all sessions of the operator, and prints the password
// if it was generated.
func (c *OperatorsPasswordCmd) Run(ctx context.Context, out *output.Writer) error {
	text, generated, err := c.read(os.Stdin)
	if err != nil {
		return err
	}
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		o, err := db.OperatorByName(ctx, c.Name)
		if err != nil {
			return err
		}
		changed, err := db.SetOperatorPassword(ctx, o.ID, password.Hash(text))
		if err != nil {
			return err
		}
		return printOperator(out, c.JSON, &changed, text, generated)
	})
}

// OperatorsDeleteCmd deletes an operator.
type OperatorsDeleteCmd struct {
	target.Target `embed:""`
	Name          string `arg:"" help:"The operator's name."`
	JSON          bool   `help:"Print JSON."`
}

// Run deletes the operator. The last operator cannot be deleted.
func (c *OperatorsDeleteCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		o, err := db.OperatorByName(ctx, c.Name)
		if err != nil {
			return err
		}
		if err := db.DeleteOperator(ctx, o.ID); err != nil {
			return err
		}
		if c.JSON {
			return output.JSON(out, operatorWithPassword{ID: o.ID, Name: o.Name})
		}
		_, err = fmt.Fprintf(out, "operator %s is deleted\n", o.Name)
		return err
	})
}
