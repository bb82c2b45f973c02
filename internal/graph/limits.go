package graph

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Limits of resources, commands and changes.
const (
	MaxName         = 512      // characters of a node's name, at least 1
	MaxRelationType = 128      // characters of an edge's type, at least 1
	MaxDescription  = 64 << 10 // bytes of UTF-8
	MaxProperties   = 32 << 10 // bytes of canonical JSON
	MaxDepth        = 8        // nested objects and arrays, including the object of the properties itself
	MaxKeys         = 256      // members of all objects in the properties together

	MaxKeyProperty = 128  // characters of the name of a property that is the key of an upsert
	MaxKeyValue    = 2048 // characters of its value
	// MaxKeyProperties is the maximum number of properties that have been the key of an upsert
	// in a workspace. The nodes with such a property are in an index.
	MaxKeyProperties = 64

	// MaxBatch is the maximum number of commands in a batch.
	MaxBatch = 1000
	// MaxStamps is the number of stamps above which a resource drops the oldest stamps of
	// absent properties. The commands that wrote the dropped stamps can then no longer be
	// undone or redone: they are refused, never applied wrongly.
	MaxStamps = 1024
	// MaxConflicts is the maximum number of conflicts in an error.
	MaxConflicts = 100
	// MaxListed is the maximum number of edges of a cascade that a change lists.
	MaxListed = 1000
	// StackDepth is the maximum number of an actor's commands that can be undone: the
	// newest that are in effect.
	StackDepth = 100
)

// EntityTypes returns all entity types.
func EntityTypes() []string {
	return []string{string(Concept), string(Object), string(Process), string(Actor)}
}

func checkText(field, value string, limit int) error {
	switch {
	case !utf8.ValidString(value):
		return fault.Field(fault.Invalid, field, "must be valid UTF-8")
	case value == "":
		return fault.Field(fault.Invalid, field, "must not be empty")
	case utf8.RuneCountInString(value) > limit:
		return fault.Field(fault.Invalid, field, fmt.Sprintf("must be at most %d characters long", limit))
	case strings.ContainsFunc(value, unicode.IsControl):
		return fault.Field(fault.Invalid, field, "must not contain control characters")
	}
	return nil
}

func checkDescription(value string) error {
	const field = "payload.description"
	switch {
	case !utf8.ValidString(value):
		return fault.Field(fault.Invalid, field, "must be valid UTF-8")
	case len(value) > MaxDescription:
		return fault.Field(fault.Invalid, field, fmt.Sprintf("must be at most %d bytes long", MaxDescription))
	case strings.IndexByte(value, 0) >= 0:
		return fault.Field(fault.Invalid, field, errNul.Error())
	}
	return nil
}

func checkEntityType(value EntityType) error { return checkEntityTypeOf("payload.entityType", value) }

func checkEntityTypeOf(field string, value EntityType) error {
	if slices.Contains(EntityTypes(), string(value)) {
		return nil
	}
	return fault.Field(fault.Invalid, field, "is not an entity type", EntityTypes()...)
}

func checkProperties(raw jsontext.Value) error {
	if raw == nil {
		return nil
	}
	_, _, err := parsePatch(raw)
	return propertiesFault(err)
}

// propertiesFault returns the public error for an error of [Properties.Merge].
func propertiesFault(err error) error {
	if err == nil {
		return nil
	}
	return fault.Field(fault.Invalid, "payload.properties", err.Error())
}
