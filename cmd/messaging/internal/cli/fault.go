package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// outage is a KIND of the command that is not a rule: the port is closed.
const outage = "outage"

var faultKinds = append(slices.Clone(fake.FaultKinds), outage)

func newFault(s *settings) *cobra.Command {
	var rule fake.Rule
	var after, lasting time.Duration
	cmd := &cobra.Command{
		Use:   "fault KIND",
		Short: "Make the next requests fail, and print the id of the rule",
		Long: "Make the next requests fail, and print the id of the rule. The kinds:\n\n" +
			"  answer_lost    carried out; the connection closes without a response\n" +
			"  status         not carried out; responds with --status and --body\n" +
			"  rate_limited   not carried out; responds 429 with --after as Retry-After\n" +
			"  slow           carried out after --after\n" +
			"  malformed      carried out; responds with --body\n" +
			"  outage         the port is closed for --for; nothing arrives\n\n" +
			"The operations: " + service.Names(service.Served()) + ".",
		Example: fmt.Sprintf(`  messaging sandbox fault answer_lost --op %q
  messaging sandbox fault rate_limited --after 7s --count 3
  messaging sandbox fault outage --for 10s
  messaging sandbox fault list
  messaging sandbox fault remove 1`, service.TriggerEvent.Name),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return exit.With(exit.Usage, "one KIND is required: %s", words.List(faultKinds, "or"))
		},
		ValidArgs: faultKinds,
	}
	flags, f := addUI(cmd), cmd.Flags()
	f.StringVar(&rule.Op, "op", "", "`operation` whose requests fail (default any)")
	f.IntVar(&rule.Skip, "skip", 0, "how many requests to let through first")
	f.IntVar(&rule.Count, "count", 1, "how many requests fail; 0 means no limit")
	f.Float64Var(&rule.Probability, "probability", 1, "probability that a request fails")
	f.Uint64Var(&rule.Seed, "seed", 0, "seed of the random numbers")
	f.IntVar(&rule.Fault.Status, "status", 0, "status code, for status")
	f.StringVar(&rule.Fault.Body, "body", "", "response body, for status and malformed")
	f.DurationVar(&after, "after", 0, "delay or Retry-After, for slow and rate_limited")
	f.DurationVar(&lasting, "for", 10*time.Second, "duration, for outage")
	_ = cmd.RegisterFlagCompletionFunc("op", completeOp) // the flag exists
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind := strings.ReplaceAll(args[0], "-", "_")
		if err := checkKind(cmd, kind); err != nil {
			return err
		}
		if kind == outage {
			_, err := flags.call(cmd.Context(), http.MethodPost, "/api/outage", map[string]string{"for": lasting.String()})
			return withFlag(err)
		}
		rule.Fault.Kind, rule.Fault.After = kind, fake.Duration(after)
		body, err := flags.call(cmd.Context(), http.MethodPost, "/api/faults", rule)
		if err != nil {
			return withFlag(err)
		}
		return printNumber(cmd, body, "id")
	}
	cmd.AddCommand(newFaultList(s), newFaultRemove())
	return cmd
}

// completeOp completes the names of operations in a shell.
func completeOp(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for op := range service.Served() {
		names = append(names, op.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// checkKind returns an error for an unknown kind, and for a flag of an outage with another kind. The sandbox checks the rest.
func checkKind(cmd *cobra.Command, kind string) error {
	if !slices.Contains(faultKinds, kind) {
		return exit.With(exit.Usage, "unknown KIND %q; must be one of %s", kind, words.List(faultKinds, "or"))
	}
	for _, name := range []string{"op", "skip", "count", "probability", "seed", "status", "body", "after", "for"} {
		if cmd.Flags().Changed(name) && (name == "for") != (kind == outage) {
			return exit.With(exit.Usage, "--%s has no effect on %s", name, kind)
		}
	}
	return nil
}

// withFlag returns an error of the sandbox about a field with the name of its flag.
func withFlag(err error) error {
	if invalid := new(exit.Error); errors.As(err, &invalid) && invalid.Code == exit.Usage {
		return exit.With(exit.Usage, "--%s", strings.TrimPrefix(invalid.Error(), "fault."))
	}
	return err
}

var ruleTable = output.Table[sandbox.ActiveRule]{
	Columns: []output.Column[sandbox.ActiveRule]{
		{Name: "id", Text: func(r sandbox.ActiveRule) string { return fmt.Sprint(r.ID) }},
		{Name: "kind", Text: func(r sandbox.ActiveRule) string { return r.Fault.Kind }},
		{Name: "operation", Text: func(r sandbox.ActiveRule) string { return cmp.Or(r.Op, "any") }},
		{Name: "skip", Text: func(r sandbox.ActiveRule) string { return fmt.Sprint(r.Skip) }},
		{Name: "count", Text: func(r sandbox.ActiveRule) string {
			if r.Count == 0 {
				return "no limit"
			}
			return fmt.Sprint(r.Count)
		}},
		{Name: "failed", Text: func(r sandbox.ActiveRule) string { return fmt.Sprint(r.Failed) }},
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
	flags := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := flags.call(cmd.Context(), http.MethodGet, "/api/faults", nil)
		if err != nil {
			return err
		}
		if !s.printer.IsTable() {
			_, err := cmd.OutOrStdout().Write(body)
			return err
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
	rows := output.NewRows(s.printer, ruleTable)
	for _, rule := range faults.Items {
		if err := rows.Write(rule); err != nil {
			return err
		}
	}
	return rows.Close()
}

func newFaultRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove a rule",
		Example: "  messaging sandbox fault remove 1",
		Args:    cobra.ExactArgs(1),
	}
	flags := addUI(cmd)
	var id int
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := fmt.Sscan(args[0], &id); err != nil {
			return exit.With(exit.Usage, "the ID must be a number, not %q", args[0])
		}
		_, err := flags.call(cmd.Context(), http.MethodDelete, fmt.Sprintf("/api/faults/%d", id), nil)
		return err
	}
	return cmd
}
