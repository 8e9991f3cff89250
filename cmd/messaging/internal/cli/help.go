package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newHelp replaces the command of cobra, which succeeds for a topic that does not exist.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND…]",
		Short: "Show the help of a command, or a topic",
		Example: `  messaging help broadcast email
  messaging help exit-codes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			found.InitDefaultVersionFlag()
			return found.Help()
		},
	}
}

func init() {
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	cobra.AddTemplateFunc("topicPath", func(topic *cobra.Command) string { return topic.Root().Name() + " help " + topic.Name() })
}

// flagUsages describes the flags of a command, without those of the whole program. The fields of
// --json need the equals sign, which the library does not show.
func flagUsages(cmd *cobra.Command) string {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.AddFlagSet(cmd.LocalFlags())
	cmd.InheritedFlags().VisitAll(func(flag *pflag.Flag) {
		if cmd.Root().PersistentFlags().Lookup(flag.Name) == nil {
			set.AddFlag(flag)
		}
	})
	const theirs, ours = `--json f,g[="all"]`, "--json[=f,g]"
	padding := strings.Repeat(" ", len(theirs)-len(ours))
	return strings.TrimRight(strings.Replace(set.FlagUsages(), theirs, ours+padding, 1), " \n")
}

// edits turn the template of cobra into ours: examples come first, a group cannot run alone,
// and a topic is shown as the command that prints it.
var edits = strings.NewReplacer(
	"{{if .HasExample}}\n\nExamples:\n{{.Example}}{{end}}", "",
	"{{if .Runnable}}\n", "{{if and .Runnable (not .Annotations."+isGroup+")}}\n",
	".LocalFlags.FlagUsages | trimTrailingWhitespaces", "flagUsages .",
	"\n\nGlobal Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}", "\n\nGlobal flags: messaging --help",
	"{{rpad .CommandPath .CommandPathPadding}} {{.Short}}", `{{rpad (topicPath .) 28}} {{.Short}}`,
)

// setHelp sets the form of the help of every command.
func setHelp(root *cobra.Command) {
	root.SetHelpCommand(newHelp())
	root.SetUsageTemplate(edits.Replace(root.UsageTemplate()))
	root.SetHelpTemplate("{{if .HasExample}}Examples:\n{{.Example}}\n\n{{end}}" + root.HelpTemplate())
}
