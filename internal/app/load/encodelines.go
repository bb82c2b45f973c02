package load

import "strconv"

// appendLines appends a line for each point: the name of its source, its sensor, and its
// metric as the only field.
func appendLines(b []byte, w *bodySpec, s requestSpec) []byte {
	for p := range int64(s.points) {
		for i := s.first; i < s.end; i++ {
			id := w.identity(i)
			b = w.appendLineHead(b, id)
			b = w.appendLineField(b, ' ', id.metric, i, s.step+p)
			b = w.appendLineTime(b, s.step+p)
		}
	}
	return b
}

// appendWideLines appends a line for each sensor and time, or for each source and time
// without sensors, with its metrics as fields.
func appendWideLines(b []byte, w *bodySpec, s requestSpec) []byte {
	// stride is the distance between two series of the same sensor. The first stride series
	// belong to different sensors.
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

func (w *bodySpec) appendLineHead(b []byte, id identity) []byte {
	b = append(b, w.names[id.source]...)
	if w.sensors > 0 {
		b = strconv.AppendInt(append(b, ","+sensorTag+"="...), int64(id.sensor), 10)
	}
	return b
}

func (w *bodySpec) appendLineField(b []byte, before byte, metric, series int, step int64) []byte {
	b = append(appendMetric(append(b, before), metric), '=')
	return w.values.append(b, series, step)
}

// appendLineTime appends the time in nanoseconds, the default precision of lines.
func (w *bodySpec) appendLineTime(b []byte, step int64) []byte {
	return append(appendInt(append(b, ' '), w.timestamp(step)), "000000\n"...)
}
