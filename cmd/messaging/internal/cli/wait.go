package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newWait() *cobra.Command {
	var after int
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait [TERM…]",
		Short: "Wait for the first request that matches, and print it",
		Long: `Wait for the first request that matches all terms, and print its summary as
JSON. Headers and bodies are at GET /api/requests/NUMBER of the inspector, with
the "number" of the summary.

A request that has already arrived matches too, unless --after excludes it: pass
the number of the last request that was seen. The exit code is 11 if there is no
match in time.

Terms are words and KEY:VALUE, with the keys op, status, to, subject, event,
has, fault, customer and since.`,
		Example: `  messaging sandbox wait 'op:trigger event' to:ada@example.com
  messaging sandbox wait has:skipped --after 120 --timeout 5s
  n=$(messaging sandbox wait op:trigger | jq .number)
  curl "$MESSAGING_SANDBOX_URL/api/requests/$n"               # with both bodies
  messaging sandbox wait op:trigger --after "$n"              # the next one`,
	}
	sandbox := addUI(cmd)
	cmd.Flags().IntVar(&after, "after", 0, "only requests with a higher `number`")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Second, "how long to wait, at most 60s")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query := url.Values{"q": {joinTerms(args)}, "after": {strconv.Itoa(after)}, "timeout": {timeout.String()}}
		body, err := sandbox.call(cmd.Context(), http.MethodGet, "/api/wait?"+query.Encode(), nil)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s", body) // a closed pipe is not an error here
		return nil
	}
	return cmd
}

// joinTerms joins arguments to a query. One with blanks stays one term.
func joinTerms(args []string) string {
	terms := make([]string, len(args))
	for i, arg := range args {
		if strings.ContainsAny(arg, " \t") && !strings.Contains(arg, `"`) {
			arg = `"` + arg + `"`
		}
		terms[i] = arg
	}
	return strings.Join(terms, " ")
}
