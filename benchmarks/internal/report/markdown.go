package report

import (
	"fmt"
	"strings"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// Markdown returns the rows with a limit as a Markdown table.
func Markdown(outcomes []measure.Outcome) string {
	var table strings.Builder
	table.WriteString("| work | measured | median | limit |\n|---|---|---|---|\n")
	for _, o := range outcomes {
		title := o.Title
		for _, r := range o.Results {
			if r.Limit.Applies() {
				fmt.Fprintf(&table, "| %s | %s | **%s%s** | %s |\n", title, describe(r.Row), number(r.Median()), r.Unit, bound(r.Row))
				title = ""
			}
		}
	}
	return table.String()
}
