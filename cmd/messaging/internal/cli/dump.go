package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func newDump() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Print " + records.Names("and") + " as a seed",
		Example: `  messaging sandbox dump >seed.json
  messaging sandbox --seed seed.json`,
		Args: cobra.NoArgs,
	}
	remote := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return remote.print(cmd, http.MethodGet, "/api/dump")
	}
	return cmd
}
