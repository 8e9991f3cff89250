package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

func newFault() *cobra.Command {
	rule := sandbox.Rule{}
	var after, outage time.Duration
	cmd := &cobra.Command{
		Use:   "fault KIND",
		Short: "Make the next requests fail, and print the id of the rule",
		Long: "Make the next requests of an operation fail, and print the id of the rule. The kinds:\n\n" +
			"  answer_lost    carried out; the connection closes without a response\n" +
			"  status         not carried out; responds with --status and --body\n" +
			"  rate_limited   not carried out; 429 with --after as Retry-After\n" +
			"  slow           carried out after --after\n" +
			"  malformed      carried out; responds with --body\n" +
			"  outage         the port is closed for the time --for; nothing arrives\n\n" +
			"The operations: " + strings.Join(sandbox.Operations, ", ") + ".",
		Example: `  messaging sandbox fault answer_lost --op "trigger event"
  messaging sandbox fault rate_limited --after 7s --count 3
  messaging sandbox fault outage --for 10s
  messaging sandbox fault list
  messaging sandbox fault remove 1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return exitWith(exitUsage, "one KIND is required: %s or outage", strings.Join(sandbox.FaultKinds, ", "))
		},
	}
	remote := addUI(cmd)
	f := cmd.Flags()
	f.StringVar(&rule.Op, "op", "", "the `operation`; default any")
	f.IntVar(&rule.Skip, "skip", 0, "how many requests to let through first")
	f.IntVar(&rule.Count, "count", 1, "how many requests fail; 0 means no limit")
	f.Float64Var(&rule.Probability, "probability", 1, "probability with which a request fails")
	f.Uint64Var(&rule.Seed, "seed", 0, "seed of the random numbers")
	f.IntVar(&rule.Fault.Status, "status", 0, "status code, for status")
	f.StringVar(&rule.Fault.Body, "body", "", "response body, for status and malformed")
	f.DurationVar(&after, "after", 0, "delay or Retry-After, for slow and rate_limited")
	f.DurationVar(&outage, "for", 10*time.Second, "duration, for outage")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind := strings.ReplaceAll(args[0], "-", "_")
		if err := checkFaultFlags(cmd, kind); err != nil {
			return err
		}
		if kind == "outage" {
			_, err := remote.call(cmd.Context(), http.MethodPost, "/api/outage", map[string]sandbox.Duration{"for": sandbox.Duration(outage)})
			return err
		}
		rule.Fault.Kind, rule.Fault.After = kind, sandbox.Duration(after)
		body, err := remote.call(cmd.Context(), http.MethodPost, "/api/faults", rule)
		if err != nil {
			return err
		}
		var added struct{ ID int }
		if err := json.Unmarshal(body, &added); err != nil {
			return exitWith(exitUnexpected, "cannot read the response of the sandbox: %w", err)
		}
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), added.ID) // a closed pipe is not an error here
		return nil
	}
	cmd.AddCommand(newFaultList(), newFaultRemove())
	return cmd
}

// checkFaultFlags refuses flags that have no effect on the kind.
func checkFaultFlags(cmd *cobra.Command, kind string) error {
	ofRules := []string{"op", "skip", "count", "probability", "seed"}
	used := append(slices.Clone(ofRules), sandbox.FaultFields[kind]...)
	switch {
	case kind == "outage":
		used = []string{"for"}
	case !slices.Contains(sandbox.FaultKinds, kind):
		return nil // refused as a kind
	}
	for _, name := range append(ofRules, "status", "body", "after", "for") {
		if cmd.Flags().Changed(name) && !slices.Contains(used, name) {
			return exitWith(exitUsage, "--%s has no effect on %s", name, kind)
		}
	}
	return nil
}

func newFaultList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Print the rules and the outage, as JSON",
		Example: "  messaging sandbox fault list",
		Args:    cobra.NoArgs,
	}
	remote := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := remote.call(cmd.Context(), http.MethodGet, "/api/faults", nil)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s", body) // a closed pipe is not an error here
		return nil
	}
	return cmd
}

func newFaultRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove a rule",
		Example: "  messaging sandbox fault remove 1",
		Args:    cobra.ExactArgs(1),
	}
	remote := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.Atoi(args[0])
		if err != nil {
			return exitWith(exitUsage, "the ID must be a number, not %q", args[0])
		}
		_, err = remote.call(cmd.Context(), http.MethodDelete, "/api/faults/"+strconv.Itoa(id), nil)
		return err
	}
	return cmd
}
