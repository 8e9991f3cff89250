package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
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
  messaging sandbox fault outage --for 10s`,
		Args: cobra.ExactArgs(1),
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
	return cmd
}
