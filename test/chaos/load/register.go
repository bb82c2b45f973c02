package load

import "math"

// A register is the model of one value that is written repeatedly: the value of a point. It
// contains the values that may be read.
//
// Each write is a candidate from when it is sent. Its answer removes every write that was answered
// before it was sent. Concurrent writes remain, and so do writes whose outcome is unknown: they may
// take effect even after later ones are answered. So several candidates may remain, and each of
// them may be read until the environment is quiet and shows the actual value.
type register struct{ candidates []candidate }

// candidate is a write whose value may be the current one.
type candidate struct {
	write int64
	value float64 // NaN: no value
	began int64   // logical time
	ended int64   // logical time of the answer; open: it may still take effect
}

// open is the end of a write that was not answered.
const open = math.MaxInt64

// absent returns the value of a register without a value.
func absent() float64 { return math.NaN() }

// newRegister creates a register that was not written to.
func newRegister() *register { return &register{candidates: []candidate{{value: absent()}}} }

// begin records a write that is about to be sent.
func (r *register) begin(write int64, value float64, now int64) {
	for i := range r.candidates {
		if r.candidates[i].write == write { // already recorded
			return
		}
	}
	r.candidates = append(r.candidates, candidate{write: write, value: value, began: now, ended: open})
}

// acknowledge records that a write was applied. straggler means that another attempt of it may
// still take effect.
func (r *register) acknowledge(write, now int64, straggler bool) {
	var done *candidate
	for i := range r.candidates {
		if r.candidates[i].write == write {
			done = &r.candidates[i]
		}
	}
	if done == nil {
		return
	}
	began := done.began
	if !straggler {
		done.ended = now
	}
	kept := r.candidates[:0]
	for _, c := range r.candidates {
		if c.write == write || c.ended >= began {
			kept = append(kept, c)
		}
	}
	r.candidates = kept
}

// refuse records that a write was rejected and will never take effect.
func (r *register) refuse(write int64) {
	kept := r.candidates[:0]
	for _, c := range r.candidates {
		if c.write != write {
			kept = append(kept, c)
		}
	}
	r.candidates = kept
}

// allows reports whether a value may be read; for NaN, whether the value may be absent.
func (r *register) allows(value float64) bool {
	for _, c := range r.candidates {
		if c.value == value || math.IsNaN(c.value) && math.IsNaN(value) {
			return true
		}
	}
	return false
}

// allowed returns the values that may be read.
func (r *register) allowed() []float64 {
	values := make([]float64, len(r.candidates))
	for i, c := range r.candidates {
		values[i] = c.value
	}
	return values
}

// settle records the actual value once no write is pending.
func (r *register) settle(value float64) {
	r.candidates = append(r.candidates[:0], candidate{value: value})
}
