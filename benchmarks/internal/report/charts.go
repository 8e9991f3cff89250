package report

import (
	"bytes"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// chart is the file of a chart and the function that draws it.
type chart struct {
	file string
	draw func(matrix) (*plot.Plot, error)
}

var charts = map[string]chart{
	Peers:              {"peers.svg", drawPeers},
	GrowingRows:        {"rows.svg", growth("rows walked, 100 per page", "time, multiple of the SDK's first")},
	GrowingPages:       {"pages.svg", growth("rows per page", "time per row, multiple of the SDK's first")},
	GrowingConcurrency: {"concurrency.svg", growth("calls in flight, 20 ms server, TLS", "calls per second, multiple of the SDK's first")},
}

func writeChart(directory string, o measure.Outcome) error {
	c, ok := charts[o.Title]
	if !ok {
		return nil
	}
	p, err := c.draw(newMatrix(o))
	if err != nil {
		return err
	}
	var svg bytes.Buffer
	if _, err := render(p).WriteTo(&svg); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, c.file), svg.Bytes(), 0o644)
}

// render draws p with a margin on a white background, so that it is legible on a
// dark page.
func render(p *plot.Plot) *vgsvg.Canvas {
	const width, height, margin = 16 * vg.Centimeter, 10 * vg.Centimeter, 0.4 * vg.Centimeter
	svg := vgsvg.New(width, height)
	canvas := draw.New(svg)
	canvas.FillPolygon(color.White, []vg.Point{{}, {X: width}, {X: width, Y: height}, {Y: height}})
	p.Draw(draw.Crop(canvas, margin, -margin, margin, -margin))
	return svg
}

func newPlot() *plot.Plot {
	p := plot.New()
	for _, style := range []*draw.TextStyle{
		&p.Title.TextStyle, &p.Legend.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		style.Font.Variant = "Sans"
	}
	p.Title.Padding = vg.Points(10)
	p.Legend.Padding = vg.Points(4)
	return p
}

var (
	accent = color.RGBA{R: 0, G: 114, B: 178, A: 255}
	faint  = color.RGBA{R: 150, G: 150, B: 150, A: 255}
	// colors are distinguishable for people with color blindness.
	colors = []color.Color{accent, color.RGBA{R: 213, G: 94, B: 0, A: 255}, faint}
)

// drawPeers draws a bar for each client. The fastest is at the top.
func drawPeers(m matrix) (*plot.Plot, error) {
	subjects := slices.Clone(m.subjects)
	slices.SortFunc(subjects, func(a, b string) int {
		if m.median(a, ShareOfFloor) < m.median(b, ShareOfFloor) {
			return -1
		}
		return 1
	})
	p := newPlot()
	p.Title.Text = "Walking a list: share of the speed of fetching the same bytes"
	p.X.Min, p.X.Max = 0, 1
	p.NominalY(subjects...)
	for i, subject := range subjects {
		values := make(plotter.Values, len(subjects))
		values[i] = m.median(subject, ShareOfFloor)
		bars, err := plotter.NewBarChart(values, vg.Points(18))
		if err != nil {
			return nil, err
		}
		bars.Horizontal = true
		bars.LineStyle.Width = 0
		bars.Color = faint
		if subject == "messaging" {
			bars.Color = accent
		}
		p.Add(bars)
	}
	labels, err := plotter.NewLabels(barLabels(m, subjects))
	if err != nil {
		return nil, err
	}
	labels.Offset.X = vg.Points(4)
	for i := range labels.TextStyle {
		labels.TextStyle[i].YAlign = draw.YCenter
		labels.TextStyle[i].Font.Variant = "Sans"
	}
	p.Add(labels)
	return p, nil
}

// barLabels returns labels that show each value at the end of its bar.
func barLabels(m matrix, subjects []string) plotter.XYLabels {
	var l plotter.XYLabels
	for i, subject := range subjects {
		value := m.median(subject, ShareOfFloor)
		l.XYs = append(l.XYs, plotter.XY{X: value, Y: float64(i)})
		l.Labels = append(l.Labels, number(value))
	}
	return l
}

// growth draws a line for each subject. Both axes are logarithmic, so proportional
// growth is a straight line.
func growth(x, y string) func(matrix) (*plot.Plot, error) {
	return func(m matrix) (*plot.Plot, error) {
		p := newPlot()
		p.X.Label.Text, p.Y.Label.Text = x, y
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		p.X.Tick.Marker, p.Y.Tick.Marker = sizes(m.measures), plot.LogTicks{Prec: -1}
		p.Legend.Top, p.Legend.Left = true, true
		p.Add(plotter.NewGrid())
		for i, subject := range m.subjects {
			var points plotter.XYs
			for _, size := range m.measures {
				at, err := strconv.ParseFloat(size, 64)
				if err != nil {
					return nil, err
				}
				points = append(points, plotter.XY{X: at, Y: m.median(subject, size)})
			}
			line, dots, err := plotter.NewLinePoints(points)
			if err != nil {
				return nil, err
			}
			line.Color, dots.Color = colors[i%len(colors)], colors[i%len(colors)]
			line.Width, dots.Shape = vg.Points(2), draw.CircleGlyph{}
			p.Add(line, dots)
			p.Legend.Add(subject, line, dots)
		}
		return p, nil
	}
}

// sizes puts a tick at each measured size.
func sizes(measures []string) plot.Ticker {
	var ticks plot.ConstantTicks
	for _, size := range measures {
		if at, err := strconv.ParseFloat(size, 64); err == nil {
			ticks = append(ticks, plot.Tick{Value: at, Label: size})
		}
	}
	return ticks
}
