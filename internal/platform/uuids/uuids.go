// Package uuids orders UUIDs.
package uuids

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
)

// Compare compares UUIDs as Postgres does: by their bytes.
func Compare(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// Sort sorts UUIDs in place.
func Sort(list []uuid.UUID) { slices.SortFunc(list, Compare) }

// Distinct sorts UUIDs in place and removes duplicates.
func Distinct(list []uuid.UUID) []uuid.UUID {
	Sort(list)
	return slices.Compact(list)
}
