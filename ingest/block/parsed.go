package block

const (
	// parsedChunk is the number of elements that are allocated together.
	parsedChunk = 128
	parsedBytes = 80 // size of a Parsed
)

// parsedList allocates the Parsed of a request's labels. Their addresses do not change. The next request uses them
// again.
type parsedList struct {
	chunks []*[parsedChunk]Parsed
	used   int
}

// next returns an empty Parsed, which is valid until reset.
func (p *parsedList) next() *Parsed {
	chunk, i := p.used/parsedChunk, p.used%parsedChunk
	if chunk == len(p.chunks) {
		p.chunks = append(p.chunks, new([parsedChunk]Parsed))
	}
	p.used++
	return &p.chunks[chunk][i]
}

func (p *parsedList) reset() {
	for i := range (p.used + parsedChunk - 1) / parsedChunk {
		clear(p.chunks[i][:])
	}
	p.used = 0
}

// size returns the memory of the list in bytes.
func (p *parsedList) size() int { return len(p.chunks) * parsedChunk * parsedBytes }
