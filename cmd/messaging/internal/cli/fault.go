package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// outage is a KIND of the command that is not a rule: the port is closed.
const outage = "outage"

// kinds returns every KIND of the command, joined.
func kinds() string { return strings.Join(sandbox.FaultKinds, ", ") + " or " + outage }

// faultFlags are the flags of the fault command.
type faultFlags struct {
	rule            sandbox.Rule
	after, duration time.Duration
}

func newFault(s *settings) *cobra.Command {
	var flags faultFlags
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
			return exit.With(exit.Usage, "one KIND is required: %s", kinds())
		},
		ValidArgs: append(slices.Clone(sandbox.FaultKinds), outage),
	}
	remote := addUI(cmd)
	flags.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runFault(cmd, remote, strings.ReplaceAll(args[0], "-", "_"), flags)
	}
	cmd.AddCommand(newFaultList(s), newFaultRemove())
	return cmd
}

func (flags *faultFlags) add(cmd *cobra.Command) {
	f, rule := cmd.Flags(), &flags.rule
	f.StringVar(&rule.Op, "op", "", "`operation` whose requests fail (default any)")
	f.IntVar(&rule.Skip, "skip", 0, "how many requests to let through first")
	f.IntVar(&rule.Count, "count", 1, "how many requests fail; 0 means no limit")
	f.Float64Var(&rule.Probability, "probability", 1, "probability that a request fails")
	f.Uint64Var(&rule.Seed, "seed", 0, "seed of the random numbers")
	f.IntVar(&rule.Fault.Status, "status", 0, "status code, for status")
	f.StringVar(&rule.Fault.Body, "body", "", "response body, for status and malformed")
	f.DurationVar(&flags.after, "after", 0, "delay or Retry-After, for slow and rate_limited")
	f.DurationVar(&flags.duration, "for", 10*time.Second, "duration, for outage")
	_ = cmd.RegisterFlagCompletionFunc("op", completeOp) // the flag exists
}

// completeOp completes the names of operations in a shell.
func completeOp(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for op := range service.Served() {
		names = append(names, op.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func runFault(cmd *cobra.Command, remote *remote, kind string, flags faultFlags) (err error) {
	if err := checkKind(cmd, kind); err != nil {
		return err
	}
	if kind == outage {
		if err := flagError(sandbox.CheckOutage(flags.duration)); err != nil {
			return err
		}
		body := map[string]sandbox.Duration{"for": sandbox.Duration(flags.duration)}
		_, err := remote.call(cmd.Context(), http.MethodPost, "/api/outage", body)
		return err
	}
	rule := flags.rule
	rule.Fault.Kind, rule.Fault.After = kind, sandbox.Duration(flags.after)
	if rule.Op, err = sandbox.FindOp(rule.Op); err != nil {
		return flagError(err)
	}
	if err := flagError(rule.Check()); err != nil {
		return err
	}
	body, err := remote.call(cmd.Context(), http.MethodPost, "/api/faults", rule)
	if err != nil {
		return err
	}
	var added struct{ ID int }
	if err := json.Unmarshal(body, &added); err != nil {
		return exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
	}
	_, _ = fmt.Fprintln(cmd.OutOrStdout(), added.ID) // a closed pipe is not an error here
	return nil
}

// checkKind returns an error for an unknown kind, and for a flag that has no effect on
// the kind.
func checkKind(cmd *cobra.Command, kind string) error {
	ofRules := []string{"op", "skip", "count", "probability", "seed"}
	used := append(slices.Clone(ofRules), sandbox.FaultFields[kind]...)
	switch {
	case kind == outage:
		used = []string{"for"}
	case !slices.Contains(sandbox.FaultKinds, kind):
		if nearest := words.Nearest(kind, slices.Concat(sandbox.FaultKinds, commandNames(cmd), []string{outage})); nearest != "" {
			return exit.With(exit.Usage, "unknown KIND %q; did you mean %s?", kind, nearest)
		}
		return exit.With(exit.Usage, "unknown KIND %q; must be one of %s", kind, kinds())
	}
	for _, name := range append(ofRules, "status", "body", "after", "for") {
		if cmd.Flags().Changed(name) && !slices.Contains(used, name) {
			return exit.With(exit.Usage, "--%s has no effect on %s", name, kind)
		}
	}
	return nil
}

// flagError returns the error for an invalid field with the name of its flag.
func flagError(err error) error {
	if invalid := new(sandbox.RuleError); errors.As(err, &invalid) {
		return exit.With(exit.Usage, "--%s: %s", strings.TrimPrefix(invalid.Field, "fault."), invalid.Problem)
	}
	return err
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
			return exit.With(exit.Usage, "the ID must be a number, not %q", args[0])
		}
		_, err = remote.call(cmd.Context(), http.MethodDelete, "/api/faults/"+strconv.Itoa(id), nil)
		return err
	}
	return cmd
}
