// Package plots draws lines over time as SVG, for documents.
package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Plot is a chart of lines over time.
type Plot struct {
	Title string // what is measured, with its unit
	Lines []Line
	Marks []time.Duration // faint vertical lines
	Bars  []time.Duration // stronger vertical lines
}

// Line is a line of a Plot.
type Line struct {
	Name string
	Dots []Dot // sorted by time; long lines are downsampled
}

// Dot is a data point.
type Dot struct {
	At    time.Duration
	Value float64
}

const (
	width, height = 24 * vg.Centimeter, 9 * vg.Centimeter
	// maxDots is the maximum number of drawn dots of a line: the highest of each group.
	maxDots = 300
	// nameHeight is the height of a name in the legend, as a share of the highest value.
	nameHeight = 0.08
)

// colours are distinguishable, also the first from the last.
var colours = []color.Color{
	color.RGBA{0x1f, 0x77, 0xb4, 0xff}, color.RGBA{0xff, 0x7f, 0x0e, 0xff}, color.RGBA{0x2c, 0xa0, 0x2c, 0xff},
	color.RGBA{0xd6, 0x27, 0x28, 0xff},
	color.RGBA{0x94, 0x67, 0xbd, 0xff}, color.RGBA{0x8c, 0x56, 0x4b, 0xff}, color.RGBA{0xe3, 0x77, 0xc2, 0xff},
}

var (
	faint  = color.Gray{Y: 0xe2}
	strong = color.Gray{Y: 0x90}
)

// Save writes the plot as SVG to a file.
func (p Plot) Save(path string) error {
	drawn, err := p.draw()
	if err != nil {
		return fmt.Errorf("drawing %q: %w", p.Title, err)
	}
	return os.WriteFile(path, drawn, 0o644)
}

func (p Plot) draw() ([]byte, error) {
	chart := plot.New()
	chart.Title.Text, chart.X.Label.Text = p.Title, "minutes"
	chart.X.Min, chart.Y.Min = 0, 0
	chart.Legend.Top, chart.Legend.Left = true, true
	chart.BackgroundColor = color.White
	top := 1.0
	for _, line := range p.Lines {
		for _, d := range line.Dots {
			top = max(top, d.Value)
			chart.X.Max = max(chart.X.Max, d.At.Minutes())
		}
	}
	// Leave space for the names above the lines.
	chart.Y.Max = top * (1.05 + nameHeight*float64(len(p.Lines)))
	for _, verticals := range []struct {
		at    []time.Duration
		shade color.Color
	}{{p.Marks, faint}, {p.Bars, strong}} {
		for _, at := range verticals.at {
			line, err := plotter.NewLine(plotter.XYs{{X: at.Minutes()}, {X: at.Minutes(), Y: chart.Y.Max}})
			if err != nil {
				return nil, err
			}
			line.Color = verticals.shade
			chart.Add(line)
		}
	}
	for i, line := range p.Lines {
		if len(line.Dots) == 0 {
			continue // gonum requires at least one point
		}
		drawn, err := plotter.NewLine(downsample(line.Dots))
		if err != nil {
			return nil, err
		}
		drawn.Color, drawn.Width = colours[i%len(colours)], vg.Points(1.2)
		chart.Add(drawn)
		chart.Legend.Add(line.Name, drawn)
	}
	canvas := vgsvg.New(width, height)
	chart.Draw(draw.New(canvas))
	var text bytes.Buffer
	_, err := canvas.WriteTo(&text)
	return text.Bytes(), err
}

// downsample keeps the highest dot of each group of neighbouring dots.
func downsample(dots []Dot) (points plotter.XYs) {
	groupSize := (len(dots) + maxDots - 1) / maxDots
	for len(dots) > 0 {
		group := dots[:min(groupSize, len(dots))]
		dots = dots[len(group):]
		highest := group[0]
		for _, d := range group {
			if d.Value > highest.Value {
				highest = d
			}
		}
		points = append(points, plotter.XY{X: highest.At.Minutes(), Y: highest.Value})
	}
	return points
}
