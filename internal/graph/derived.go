package graph

import "github.com/google/uuid"

// LinkKey is the property that marks an edge as a link: an edge that the linker derived from the texts
// of nodes. Its value is an object with the evidence.
const LinkKey = "link"

// LinkerActor is the actor of the commands that create and delete links. They are in no undo stack:
// they follow from the texts, and are made again when these change.
var LinkerActor = uuid.MustParse("6c696e6b-6572-8000-8000-000000000000")

// IsLink reports whether the edge is a link. A link blocks no undo and no redo.
func (e *Edge) IsLink() bool {
	value := e.Properties[LinkKey]
	return value != nil && value.Kind() == '{'
}
