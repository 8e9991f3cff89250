package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/remote"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// remoteFlags name a running sandbox.
type remoteFlags struct{ url string }

func (flags *remoteFlags) add(set *pflag.FlagSet) {
	set.StringVar(&flags.url, "ui", "", "`URL` of the inspector; default $"+remote.URLVariable+", else "+remote.DefaultURL)
}

func (flags *remoteFlags) sandbox() (*remote.Sandbox, error) {
	return remote.New(cmp.Or(flags.url, os.Getenv(remote.URLVariable)), os.Getenv(remote.TokenVariable))
}

// call calls the JSON API of the sandbox.
func (flags *remoteFlags) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	box, err := flags.sandbox()
	if err != nil {
		return nil, err
	}
	return box.Call(ctx, method, path, body)
}

// printNumber prints a member of a response, which is a number.
func printNumber(cmd *cobra.Command, response []byte, member string) error {
	var numbers map[string]int
	if err := json.Unmarshal(response, &numbers); err != nil {
		return exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), numbers[member])
	return err
}

func newMark(s *settings) *cobra.Command {
	var ui remoteFlags
	return s.reading("mark [NAME]", "Make wait ignore earlier requests, and print the number of the last one",
		`Wait looks only at the requests after the last mark. The list of requests shows where
each mark was set, and its name, and "mark:NAME" finds the requests after it, until the
next mark.`,
		`  messaging sandbox mark
  messaging sandbox mark checkout && go test ./... && messaging sandbox wait op:trigger`,
		cobra.MaximumNArgs(1), ui.add, func(c call) error {
			body, err := ui.call(c.ctx, http.MethodPost, "/api/mark", map[string]string{"name": strings.Join(c.args, "")})
			if err != nil {
				return err
			}
			return printNumber(c.cmd, body, "number")
		})
}

func newReset(s *settings) *cobra.Command {
	var ui remoteFlags
	cmd := s.reading("reset [all|history|faults]", "Reset the sandbox: restore the seed, clear the history and the faults", "",
		`  messaging sandbox reset
  messaging sandbox reset faults`,
		cobra.MaximumNArgs(1), ui.add, func(c call) error {
			what := cmp.Or(strings.Join(c.args, ""), "all")
			_, err := ui.call(c.ctx, http.MethodPost, "/api/reset?what="+url.QueryEscape(what), nil)
			if err == nil {
				s.printer.Note("reset: %s", what)
			}
			return err
		})
	cmd.ValidArgs = []string{"all", "history", "faults"}
	return cmd
}

func newDump(s *settings) *cobra.Command {
	var ui remoteFlags
	return s.reading("dump", "Print "+records.Names("and")+" as a seed", "",
		`  messaging sandbox dump >seed.json
  messaging sandbox --seed seed.json`,
		nil, ui.add, func(c call) error {
			body, err := ui.call(c.ctx, http.MethodGet, "/api/dump", nil)
			if err != nil {
				return err
			}
			_, err = s.stdout.Write(body)
			return err
		})
}

// variableNames are those of the variables that point a program at a sandbox.
var variableNames = []string{"MESSAGING_BASE_URL", "MESSAGING_API_KEY", remote.URLVariable}

// shell is how a shell sets the variables. Its unset removes them and fails, so that what follows is not run with those
// of an earlier sandbox.
type shell struct{ set, quote, unset string }

var shells = map[string]shell{
	"posix": {"export %s='%s'\n", `'\''`, "unset " + strings.Join(variableNames, " ") + "; false"},
	"powershell": {"$env:%s = '%s';\n", "''",
		"$env:" + strings.Join(variableNames, " = $null; $env:") + " = $null; throw 'there is no sandbox'"},
}

func newEnv() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the environment variables that point programs at the sandbox",
		Long: `Print the environment variables that point programs at the sandbox, for eval. Which
sandbox that is goes to stderr. If there is none, the output removes the variables and
fails: otherwise, a program would use those of an earlier environment.`,
		Example: `  eval "$(messaging sandbox env)" && go run ./cmd/shop
  messaging sandbox env --shell powershell | Out-String | Invoke-Expression
  messaging sandbox env --ui http://127.0.0.1:9000`,
		Args: cobra.NoArgs,
	}
	var ui remoteFlags
	ui.add(cmd.Flags())
	cmd.Flags().StringVar(&name, "shell", "posix", "`language` of the output: posix or powershell")
	_ = cmd.RegisterFlagCompletionFunc("shell", // the flag exists
		cobra.FixedCompletions([]string{"posix", "powershell"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		form, ok := shells[name]
		if !ok {
			return exit.With(exit.Usage, "--shell: %q must be posix or powershell", name)
		}
		values, err := askForVariables(cmd, &ui)
		if err != nil {
			if _, unwritten := fmt.Fprintln(cmd.OutOrStdout(), form.unset); unwritten != nil {
				return unwritten
			}
			return err
		}
		return form.write(cmd, values)
	}
	return cmd
}

// askForVariables returns the values of the variables for a running sandbox, and writes which one it is to stderr.
func askForVariables(cmd *cobra.Command, flags *remoteFlags) ([]string, error) {
	box, err := flags.sandbox()
	if err != nil {
		return nil, err
	}
	found, err := box.Access(cmd.Context())
	if err != nil {
		return nil, err
	}
	cmd.PrintErrf("sandbox %s: process %d, started %s\n", box.URL, found.PID, found.Started.Local().Format("2006-01-02 15:04:05 MST"))
	return []string{box.Service(found), found.Key, box.URL}, nil
}

// write writes a line for each variable.
func (s shell) write(cmd *cobra.Command, values []string) error {
	var lines strings.Builder
	for i, value := range values {
		fmt.Fprintf(&lines, s.set, variableNames[i], strings.ReplaceAll(value, "'", s.quote))
	}
	_, err := cmd.OutOrStdout().Write([]byte(lines.String()))
	return err
}

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
	var ui remoteFlags
	f := cmd.Flags()
	ui.add(f)
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
		body, err := ui.call(cmd.Context(), http.MethodPost, "/api/faults", rule)
		if err != nil {
			return withFlag(err)
		}
		return printNumber(cmd, body, "id")
	}
	cmd.AddCommand(newOutage(s), newFaultList(s), newFaultRemove(s))
	return cmd
}

func newOutage(s *settings) *cobra.Command {
	var ui remoteFlags
	var lasting time.Duration
	return s.reading("outage", "Close the port of the service, so that nothing arrives", "", "  messaging sandbox fault outage --for 10s", nil,
		func(f *pflag.FlagSet) {
			ui.add(f)
			f.DurationVar(&lasting, "for", 10*time.Second, "how long")
		}, func(c call) error {
			_, err := ui.call(c.ctx, http.MethodPost, "/api/outage", map[string]string{"for": lasting.String()})
			return withFlag(err)
		})
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
	var ui remoteFlags
	return list[sandbox.ActiveRule]{
		use: "list", short: "List the rules",
		example: "  messaging sandbox fault list",
		flags:   ui.add,
		table:   ruleTable,
		rows: func(c call) iter.Seq2[sandbox.ActiveRule, error] {
			var faults struct {
				Items  []sandbox.ActiveRule
				Outage *time.Time `json:"outage_until"`
			}
			body, err := ui.call(c.ctx, http.MethodGet, "/api/faults", nil)
			if err == nil {
				err = json.Unmarshal(body, &faults)
			}
			if faults.Outage != nil {
				s.printer.Note("the port of the service is closed until %s", words.Clock(*faults.Outage))
			}
			return ofSlice(faults.Items, err)
		},
	}.command(s)
}

func newFaultRemove(s *settings) *cobra.Command {
	var ui remoteFlags
	return s.reading("remove ID", "Remove a rule", "", "  messaging sandbox fault remove 1", cobra.ExactArgs(1), ui.add,
		func(c call) error {
			_, err := ui.call(c.ctx, http.MethodDelete, "/api/faults/"+url.PathEscape(c.args[0]), nil)
			return err
		})
}

func newWait(s *settings) *cobra.Command {
	var flags waitFlags
	cmd := &cobra.Command{
		Use:   "wait [TERM…]",
		Short: "Wait for the first request that matches, and print it",
		Long: `Wait for the first request that matches all terms, and print its summary as JSON.
GET /api/requests/NUMBER of the inspector has the headers and the bodies; NUMBER is
the "number" of the summary.

A request that has already arrived matches too, if it came after the last mark or
reset. To begin later, pass --after with the number of the last request that you have seen. The exit code is 11 if no request
matches in time; stderr then says how many came, and which is the nearest.

With --count 3, wait prints {"items": […]} with three of them, oldest first. --count 0
expects none: it succeeds at the end of --timeout, and fails as soon as a request matches.

A term is a word or KEY:VALUE. The keys are ` + history.KeyNames("and") + `.
With a ! before it, a term must not match; a - would begin a flag.`,
		Example: fmt.Sprintf(`  messaging sandbox wait 'op:%s' to:ada@example.com
  messaging sandbox wait has:skipped --after 120 --timeout 5s
  messaging sandbox wait op:trigger --count 3                 # three of them
  messaging sandbox wait to:bob@example.com --count 0 --timeout 500ms   # none
  n=$(messaging sandbox wait op:trigger | jq .number)
  curl "$MESSAGING_SANDBOX_URL/api/requests/$n"               # with both bodies
  messaging sandbox wait op:trigger --after "$n"              # the next one`, service.TriggerEvent.Name),
	}
	var ui remoteFlags
	ui.add(cmd.Flags())
	cmd.Flags().StringVar(&flags.after, "after", "", "only requests with a higher `number`; or start (default: the last mark or reset)")
	cmd.Flags().IntVar(&flags.count, "count", 1, "print {\"items\": […]} with this `number` of requests; 0 expects none")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 10*time.Second, "how long to wait, at most 60s")
	s.fields[cmd] = output.FieldsOf(inspector.SampleRequest)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query, err := flags.query(args, cmd.Flags().Changed("count"))
		if err != nil {
			return err
		}
		body, err := ui.call(cmd.Context(), http.MethodGet, "/api/wait?"+query.Encode(), nil)
		if err != nil {
			return err
		}
		return s.printRequests(body)
	}
	return cmd
}

// printRequests prints a request or, with --count, a list, with the fields of --json alone.
func (s *settings) printRequests(body []byte) error {
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(body, &list); err != nil {
		return exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
	}
	if list.Items == nil {
		return s.printer.Object(json.RawMessage(body))
	}
	texts := make([]string, len(list.Items))
	for i, item := range list.Items {
		var err error
		if texts[i], err = s.printer.Picked(item); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(s.printer.Out, "{\"items\":[%s]}\n", strings.Join(texts, ","))
	return err
}

// waitFlags are the flags of wait.
type waitFlags struct {
	after   string
	count   int
	timeout time.Duration
}

// query returns what the inspector is asked. It waits for one request, unless counted is set.
func (f *waitFlags) query(terms []string, counted bool) (url.Values, error) {
	if n, err := strconv.Atoi(f.after); f.after != "" && f.after != "start" && (err != nil || n < 0) {
		return nil, exit.With(exit.Usage, "--after: must be a number from 0, or start")
	}
	query := url.Values{"q": {search.Join(terms)}, "after": {f.after}, "timeout": {f.timeout.String()}}
	if counted {
		query.Set("count", strconv.Itoa(f.count))
	}
	return query, nil
}
