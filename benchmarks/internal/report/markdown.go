package report

import (
	"fmt"
	"strings"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// Markdown is the rows that have a limit, as a table for a README.
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
