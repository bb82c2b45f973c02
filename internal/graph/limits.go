package graph

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// What a resource may hold.
const (
	MaxName         = 512      // characters of a node's name, at least 1
	MaxRelationType = 128      // characters of an edge's type, at least 1
	MaxDescription  = 64 << 10 // bytes of UTF-8
	MaxProperties   = 32 << 10 // bytes of canonical JSON
	MaxDepth        = 8        // objects and arrays inside each other, the properties' own object included
	MaxKeys         = 256      // members of all objects in the properties together

	// MaxBatch is how many commands a batch has at most.
	MaxBatch = 1000
	// MaxStamps bounds what a resource remembers of properties that it no longer
	// has. Beyond it the oldest stamps of absent properties are forgotten, and what
	// wrote them can no longer be undone or redone: refused, never done wrongly.
	MaxStamps = 1024
	// MaxConflicts is how many conflicts an error names.
	MaxConflicts = 100
	// MaxListed is how many edges of a cascade a change lists.
	MaxListed = 1000
	// StackDepth is how many of an actor's commands can be undone at any moment: the
	// newest that stand.
	StackDepth = 100
)

// EntityTypes lists the entity types as an error names them.
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

func checkEntityType(value EntityType) error {
	switch value {
	case Concept, Object, Process, Actor:
		return nil
	}
	return fault.Field(fault.Invalid, "payload.entityType", "is not an entity type", EntityTypes()...)
}

func checkProperties(raw jsontext.Value) error {
	if raw == nil {
		return nil
	}
	_, _, err := parsePatch(raw)
	return propertiesFault(err)
}

// propertiesFault returns the public error of a reason of [Properties.Merge].
func propertiesFault(err error) error {
	if err == nil {
		return nil
	}
	return fault.Field(fault.Invalid, "payload.properties", err.Error())
}
