package cli

import (
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sends"
)

var sendTable = output.Table[sends.Shown]{
	Columns: []output.Column[sends.Shown]{
		{Name: "id", Text: func(r sends.Shown) string { return r.ID }},
		{Name: "at", Time: func(r sends.Shown) time.Time { return r.At }},
		{Name: "delivery", Text: func(r sends.Shown) string { return string(r.Delivery) }},
		{Name: "recipients", Text: func(r sends.Shown) string {
			if r.Recipients == nil {
				return ""
			}
			return fmt.Sprint(*r.Recipients)
		}},
		{Name: "operation", Text: func(r sends.Shown) string { return r.Operation }},
		{Name: "host", Text: func(r sends.Shown) string { return r.Host }},
		{Name: "sha256", Text: func(r sends.Shown) string { return r.SHA256 }},
	},
	Fields: output.FieldsOf(sends.Shown{}),
}

func newSendsList(s *settings) *cobra.Command {
	return list[sends.Shown]{
		use: "list", short: "List the broadcasts and triggers that were sent from this machine, oldest first",
		long: `List the broadcasts and triggers that were sent from this machine, oldest first. Nobody knows what
became of those whose delivery is unknown or empty: find out, and run "sends resolve". The others
are accepted, rejected, not_sent, or superseded by a send with --again; they are forgotten after
30 days.`,
		example: `  messaging sends list
  messaging sends list --json=id,at,delivery`,
		table: sendTable,
		rows: func(call) iter.Seq2[sends.Shown, error] {
			record, err := sends.Open(os.LookupEnv)
			if err != nil {
				return failed[sends.Shown](err)
			}
			all, err := record.List()
			rows := make([]sends.Shown, len(all))
			for i, each := range all {
				rows[i] = each.Shown
			}
			return ofSlice(rows, err)
		},
	}.command(s)
}

func newSendsResolve(s *settings) *cobra.Command {
	var carriedOut, notCarriedOut bool
	cmd := &cobra.Command{
		Use:   "resolve ID --carried-out|--not-carried-out",
		Short: "Record what became of a send whose outcome is unknown",
		Long: `Record what became of a send whose outcome is unknown, once you have found out. If it was not
carried out, the same send is no longer refused.`,
		Example: `  messaging sends resolve JKQ4XW6DZ7MA2 --carried-out
  messaging sends resolve JKQ4XW6DZ7MA2 --not-carried-out`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if carriedOut == notCarriedOut {
				return exit.With(exit.Usage, "pass exactly one of --carried-out and --not-carried-out")
			}
			record, err := sends.Open(os.LookupEnv)
			if err != nil {
				return err
			}
			delivery := sends.NotSent
			if carriedOut {
				delivery = sends.Accepted
			}
			found, err := record.Settle(cmd.Context(), args[0], delivery)
			if err != nil {
				return err
			}
			return output.One(s.printer, sendTable, found.Shown)
		},
	}
	s.prints(cmd, sendTable.Fields)
	cmd.Flags().BoolVar(&carriedOut, "carried-out", false, "it was carried out")
	cmd.Flags().BoolVar(&notCarriedOut, "not-carried-out", false, "it was not carried out, and can be sent again")
	return cmd
}
