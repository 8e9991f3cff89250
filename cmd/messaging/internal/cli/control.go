package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// controlling returns a command that calls the JSON API of a running sandbox.
func (s *settings) controlling(use, short, long, example string, args cobra.PositionalArgs, flags func(*pflag.FlagSet),
	run func(call) error) *cobra.Command {
	return s.ofSandbox(s.reading(use, short, long, example, args, flags, run))
}

// ofSandbox adds the flag that says which sandbox a command controls.
func (s *settings) ofSandbox(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&s.inspector, "ui", "", "`URL` of the inspector; default $"+profile.URLVariable+", else "+profile.DefaultURL)
	return cmd
}

// control calls the JSON API of the sandbox. An error about a field has the name of its flag, or is about KIND.
func (c call) control(method, path string, body any) ([]byte, error) {
	box, err := profile.Find(c.inspector)
	if err != nil {
		return nil, err
	}
	response, err := box.Call(c.ctx, method, path, body)
	if invalid := new(exit.Error); errors.As(err, &invalid) && invalid.Code == exit.Usage {
		text := strings.TrimPrefix(strings.TrimPrefix(invalid.Error(), "fault."), "kind: ")
		if field, _, _ := strings.Cut(text, ":"); c.cmd.Flags().Lookup(field) != nil {
			text = "--" + text
		}
		return nil, exit.With(exit.Usage, "%s", text)
	}
	return response, err
}

// printNumber prints a member of a response, which is a number.
func (c call) printNumber(response []byte, member string) error {
	var numbers map[string]int
	if err := json.Unmarshal(response, &numbers); err != nil {
		return exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
	}
	_, err := fmt.Fprintln(c.stdout, numbers[member])
	return err
}

func newMark(s *settings) *cobra.Command {
	return s.controlling("mark [NAME]", "Make wait ignore earlier requests, and print the number of the last one",
		`Wait looks only at the requests after the last mark. The list of requests shows where
each mark was set, and its name, and "mark:NAME" finds the requests after it, until the
next mark.`,
		`  messaging sandbox mark
  messaging sandbox mark checkout && go test ./... && messaging sandbox wait op:trigger`,
		cobra.MaximumNArgs(1), nil, func(c call) error {
			body, err := c.control(http.MethodPost, "/api/mark", map[string]string{"name": strings.Join(c.args, "")})
			if err != nil {
				return err
			}
			return c.printNumber(body, "number")
		})
}

func newReset(s *settings) *cobra.Command {
	cmd := s.controlling("reset [all|history|faults]", "Reset the sandbox: restore the seed, clear the history and the faults", "",
		`  messaging sandbox reset
  messaging sandbox reset faults`,
		cobra.MaximumNArgs(1), nil, func(c call) error {
			what := cmp.Or(strings.Join(c.args, ""), "all")
			_, err := c.control(http.MethodPost, "/api/reset?what="+url.QueryEscape(what), nil)
			if err == nil {
				s.printer.Note("reset: %s", what)
			}
			return err
		})
	cmd.ValidArgs = []string{"all", "history", "faults"}
	return cmd
}

func newDump(s *settings) *cobra.Command {
	return s.controlling("dump", "Print "+records.Names("and")+" as a seed", "",
		`  messaging sandbox dump >seed.json
  messaging sandbox --seed seed.json`,
		nil, nil, func(c call) error {
			body, err := c.control(http.MethodGet, "/api/dump", nil)
			if err != nil {
				return err
			}
			_, err = s.stdout.Write(body)
			return err
		})
}

// variableNames are those of the variables that point a program at a sandbox.
var variableNames = []string{"MESSAGING_BASE_URL", "MESSAGING_API_KEY", profile.URLVariable}

// shell is how a shell sets the variables. Its unset removes them and fails, so that what follows is not run with those
// of an earlier sandbox.
type shell struct{ set, quote, unset string }

var shells = map[string]shell{
	"posix": {"export %s='%s'\n", `'\''`, "unset " + strings.Join(variableNames, " ") + "; false"},
	"powershell": {"$env:%s = '%s';\n", "''",
		"$env:" + strings.Join(variableNames, " = $null; $env:") + " = $null; throw 'there is no sandbox'"},
}

func newEnv(s *settings) *cobra.Command {
	var name string
	return s.controlling("env", "Print the environment variables that point programs at the sandbox",
		`Print the environment variables that point programs at the sandbox, for eval. Which
sandbox that is goes to stderr. If there is none, the output removes the variables and
fails: otherwise, a program would use those of an earlier environment.`,
		`  eval "$(messaging sandbox env)" && go run ./cmd/shop
  messaging sandbox env --shell powershell | Out-String | Invoke-Expression
  messaging sandbox env --ui http://127.0.0.1:9000`,
		nil, func(f *pflag.FlagSet) {
			f.StringVar(&name, "shell", "posix", "`language` of the output: posix or powershell")
		}, func(c call) error {
			form, ok := shells[name]
			if !ok {
				return exit.With(exit.Usage, "--shell: %q must be posix or powershell", name)
			}
			box, err := profile.Find(c.inspector)
			var found profile.Access
			if err == nil {
				found, err = box.Access(c.ctx)
			}
			if err != nil {
				_, unwritten := fmt.Fprintln(s.stdout, form.unset)
				return cmp.Or(unwritten, err)
			}
			s.printer.Line("sandbox %s: process %d, started %s", box.URL, found.PID, found.Started.Local().Format("2006-01-02 15:04:05 MST"))
			return form.write(s.stdout, box.Service(found), found.Key, box.URL)
		})
}

// write writes a line for each variable.
func (s shell) write(to io.Writer, values ...string) error {
	lines := ""
	for i, value := range values {
		lines += fmt.Sprintf(s.set, variableNames[i], strings.ReplaceAll(value, "'", s.quote))
	}
	_, err := io.WriteString(to, lines)
	return err
}

func newFault(s *settings) *cobra.Command {
	var rule fake.Rule
	var after time.Duration
	cmd := s.controlling("fault KIND", "Make the next requests fail, and print the id of the rule",
		"Make the next requests fail, and print the id of the rule. The kinds:\n\n"+
			"  answer_lost    carried out; the connection closes without a response\n"+
			"  status         not carried out; responds with --status and --body\n"+
			"  rate_limited   not carried out; responds 429 with --after as Retry-After\n"+
			"  slow           carried out after --after\n"+
			"  malformed      carried out; responds with --body\n\n"+
			"The operations: "+service.Names(service.Served())+".\n\n"+
			"Tests in parallel need a --match: a rule then counts its own requests alone.",
		fmt.Sprintf(`  messaging sandbox fault answer_lost --op %q
  messaging sandbox fault status --status 502 --match 'to:ada@example.com value:order=A-1001'
  messaging sandbox fault rate_limited --after 7s --count 3
  messaging sandbox fault outage --for 10s
  messaging sandbox fault list
  messaging sandbox fault remove 1`, service.TriggerEvent.Name),
		cobra.ExactArgs(1), func(f *pflag.FlagSet) {
			f.StringVar(&rule.Op, "op", "", "`operation` whose requests fail (default any)")
			f.StringVar(&rule.Match, "match", "", "`search` for the requests that fail, with the terms "+words.List(history.RequestKeys, "and"))
			f.IntVar(&rule.Skip, "skip", 0, "how many requests to let through first")
			f.IntVar(&rule.Count, "count", 1, "how many requests fail; 0 means no limit")
			f.Float64Var(&rule.Probability, "probability", 1, "probability that a request fails")
			f.Uint64Var(&rule.Seed, "seed", 0, "seed of the random numbers")
			f.IntVar(&rule.Fault.Status, "status", 0, "status code, for status")
			f.StringVar(&rule.Fault.Body, "body", "", "response body, for status and malformed")
			f.DurationVar(&after, "after", 0, "delay or Retry-After, for slow and rate_limited")
		}, func(c call) error {
			rule.Fault.Kind, rule.Fault.After = strings.ReplaceAll(c.args[0], "-", "_"), fake.Duration(after)
			body, err := c.control(http.MethodPost, "/api/faults", rule)
			if err != nil {
				return err
			}
			return c.printNumber(body, "id")
		})
	cmd.ValidArgs = fake.FaultKinds
	operations := cobra.FixedCompletions(history.Operations(), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("op", operations) // the flag exists
	cmd.AddCommand(newOutage(s), newFaultList(s), newFaultRemove(s))
	return cmd
}

func newOutage(s *settings) *cobra.Command {
	var lasting time.Duration
	return s.controlling("outage", "Close the port of the service, so that nothing arrives", "",
		"  messaging sandbox fault outage --for 10s", nil,
		func(f *pflag.FlagSet) { f.DurationVar(&lasting, "for", 10*time.Second, "how long") },
		func(c call) error {
			_, err := c.control(http.MethodPost, "/api/outage", map[string]string{"for": lasting.String()})
			return err
		})
}

func newFaultList(s *settings) *cobra.Command {
	return s.ofSandbox(list{use: "list", short: "List the rules", example: "  messaging sandbox fault list", table: output.Table{
		Sample:  sandbox.ActiveRule{},
		Columns: []string{"id", "fault", "op", "match", "skip", "count", "failed", "delivery"},
		Texts: map[string]func(json.RawMessage) string{"fault": func(value json.RawMessage) string {
			var fault fake.Fault
			_ = json.Unmarshal(value, &fault) // it was just encoded
			return fault.Kind
		}},
	}, rows: func(c call, write func(any) error) error {
		var faults struct {
			Items  []sandbox.ActiveRule
			Outage *time.Time `json:"outage_until"`
		}
		body, err := c.control(http.MethodGet, "/api/faults", nil)
		if err == nil {
			err = json.Unmarshal(body, &faults)
		}
		if faults.Outage != nil {
			s.printer.Note("the port of the service is closed until %s", words.Clock(*faults.Outage))
		}
		for _, rule := range faults.Items {
			err = errors.Join(err, write(rule))
		}
		return err
	}}.command(s))
}

func newFaultRemove(s *settings) *cobra.Command {
	return s.controlling("remove ID", "Remove a rule", "", "  messaging sandbox fault remove 1", cobra.ExactArgs(1), nil,
		func(c call) error {
			_, err := c.control(http.MethodDelete, "/api/faults/"+url.PathEscape(c.args[0]), nil)
			return err
		})
}

func newWait(s *settings) *cobra.Command {
	var after string
	var count int
	var timeout time.Duration
	cmd := s.controlling("wait [TERM…]", "Wait for the first request that matches, and print it",
		`Wait for the first request that matches all terms, and print its summary as JSON.
GET /api/requests/NUMBER of the inspector has the headers and the bodies; NUMBER is
the "number" of the summary.

A request that has already arrived matches too, if it came after the last mark or
reset. To begin later, pass --after with the number of the last request that you have seen. The exit code is 11 if no request
matches in time; stderr then says how many came, and which is the nearest.

With --count 3, wait prints {"items": […]} with three of them, oldest first. --count 0
expects none: it succeeds at the end of --timeout, and fails as soon as a request matches.

A term is a word or KEY:VALUE. The keys are `+history.KeyNames("and")+`.
With a ! before it, a term must not match; a - would begin a flag.`,
		fmt.Sprintf(`  messaging sandbox wait 'op:%s' to:ada@example.com
  messaging sandbox wait has:skipped --after 120 --timeout 5s
  messaging sandbox wait op:trigger --count 3                 # three of them
  messaging sandbox wait to:bob@example.com --count 0 --timeout 500ms   # none
  n=$(messaging sandbox wait op:trigger | jq .number)
  curl "$MESSAGING_SANDBOX_URL/api/requests/$n"               # with both bodies
  messaging sandbox wait op:trigger --after "$n"              # the next one`, service.TriggerEvent.Name),
		cobra.ArbitraryArgs, func(f *pflag.FlagSet) {
			f.StringVar(&after, "after", "", "only requests with a higher `number`; or start (default: the last mark or reset)")
			f.IntVar(&count, "count", 1, "print {\"items\": […]} with this `number` of requests, at most 1000; 0 expects none")
			f.DurationVar(&timeout, "timeout", 10*time.Second, "how long to wait, at most 60s") // not that of every command
		}, func(c call) error {
			query := url.Values{"q": {search.Join(c.args)}, "after": {after}, "timeout": {timeout.String()}}
			if c.cmd.Flags().Changed("count") {
				query.Set("count", strconv.Itoa(count))
			}
			body, err := c.control(http.MethodGet, "/api/wait?"+query.Encode(), nil)
			if err != nil {
				return err
			}
			return s.printRequests(body)
		})
	s.fields[cmd] = func() []string { return output.FieldsOf(inspector.SampleRequest) }
	return cmd
}

// printRequests prints a request or, with --count, a list, with the fields of --json alone.
func (s *settings) printRequests(body []byte) error {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
	}
	if list.Items == nil {
		return s.printer.Object(json.RawMessage(body))
	}
	for i, item := range list.Items {
		picked, err := s.printer.Picked(item)
		if err != nil {
			return err
		}
		list.Items[i] = json.RawMessage(picked)
	}
	encoder := json.NewEncoder(s.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(list)
}
