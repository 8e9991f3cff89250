package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

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
