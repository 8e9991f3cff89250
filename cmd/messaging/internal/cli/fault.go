package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
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

func newFault(s *settings) *cobra.Command {
	var rule fake.Rule
	var after time.Duration
	cmd := &cobra.Command{
		Use:   "fault KIND",
		Short: "Make the next requests fail, and print the id of the rule",
		Long: "Make the next requests fail, and print the id of the rule. The kinds:\n\n" +
			"  answer_lost    carried out; the connection closes without a response\n" +
			"  status         not carried out; responds with --status and --body\n" +
			"  rate_limited   not carried out; responds 429 with --after as Retry-After\n" +
			"  slow           carried out after --after\n" +
			"  malformed      carried out; responds with --body\n\n" +
			"The operations: " + service.Names(service.Served()) + ".",
		Example: fmt.Sprintf(`  messaging sandbox fault answer_lost --op %q
  messaging sandbox fault rate_limited --after 7s --count 3
  messaging sandbox fault outage --for 10s
  messaging sandbox fault list
  messaging sandbox fault remove 1`, service.TriggerEvent.Name),
		Args:      cobra.ExactArgs(1),
		ValidArgs: fake.FaultKinds,
	}
	remote, f := addUI(cmd), cmd.Flags()
	f.StringVar(&rule.Op, "op", "", "`operation` whose requests fail (default any)")
	f.IntVar(&rule.Skip, "skip", 0, "how many requests to let through first")
	f.IntVar(&rule.Count, "count", 1, "how many requests fail; 0 means no limit")
	f.Float64Var(&rule.Probability, "probability", 1, "probability that a request fails")
	f.Uint64Var(&rule.Seed, "seed", 0, "seed of the random numbers")
	f.IntVar(&rule.Fault.Status, "status", 0, "status code, for status")
	f.StringVar(&rule.Fault.Body, "body", "", "response body, for status and malformed")
	f.DurationVar(&after, "after", 0, "delay or Retry-After, for slow and rate_limited")
	_ = cmd.RegisterFlagCompletionFunc("op", completeOp) // the flag exists
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rule.Fault.Kind, rule.Fault.After = strings.ReplaceAll(args[0], "-", "_"), fake.Duration(after)
		body, err := remote.call(cmd.Context(), http.MethodPost, "/api/faults", rule)
		if err != nil {
			return withFlag(err)
		}
		return printNumber(cmd, body, "id")
	}
	cmd.AddCommand(newOutage(), newFaultList(s), newFaultRemove())
	return cmd
}

func newOutage() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "outage",
		Short:   "Close the port of the service, so that nothing arrives",
		Example: "  messaging sandbox fault outage --for 10s",
		Args:    cobra.NoArgs,
	}
	remote := addUI(cmd)
	lasting := cmd.Flags().Duration("for", 10*time.Second, "how long")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, err := remote.call(cmd.Context(), http.MethodPost, "/api/outage", map[string]string{"for": lasting.String()})
		return withFlag(err)
	}
	return cmd
}

// completeOp completes the names of operations in a shell.
func completeOp(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for op := range service.Served() {
		names = append(names, op.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// withFlag returns an error of the sandbox about a field with the name of its flag, or of KIND.
func withFlag(err error) error {
	if invalid := new(exit.Error); errors.As(err, &invalid) && invalid.Code == exit.Usage {
		field, _ := strings.CutPrefix(invalid.Error(), "fault.")
		return exit.With(exit.Usage, "%s", strings.TrimPrefix("--"+field, "--kind: "))
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
	var remote *remoteFlags
	cmd := list[sandbox.ActiveRule]{
		use: "list", short: "List the rules",
		example: "  messaging sandbox fault list",
		table:   ruleTable,
		rows: func(c call) iter.Seq2[sandbox.ActiveRule, error] {
			var faults struct {
				Items  []sandbox.ActiveRule
				Outage *time.Time `json:"outage_until"`
			}
			body, err := remote.call(c.ctx, http.MethodGet, "/api/faults", nil)
			if err == nil {
				err = json.Unmarshal(body, &faults)
			}
			if faults.Outage != nil {
				s.printer.Note("the port of the service is closed until %s", words.Clock(*faults.Outage))
			}
			return ofSlice(faults.Items, err)
		},
	}.command(s)
	remote = addUI(cmd)
	return cmd
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
