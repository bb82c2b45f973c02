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

// Plot is lines over time.
type Plot struct {
	Title string // what is measured, with its unit
	Lines []Line
	Marks []time.Duration // faint, from top to bottom
	Bars  []time.Duration // the same, stronger
}

// Line is one of them.
type Line struct {
	Name string
	Dots []Dot // by their time; fewer are drawn when there are many
}

// Dot is a value at a time.
type Dot struct {
	At    time.Duration
	Value float64
}

const (
	width, height = 24 * vg.Centimeter, 9 * vg.Centimeter
	// most is how many dots of a line are drawn: of those between, the highest.
	most = 300
	// perName is the share of the highest value that a name takes.
	perName = 0.08
)

// colours can be told from each other, also those of the first and the last.
var colours = []color.Color{
	color.RGBA{0x1f, 0x77, 0xb4, 0xff}, color.RGBA{0xff, 0x7f, 0x0e, 0xff}, color.RGBA{0x2c, 0xa0, 0x2c, 0xff},
	color.RGBA{0xd6, 0x27, 0x28, 0xff},
	color.RGBA{0x94, 0x67, 0xbd, 0xff}, color.RGBA{0x8c, 0x56, 0x4b, 0xff}, color.RGBA{0xe3, 0x77, 0xc2, 0xff},
}

var (
	faint  = color.Gray{Y: 0xe2}
	strong = color.Gray{Y: 0x90}
)

// Save draws the plot into a file.
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
	// The names are above the lines.
	chart.Y.Max = top * (1.05 + perName*float64(len(p.Lines)))
	for _, upright := range []struct {
		at    []time.Duration
		shade color.Color
	}{{p.Marks, faint}, {p.Bars, strong}} {
		for _, at := range upright.at {
			line, err := plotter.NewLine(plotter.XYs{{X: at.Minutes()}, {X: at.Minutes(), Y: chart.Y.Max}})
			if err != nil {
				return nil, err
			}
			line.Color = upright.shade
			chart.Add(line)
		}
	}
	for i, line := range p.Lines {
		if len(line.Dots) == 0 {
			continue // gonum's lines have at least one
		}
		drawn, err := plotter.NewLine(thin(line.Dots))
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

// thin keeps the highest of dots that would lie upon each other.
func thin(dots []Dot) (kept plotter.XYs) {
	each := (len(dots) + most - 1) / most
	for len(dots) > 0 {
		some := dots[:min(each, len(dots))]
		dots = dots[len(some):]
		highest := some[0]
		for _, d := range some {
			if d.Value > highest.Value {
				highest = d
			}
		}
		kept = append(kept, plotter.XY{X: highest.At.Minutes(), Y: highest.Value})
	}
	return kept
}
