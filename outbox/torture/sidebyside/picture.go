package main

import (
	"bytes"
	"fmt"
	"html/template"
)

// picture is what the template draws.
type picture struct {
	Title         string
	Width, Height int
	Names         []label
	Panels        []panel
}

// panel is a column of bars.
type panel struct {
	Title, Color string
	X            int
	Bars         []bar
}

type label struct {
	Y    int
	Text string
	Ours bool
}

type bar struct {
	Y, Width int
	Text     string
	Ours     bool
}

const (
	nameWidth, panelWidth, barWidth = 250, 165, 105
	top, rowHeight                  = 78, 34
	good, bad, unclear              = "#0969da", "#cf222e", "#bf8700"
)

// The picture has its own background, so that it can be read on a light and on a dark
// page.
var svg = template.Must(template.New("").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{.Width}} {{.Height}}"
 font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14" role="img" aria-label="{{.Title}}">
<rect width="{{.Width}}" height="{{.Height}}" rx="8" fill="#ffffff" stroke="#d0d7de"/>
<text x="16" y="28" font-weight="600" fill="#1f2328">{{.Title}}</text>
{{range .Names}}<text x="16" y="{{.Y}}" dy="14" fill="#1f2328"{{if .Ours}} font-weight="600"{{end}}>{{.Text}}</text>
{{end}}{{range $p := .Panels}}<text x="{{.X}}" y="58" fill="#59636e">{{.Title}}</text>
{{range .Bars}}<rect x="{{$p.X}}" y="{{.Y}}" width="{{.Width}}" height="18" rx="3" fill="{{$p.Color}}"
 {{- if not .Ours}} opacity="0.55"{{end}}/>
<text x="{{$p.X}}" dx="{{.Width}}" y="{{.Y}}" dy="14" fill="#1f2328"{{if .Ours}} font-weight="600"{{end}}>&#160;{{.Text}}</text>
{{end}}{{end}}</svg>
`))

// draw draws a row for each result and a panel for each of four numbers.
func draw(results []result) ([]byte, error) {
	first := results[0]
	p := picture{Title: fmt.Sprintf("%d requests, kill -9 %d times, %.0f %% of the responses lost", first.Entries, first.Kills, losses*100)}
	for i, r := range results {
		p.Names = append(p.Names, label{top + i*rowHeight, r.label(), r.Ours})
	}
	p.add("carried out twice", bad, results, func(r result) float64 { return float64(r.Twice) })
	p.add("listed as unclear", unclear, results, func(r result) float64 { return float64(r.Unknown) })
	p.add("deliveries/s", good, results, func(r result) float64 { return r.Deliveries })
	p.add("commits/s of the callers", good, results, func(r result) float64 { return r.Commits })
	p.Width, p.Height = nameWidth+len(p.Panels)*panelWidth+16, top+len(results)*rowHeight+4
	var out bytes.Buffer
	err := svg.Execute(&out, p)
	return out.Bytes(), err
}

// add adds a panel, which its longest bar fills.
func (p *picture) add(title, color string, results []result, value func(result) float64) {
	added := panel{Title: title, Color: color, X: nameWidth + len(p.Panels)*panelWidth}
	largest := 1.0
	for _, r := range results {
		largest = max(largest, value(r))
	}
	for row, r := range results {
		added.Bars = append(added.Bars, bar{top + row*rowHeight, int(value(r) / largest * barWidth), fmt.Sprintf("%.0f", value(r)), r.Ours})
	}
	p.Panels = append(p.Panels, added)
}
