package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// completeFiles completes the names of files where a flag or an argument is one.
func completeFiles(cmd *cobra.Command) {
	files := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	for _, each := range cmd.Commands() {
		completeFiles(each)
	}
	if strings.Contains(cmd.Use, "FILE") {
		cmd.ValidArgsFunction = files
	}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if name, _ := pflag.UnquoteUsage(flag); strings.EqualFold(name, "file") {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, files) // the flag exists
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
