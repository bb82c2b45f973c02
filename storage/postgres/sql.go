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

// Order is one field that rows are sorted by.
type Order struct {
	Field      string
	Descending bool
}

// OrderBy returns the expressions of ORDER BY. column returns the expression of a field.
func OrderBy(order []Order, column func(field string) string) string {
	parts := make([]string, len(order))
	for i, o := range order {
		parts[i] = column(o.Field)
		if o.Descending {
			parts[i] += " DESC"
		}
	}
	return strings.Join(parts, ", ")
}
