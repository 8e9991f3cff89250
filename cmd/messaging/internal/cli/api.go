package cli

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/internal/service"
)

func newAPI(s *settings) *cobra.Command {
	return s.reading("api GET PATH", "Read from a path of the service that has no command",
		`Read from a path of the service, and print the data of the response as JSON. The
path begins with a slash and is already escaped; a query can follow it.`,
		"  messaging -p sandbox api GET "+service.ListEvents.Path+"\n"+
			"  messaging -p sandbox api GET '"+service.ListCustomers.Path+"?per_page=2'",
		func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || !strings.EqualFold(args[0], http.MethodGet) {
				return exit.With(exit.Usage, "api takes GET and a path; it only reads")
			}
			return nil
		}, nil, func(c call) error {
			path, rawQuery, _ := strings.Cut(c.args[1], "?")
			query, err := url.ParseQuery(rawQuery)
			if err != nil {
				return exit.With(exit.Usage, "the query of the path is malformed")
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			response, err := client.Do(c.ctx, messaging.Request{Method: http.MethodGet, Path: path, Query: query})
			if err != nil {
				return err
			}
			return s.printer.JSON(response.Data)
		})
}
