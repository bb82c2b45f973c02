package plots

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPlotIsAnImageWithItsNamesAndNotTooLarge(t *testing.T) {
	var dots []Dot
	for i := range 5000 {
		dots = append(dots, Dot{time.Duration(i) * time.Second, float64(i % 100)})
	}
	path := filepath.Join(t.TempDir(), "plot.svg")
	p := Plot{
		Title: "memory, MiB", Lines: []Line{{"api-1", dots}, {"nothing yet", nil}}, Marks: []time.Duration{time.Minute},
		Bars: []time.Duration{time.Hour},
	}
	require.NoError(t, p.Save(path))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Less(t, len(raw), 64<<10)
	require.Contains(t, string(raw), "memory, MiB")
	require.Contains(t, string(raw), "api-1")
	for decoder := xml.NewDecoder(strings.NewReader(string(raw))); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.NoError(t, Plot{Title: "a run that was cut short"}.Save(path))
}

func TestTheHighestOfManyDotsIsDrawn(t *testing.T) {
	dots := make([]Dot, 10*maxDots)
	for i := range dots {
		dots[i].At = time.Duration(i) * time.Minute
	}
	dots[1234].Value = 7
	points := downsample(dots)
	require.Len(t, points, maxDots)
	require.Equal(t, 7.0, points[123].Y)
}
