package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/internal/service"
)

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
	remote := addUI(cmd)
	cmd.Flags().StringVar(&flags.after, "after", "", "only requests with a higher `number`; or start (default: the last mark or reset)")
	cmd.Flags().IntVar(&flags.count, "count", 1, "print {\"items\": […]} with this `number` of requests; 0 expects none")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 10*time.Second, "how long to wait, at most 60s")
	s.prints(cmd, output.FieldsOf(inspector.SampleRequest))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query, err := flags.query(args, cmd.Flags().Changed("count"))
		if err != nil {
			return err
		}
		body, err := remote.call(cmd.Context(), http.MethodGet, "/api/wait?"+query.Encode(), nil)
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
