// Package trail records commands of the command line in the operators' trail, before they
// run and when they have ended.
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
)

const (
	// method is the method of command line entries in the operators' trail.
	method = "CLI"
	// endTimeout bounds the attempt to record how a command ended.
	endTimeout = 5 * time.Second
	maxSubject = 256
)

// unrecorded are the commands that are not in the operators' trail: they neither change
// anything nor show data of tenants, or they run before the trail exists.
var unrecorded = []string{
	"workspaces list", "keys list", "operators list", "topics", "replay list", "replay show", "index", "doctor", "ready",
	"migrate", "restore", "engines", "config", "version", "serve", "demo", "bench",
}

// Command is a command line for the operators' trail.
type Command struct {
	Version   string // of the binary
	name      string // such as keys create
	subject   string
	Workspace *uuid.UUID
	flags     []string // names of the flags that were set
	results   []string
	begun     bool
}

type commandKey struct{}

// WithCommand returns a context that carries the command.
func WithCommand(ctx context.Context, a *Command) context.Context {
	return context.WithValue(ctx, commandKey{}, a)
}

// FromContext returns the command of ctx, or nil if there is none.
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

// Read sets the command from a parsed command line. It does not keep the values of flags,
// which may be secrets, except for the workspace.
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
	a.name, a.subject = strings.Join(words, " "), auditrecord.Sanitize(strings.Join(subjects, "/"), maxSubject)
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

// Record writes the command to the operators' trail, runs work, and records how it ended.
// It does not run work if the command cannot be recorded.
func Record(ctx context.Context, db *access.Store, work func() error) error {
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
		return fmt.Errorf("recording the command in the operators' trail: %w", err)
	}
	err = work()
	status := int16(200)
	if err != nil {
		status = int16(reply.StatusOf(err))
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if ended := db.EndOperatorAct(ending, id, status, a.results, a.flags); ended != nil {
		_, _ = fmt.Fprintln(os.Stderr, "livegraph: recording the result in the operators' trail failed:", ended)
	}
	return err
}

// Author is the author of resources that commands create.
const Author = "cli"

// Operator returns the name under which the requests of this user are recorded.
func Operator() string { return Author + " (" + userName() + ")" }

// userName returns the user of this machine who runs the command.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return auditrecord.Sanitize(u.Username, maxSubject)
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}
