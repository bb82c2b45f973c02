package load

import "strconv"

// appendLines writes a line for each point: its source's name, its sensor, its
// metric as the only field.
func appendLines(b []byte, w *writing, s slice) []byte {
	for p := range int64(s.points) {
		for i := s.first; i < s.end; i++ {
			of := w.identity(i)
			b = w.appendLineHead(b, of)
			b = w.appendLineField(b, ' ', of.metric, i, s.step+p)
			b = w.appendLineTime(b, s.step+p)
		}
	}
	return b
}

// appendWideLines writes what is of one sensor, or of a source without, at one time
// as the fields of one line.
func appendWideLines(b []byte, w *writing, s slice) []byte {
	// From one series to the next of the same sensor. The first so many are of
	// different ones.
	stride := len(w.sources) * max(w.sensors, 1)
	for p := range int64(s.points) {
		for first := s.first; first < min(s.first+stride, s.end); first++ {
			b = w.appendLineHead(b, w.identity(first))
			before := byte(' ')
			for i := first; i < s.end; i += stride {
				b = w.appendLineField(b, before, w.identity(i).metric, i, s.step+p)
				before = ','
			}
			b = w.appendLineTime(b, s.step+p)
		}
	}
	return b
}

func (w *writing) appendLineHead(b []byte, of identity) []byte {
	b = append(b, w.names[of.source]...)
	if w.sensors > 0 {
		b = strconv.AppendInt(append(b, ","+sensorTag+"="...), int64(of.sensor), 10)
	}
	return b
}

func (w *writing) appendLineField(b []byte, before byte, metric, series int, step int64) []byte {
	b = append(appendMetric(append(b, before), metric), '=')
	return w.values.append(b, series, step)
}

// appendLineTime writes the time in nanoseconds, which is what lines have if nothing
// else is said.
func (w *writing) appendLineTime(b []byte, step int64) []byte {
	return append(appendInt(append(b, ' '), w.at(step)), "000000\n"...)
}
