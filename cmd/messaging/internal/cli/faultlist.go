package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

var ruleTable = output.Table[sandbox.ActiveRule]{
	Columns: []output.Column[sandbox.ActiveRule]{
		{Name: "id", Text: func(r sandbox.ActiveRule) string { return strconv.Itoa(r.ID) }},
		{Name: "kind", Text: func(r sandbox.ActiveRule) string { return r.Fault.Kind }},
		{Name: "operation", Text: func(r sandbox.ActiveRule) string { return cmp.Or(r.Op, "any") }},
		{Name: "skip", Text: func(r sandbox.ActiveRule) string { return strconv.Itoa(r.Skip) }},
		{Name: "count", Text: func(r sandbox.ActiveRule) string {
			if r.Count == 0 {
				return "no limit"
			}
			return strconv.Itoa(r.Count)
		}},
		{Name: "probability", Text: func(r sandbox.ActiveRule) string { return fmt.Sprint(r.Probability) }},
		{Name: "failed", Text: func(r sandbox.ActiveRule) string { return strconv.Itoa(r.Failed) }},
		{Name: "delivery", Text: func(r sandbox.ActiveRule) string { return r.Delivery }},
	},
	Fields: output.FieldsOf(sandbox.ActiveRule{}),
}

func newFaultList(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Print the rules and the outage: a table on a terminal, otherwise JSON",
		Example: "  messaging sandbox fault list",
		Args:    cobra.NoArgs,
	}
	remote := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := remote.call(cmd.Context(), http.MethodGet, "/api/faults", nil)
		if err != nil {
			return err
		}
		if !s.printer.IsTable() {
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s", body) // a closed pipe is not an error here
			return nil
		}
		return s.printRules(body)
	}
	return cmd
}

// printRules writes the rules as a table.
func (s *settings) printRules(body []byte) error {
	var faults struct {
		Items  []sandbox.ActiveRule
		Outage *time.Time `json:"outage_until"`
	}
	if err := json.Unmarshal(body, &faults); err != nil {
		return exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
	}
	if faults.Outage != nil {
		s.printer.Note("the port of the service is closed until %s", words.Clock(*faults.Outage))
	}
	if len(faults.Items) == 0 {
		s.printer.Note("there are no rules")
	}
	rows, err := output.NewRows(s.printer, ruleTable)
	if err != nil {
		return err
	}
	for _, rule := range faults.Items {
		if err := rows.Write(rule); err != nil {
			return err
		}
	}
	return rows.Close()
}
