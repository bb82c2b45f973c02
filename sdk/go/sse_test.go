package livegraph

import (
	"bytes"
	"reflect"
	"testing"
)

func parse(chunks ...[]byte) (events []Event, lastID string, ok bool) {
	p := newParser("0")
	for _, chunk := range chunks {
		ok = p.feed(chunk, func(event Event) bool {
			events = append(events, event)
			return true
		})
	}
	return events, p.lastID, ok
}

func TestAStreamIsParsedHoweverItArrives(t *testing.T) {
	stream := []byte("\ufeff: comment\r\nid: 1\r\nevent: change\r\ndata: a\r\ndata:  b\r\n\r\n" +
		"data:\n\nid: 2\rdata: c\r\rid\nunknown: x\n\nid: 3\x00\ndata: d\n\nid: 9\ndata: half")
	want := []Event{
		{ID: "1", Type: "change", Data: []byte("a\n b")}, {ID: "2", Type: "message", Data: []byte("c")},
		{ID: "", Type: "message", Data: []byte("d")},
	}
	for i := range len(stream) + 1 {
		events, lastID, ok := parse(stream[:i], stream[i:])
		if !reflect.DeepEqual(events, want) || lastID != "" || !ok {
			t.Fatalf("split at %d: %+v, last %q", i, events, lastID)
		}
	}
}

func TestAnEventThatIsTooLongIsRefused(t *testing.T) {
	p := newParser("")
	line := append([]byte("data: "), bytes.Repeat([]byte("x"), maxEvent/2)...)
	line = append(line, '\n')
	none := func(Event) bool { return true }
	if !p.feed(line, none) || p.feed(line, none) {
		t.Fatal("the length of an event is not bounded")
	}
}

func FuzzEventStream(f *testing.F) {
	f.Add([]byte("id: 1\nevent: change\ndata: {}\n\n"), 5)
	f.Add([]byte("\ufeffdata\r\n\r\n:\n"), 3)
	f.Fuzz(func(t *testing.T, stream []byte, at int) {
		whole, last, _ := parse(stream)
		at = max(0, min(at, len(stream)))
		parts, lastOfParts, _ := parse(stream[:at], stream[at:])
		if !reflect.DeepEqual(whole, parts) || last != lastOfParts {
			t.Fatalf("%+v and %+v", whole, parts)
		}
	})
}
