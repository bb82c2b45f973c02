package load

import "math"

// A register is the model of one value that is written again and again, by requests of
// which it is not always known when, or whether, they had their effect: the value of a
// point. It holds what may be read.
//
// Each write is a candidate from when it is sent. Once it is answered, whatever was
// written before it was sent is overwritten; what was under way beside it is not, and
// neither is a write of which nobody knows what came of it: it may still be on its way
// when later ones are answered. So candidates are left over, and all of them may be
// read until the world is quiet and shows which one it is.
type register struct{ candidates []candidate }

// candidate is a write that may be what stands.
type candidate struct {
	write int64   // which one
	value float64 // NaN: nothing stands
	began int64   // by the model's clock
	ended int64   // when it was answered; open: it is under way, or may still be
}

// open is the end of a write that has none.
const open = math.MaxInt64

// nothing is the value of a register that has none.
func nothing() float64 { return math.NaN() }

// newRegister creates one that nothing was written to.
func newRegister() *register { return &register{candidates: []candidate{{value: nothing()}}} }

// begin notes a write that is being sent.
func (r *register) begin(write int64, value float64, now int64) {
	for i := range r.candidates {
		if r.candidates[i].write == write { // the same once more
			return
		}
	}
	r.candidates = append(r.candidates, candidate{write: write, value: value, began: now, ended: open})
}

// acknowledge notes the answer that a write was done. With straggler, another try of it
// may still be on its way.
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

// refuse notes the answer that a write was not done, and never will be.
func (r *register) refuse(write int64) {
	kept := r.candidates[:0]
	for _, c := range r.candidates {
		if c.write != write {
			kept = append(kept, c)
		}
	}
	r.candidates = kept
}

// allows reports whether a value may be read; NaN: whether nothing may.
func (r *register) allows(value float64) bool {
	for _, c := range r.candidates {
		if c.value == value || math.IsNaN(c.value) && math.IsNaN(value) {
			return true
		}
	}
	return false
}

// allowed lists what may be read.
func (r *register) allowed() []float64 {
	values := make([]float64, len(r.candidates))
	for i, c := range r.candidates {
		values[i] = c.value
	}
	return values
}

// settle notes what stands once nothing is on its way any more.
func (r *register) settle(value float64) {
	r.candidates = append(r.candidates[:0], candidate{value: value})
}
