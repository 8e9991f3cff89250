package cli

import (
	"context"
	"errors"
	"iter"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
)

// list writes the rows that the service lists. What came before an error is written too.
func list[T any](cmd *cobra.Command, s *settings, table output.Table[T],
	rows func(ctx context.Context, client *messaging.Client) iter.Seq2[T, error]) error {
	out, err := output.NewRows(s.printer, table)
	if err != nil {
		return err
	}
	ctx, end := s.limited(cmd.Context())
	defer end()
	client, err := s.client(cmd)
	if err != nil {
		return err
	}
	for row, err := range rows(ctx, client) {
		err = asRead(err)
		if err == nil {
			err = out.Write(row)
		}
		if err != nil {
			return errors.Join(err, out.Close())
		}
	}
	return out.Close()
}
