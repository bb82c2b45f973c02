// Package trail records what the command line does in the operators' trail, before it is
// done and when it has ended.
package trail

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

const (
	// method is the method of what the command line does in the operators' trail.
	method = "CLI"
	// endTimeout bounds how long a command tries to record how it ended.
	endTimeout = 5 * time.Second
	maxSubject = 256
)

// unrecorded are the commands that are not in the operators' trail: they neither change anything
// nor show what tenants wrote, or they run where there is no trail yet.
var unrecorded = []string{
	"workspaces list", "keys list", "operators list", "topics", "replay list", "replay show", "index", "doctor", "ready",
	"migrate", "restore", "engines", "config", "version", "serve", "demo", "bench",
}

// Command is what a command line does, for the operators' trail.
type Command struct {
	Version   string // of the binary
	name      string // such as keys create
	subject   string
	Workspace *uuid.UUID
	flags     []string // names of the flags that were given
	results   []string
	begun     bool
}

type commandKey struct{}

// WithCommand returns a context that carries the command.
func WithCommand(ctx context.Context, a *Command) context.Context {
	return context.WithValue(ctx, commandKey{}, a)
}

// FromContext returns the command of ctx; nil: there is none.
func FromContext(ctx context.Context) *Command {
	a, _ := ctx.Value(commandKey{}).(*Command)
	return a
}

// AddResult adds the id of something that a command created to its record.
func AddResult(ctx context.Context, id uuid.UUID) {
	if a := FromContext(ctx); a != nil {
		a.results = append(a.results, id.String())
	}
}

// Read takes what a command line says. Values of flags are not kept, except for the workspace:
// they may be secrets.
func (a *Command) Read(command *kong.Context) {
	var words, subjects []string
	for _, step := range command.Path {
		switch {
		case step.Command != nil:
			words = append(words, step.Command.Name)
		case step.Positional != nil:
			subjects = append(subjects, fmt.Sprint(step.Positional.Target.Interface()))
		case step.Flag != nil && !slices.Contains(a.flags, step.Flag.Name):
			a.flags = append(a.flags, step.Flag.Name)
		}
		if step.Flag != nil && step.Flag.Name == "workspace" {
			a.readWorkspace(step.Flag.Target.Interface())
		}
	}
	a.name, a.subject = strings.Join(words, " "), auditrecord.Clean(strings.Join(subjects, "/"), maxSubject)
	if len(words) > 0 && words[0] == "workspaces" && len(subjects) == 1 {
		if id, ok := request.ParseUUID(subjects[0]); ok {
			a.Workspace = &id
		}
	}
}

func (a *Command) readWorkspace(value any) {
	switch id := value.(type) {
	case *uuid.UUID:
		a.Workspace = id
	case uuid.UUID:
		a.Workspace = &id
	case []uuid.UUID:
		if len(id) == 1 {
			a.Workspace = &id[0]
		}
	}
}

func (a *Command) recorded() bool {
	return a != nil && a.name != "" && !a.begun && !slices.ContainsFunc(unrecorded, func(name string) bool {
		return a.name == name || strings.HasPrefix(a.name, name+" ")
	})
}

// Record notes in the operators' trail what the command line is about to do, does it, and notes
// how it ended. What cannot be noted is not done.
func Record(ctx context.Context, db *stores.DB, work func() error) error {
	a := FromContext(ctx)
	if !a.recorded() {
		return work()
	}
	a.begun = true
	id, err := db.BeginOperatorAct(ctx, access.OperatorAct{
		RequestID: reply.NewRequestID(), OperatorName: "cli:" + userName(), Workspace: a.Workspace, Method: method,
		Route: "livegraph " + a.name, Subject: a.subject, UserAgent: "livegraph/" + a.Version,
	})
	if err != nil {
		return fmt.Errorf("it cannot be noted in the operators' trail: %w", err)
	}
	err = work()
	status := int16(200)
	if err != nil {
		status = int16(reply.StatusOf(err))
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if ended := db.EndOperatorAct(ending, id, status, a.results, a.flags); ended != nil {
		_, _ = fmt.Fprintln(os.Stderr, "livegraph: how this ended cannot be noted in the operators' trail:", ended)
	}
	return err
}

// Author is the author of what commands create.
const Author = "cli"

// Operator reports who asks, for what is noted of it.
func Operator() string { return Author + " (" + userName() + ")" }

// userName is the user of this machine who runs the command.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return auditrecord.Clean(u.Username, maxSubject)
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}
