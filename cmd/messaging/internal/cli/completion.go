package cli

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
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
		Long: `Print a script with which a shell completes commands and flags. The script for bash needs the
package bash-completion. For zsh, the folder has to be in $fpath before compinit runs.`,
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

// completeFlags completes the names of profiles, and offers no file where none is expected.
func completeFlags(cmd *cobra.Command) {
	if !cmd.HasParent() {
		_ = cmd.RegisterFlagCompletionFunc("profile", completeProfile) // the flag exists
	}
	for _, each := range cmd.Commands() {
		completeFlags(each)
	}
	if cmd.ValidArgs == nil && !strings.Contains(cmd.Use, "FILE") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(flag)
		if isFile := strings.EqualFold(name, "file") || name == "folder"; !isFile && flag.Value.Type() != "bool" {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, cobra.NoFileCompletions) // unless it has one
		}
	})
}

// completeProfile completes the names of profiles, from the configuration file.
func completeProfile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{profile.SandboxName}
	if config, err := profile.Read(os.LookupEnv); err == nil {
		names = append(config.Names(), names...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
