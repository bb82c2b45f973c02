package files

// Loaded reports whether PDFium is in memory.
func (r *Reader) Loaded() bool {
	r.pdf.mu.Lock()
	defer r.pdf.mu.Unlock()
	return r.pdf.pool != nil
}
