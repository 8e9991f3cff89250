package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// newCompletion replaces the command of cobra, which has no examples.
func newCompletion() *cobra.Command {
	write := map[string]func(root *cobra.Command, w io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        (*cobra.Command).GenZshCompletion,
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script with which a shell completes commands and flags",
		Example: `  . <(messaging completion bash)
  messaging completion zsh >"${fpath[1]}/_messaging"
  messaging completion fish >~/.config/fish/completions/messaging.fish`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return write[args[0]](cmd.Root(), cmd.OutOrStdout())
		},
	}
}
