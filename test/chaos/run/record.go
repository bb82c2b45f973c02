package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// Violation is a violated invariant.
type Violation struct {
	Invariant int    `json:"invariant"` // its number in docs/reliability.md; 0: none of them
	What      string `json:"what"`
	Evidence  string `json:"evidence"`
}

// Begin is the first line of a log: the parameters of the run.
type Begin struct {
	Seed     uint64    `json:"seed"`
	Commit   string    `json:"commit"`
	At       time.Time `json:"at"`
	Kafka    string    `json:"kafka"`            // embedded or apache
	Shards   int       `json:"shards,omitempty"` // of ClickHouse; absent: one server
	Embedder bool      `json:"embedder"`
	Disks    bool      `json:"disks"`
	Losing   bool      `json:"losing,omitempty"` // only faults that lose data by definition
	PerRound int       `json:"perRound"`
	Load     float64   `json:"load,omitempty"` // factor of load.DefaultRate; absent: 1
	Kinds    int       `json:"kinds"`
}

// Injected is a fault that was injected, or that could not be.
type Injected struct {
	Kind   string `json:"kind"`
	At     int64  `json:"at"`               // ms after the round began
	Lasted int64  `json:"lasted"`           // ms, including healing
	Missed string `json:"missed,omitempty"` // why it was not injected
}

// Round is a line of a log, one for each round.
type Round struct {
	Began      int64                `json:"began,omitempty"`  // ms after the start of the run
	Rolled     bool                 `json:"rolled,omitempty"` // all processes were restarted, one after the other
	Round      int                  `json:"round"`
	Seed       uint64               `json:"seed"`
	Faults     []Injected           `json:"faults"`
	Load       int64                `json:"loadMs"`
	Settle     int64                `json:"settleMs"`
	Check      int64                `json:"checkMs"`
	Exits      []environment.Exit   `json:"exits,omitempty"`
	Vitals     []environment.Vitals `json:"vitals"`
	Unhealed   []string             `json:"unhealed,omitempty"`
	Violations []Violation          `json:"violations"`
}

// Summary is the last line of a log.
type Summary struct {
	Rounds     int            `json:"rounds"`
	Faults     int            `json:"faults"`
	Missed     int            `json:"missed"`
	ByKind     map[string]int `json:"byKind"`
	Kills      int            `json:"kills"` // of processes of the binary and of engines
	Settlings  int            `json:"settlings"`
	SettleP50  int64          `json:"settleP50Ms"`
	SettleMax  int64          `json:"settleMaxMs"`
	Seconds    int64          `json:"seconds"`
	Violations int            `json:"violations"`
}

// Read returns the lines of a log.
func Read(r io.Reader) ([]Line, error) {
	var lines []Line
	for decoder := json.NewDecoder(r); ; {
		var line Line
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading a log of rounds: %w", err)
		}
		lines = append(lines, line)
	}
}

// Line is a line of a log: exactly one of its fields is set.
type Line struct {
	Begin   *Begin   `json:"begin,omitempty"`
	Round   *Round   `json:"round,omitempty"`
	Summary *Summary `json:"summary,omitempty"`
}

func write(w io.Writer, line Line) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

// killTypes are the types of faults that end a process without warning.
var killTypes = map[string]bool{"kill": true, "backend-kill": true, "twin": true, "stale": true}

// summarize returns the summary of rounds.
func summarize(rounds []Round, took time.Duration) Summary {
	s := Summary{Rounds: len(rounds), ByKind: map[string]int{}, Seconds: int64(took.Seconds())}
	var settled []int64
	for i := range rounds {
		r := &rounds[i]
		for _, f := range r.Faults {
			if f.Missed != "" {
				s.Missed++
				continue
			}
			s.Faults++
			s.ByKind[f.Kind]++
			if killTypes[faultType(f.Kind)] {
				s.Kills++
			}
		}
		s.Settlings++
		settled = append(settled, r.Settle)
		s.Violations += len(r.Violations)
	}
	if len(settled) > 0 {
		slices.Sort(settled)
		s.SettleP50, s.SettleMax = settled[len(settled)/2], settled[len(settled)-1]
	}
	return s
}

// Kinds returns the kinds of the summary, sorted.
func (s *Summary) Kinds() []string { return slices.Sorted(maps.Keys(s.ByKind)) }

// Print writes the summary as text.
func (s *Summary) Print(w io.Writer) {
	_, _ = fmt.Fprintf(
		w, "%d faults in %d rounds, %d s: %d kills, %d settlings (p50 %d ms, max %d ms), %d violations; %d did not happen\n",
		s.Faults, s.Rounds, s.Seconds, s.Kills, s.Settlings, s.SettleP50, s.SettleMax, s.Violations, s.Missed,
	)
	for _, kind := range s.Kinds() {
		_, _ = fmt.Fprintf(w, "%6d %s\n", s.ByKind[kind], kind)
	}
}
