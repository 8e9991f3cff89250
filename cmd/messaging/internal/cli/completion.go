package cli

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/messagingtest"
)

// newCompletion replaces the command of cobra, which has no examples.
func newCompletion() *cobra.Command {
	write := map[string]func(root *cobra.Command, w io.Writer) error{
		"bash":       genBash,
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

// genBash writes the script for bash. Without the functions that it uses, every Tab would print an error.
func genBash(root *cobra.Command, w io.Writer) error {
	_, before := io.WriteString(w, "if ! declare -F _init_completion >/dev/null && ! declare -F _get_comp_words_by_ref >/dev/null; then\n"+
		"  echo 'messaging: completion needs the package bash-completion: install it, and load it before this script' >&2\nelse\n")
	script := root.GenBashCompletionV2(w, true)
	_, after := io.WriteString(w, "fi\n")
	return errors.Join(before, script, after)
}

// completeValues completes the values of flags that have a fixed set of them. Nothing is asked
// over the network, so names of events and ids are not completed, and no file is offered in their place.
func completeValues(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("profile", completeProfile) // the flag exists
	find := func(path ...string) *cobra.Command {
		cmd, _, _ := root.Find(path) // the command exists
		return cmd
	}
	identifiers := cobra.FixedCompletions([]string{string(messagingtest.Email), string(messagingtest.CustomerID)},
		cobra.ShellCompDirectiveNoFileComp)
	_ = find("sandbox").RegisterFlagCompletionFunc("identifier", identifiers) // the flag exists
	completeNoFiles(root)
}

// completeNoFiles keeps files from being offered for arguments and values of flags that are none.
func completeNoFiles(cmd *cobra.Command) {
	for _, each := range cmd.Commands() {
		completeNoFiles(each)
	}
	if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil && !strings.Contains(cmd.Use, "FILE") {
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

// completeColumns completes the last of several columns.
func completeColumns(columns []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (lists []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		for _, column := range columns {
			lists = append(lists, before+column)
		}
		return lists, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
