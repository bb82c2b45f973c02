package traffic

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// enough is how many nodes there are to be. A warm-up of [Recent] makes them.
const enough = 3000

// shelf has the nodes that stand and that nobody is about to change: so no request is
// about one that another request has deleted.
type shelf struct {
	mu  sync.Mutex
	ids []string
}

func newShelf() *shelf { return &shelf{} }

func (s *shelf) put(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, id)
}

// borrow takes a node off the shelf until back is called; "" when there is none.
func (s *shelf) borrow() (id string, back func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) == 0 {
		return "", nil
	}
	at, last := rand.IntN(len(s.ids)), len(s.ids)-1
	id = s.ids[at]
	s.ids[at] = s.ids[last]
	s.ids = s.ids[:last]
	return id, func() { s.put(id) }
}

func (s *shelf) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids) >= enough
}

// create is the command that makes a node.
func (*shelf) create(id string) map[string]any {
	return map[string]any{"type": "CREATE_NODE", "payload": map[string]any{
		"id": id, "name": fmt.Sprintf("%s %s %d", subject(), subject(), rand.IntN(1000)), "entityType": "object",
		"description": "The " + subject() + " of the " + subject() + " by the " + subject(),
	}}
}

func idOf(command any) string {
	id, _ := command.(map[string]any)["payload"].(map[string]any)["id"].(string)
	return id
}

var subjects = []string{
	"pump", "valve", "boiler", "turbine", "filter", "tank", "sensor", "pipe", "motor", "fan", "hall", "line", "press",
	"oven", "mixer", "silo",
}

func subject() string { return subjects[rand.IntN(len(subjects))] }
