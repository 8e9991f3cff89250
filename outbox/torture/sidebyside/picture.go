package main

import (
	"bytes"
	"fmt"
	"html/template"
)

// panel is a column of bars.
type panel struct {
	Title, Better string
	X             int
	Bars          []bar
}

type bar struct {
	Y, Width int
	Label    string
	Ours     bool
}

const (
	nameWidth, panelWidth, barWidth = 210, 200, 130
	top, rowHeight                  = 78, 34
)

// The picture has its own background, so that it can be read on a light and on a dark
// page.
var svg = template.Must(template.New("").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{.Width}} {{.Height}}" ` +
	`font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14" role="img" aria-label="{{.Title}}">
<rect width="{{.Width}}" height="{{.Height}}" rx="8" fill="#ffffff" stroke="#d0d7de"/>
<text x="16" y="28" font-weight="600" fill="#1f2328">{{.Title}}</text>
{{range .Names}}<text x="16" y="{{.Y}}" fill="#1f2328"{{if .Ours}} font-weight="600"{{end}}>{{.Label}}</text>
{{end}}{{range .Panels}}<text x="{{.X}}" y="56" fill="#1f2328" font-weight="600">{{.Title}}<tspan fill="#59636e" font-weight="400"> {{.Better}}</tspan></text>
{{$x := .X}}{{range .Bars}}<rect x="{{$x}}" y="{{.Y}}" width="{{.Width}}" height="18" rx="3" fill="{{if .Ours}}#0969da{{else}}#8c959f{{end}}"/>` +
	`<text x="{{$x}}" dx="{{.Width}}" y="{{.Y}}" dy="14" fill="#1f2328">&#160;{{.Label}}</text>
{{end}}{{end}}</svg>
`))

// draw draws a row for each result and a panel for each of three numbers.
func draw(results []result) ([]byte, error) {
	first := results[0]
	type name struct {
		Y     int
		Label string
		Ours  bool
	}
	var names []name
	for i, r := range results {
		names = append(names, name{top + i*rowHeight + 14, r.label(), r.Ours})
	}
	panels := []panel{
		newPanel(0, "carried out twice", "(0 is best)", results, func(r result) float64 { return float64(r.Twice) }),
		newPanel(1, "deliveries/s", "", results, func(r result) float64 { return r.Deliveries }),
		newPanel(2, "commits/s", "of 16 callers", results, func(r result) float64 { return r.Commits }),
	}
	var out bytes.Buffer
	err := svg.Execute(&out, map[string]any{
		"Width": nameWidth + len(panels)*panelWidth + 16, "Height": top + len(results)*rowHeight + 4, "Names": names, "Panels": panels,
		"Title": fmt.Sprintf("%d requests, %d × kill -9, %.0f %% of the responses lost", first.Entries, first.Kills, losses*100),
	})
	return out.Bytes(), err
}

// newPanel returns a panel whose longest bar fills it.
func newPanel(i int, title, better string, results []result, value func(result) float64) panel {
	p := panel{Title: title, Better: better, X: nameWidth + i*panelWidth}
	largest := 1.0
	for _, r := range results {
		largest = max(largest, value(r))
	}
	for row, r := range results {
		p.Bars = append(p.Bars, bar{top + row*rowHeight, max(1, int(value(r)/largest*barWidth)), fmt.Sprintf("%.0f", value(r)), r.Ours})
	}
	return p
}
