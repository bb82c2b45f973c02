package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Querier is a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Where collects conditions and their arguments. Values are always passed as arguments.
type Where struct {
	Conditions []string
	Args       []any
}

// Add adds a condition and replaces each ? in it by the placeholder of the next value.
func (w *Where) Add(condition string, values ...any) {
	for _, v := range values {
		condition = strings.Replace(condition, "?", w.Arg(v), 1)
	}
	w.Conditions = append(w.Conditions, condition)
}

// Arg adds an argument and returns its placeholder.
func (w *Where) Arg(v any) string {
	w.Args = append(w.Args, v)
	return fmt.Sprintf("$%d", len(w.Args))
}

// Text returns the conditions, joined by AND.
func (w *Where) Text() string { return strings.Join(w.Conditions, " AND ") }
