package cli

import (
	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// isGroup marks a command that only holds others; see the template of the help.
const isGroup = "group"

// refuseTypos makes every group of the tree refuse a command that it does not have: a misspelled
// command must not look like success. It also notes that a command runs.
func (s *settings) refuseTypos(cmd *cobra.Command) {
	for _, each := range cmd.Commands() {
		s.refuseTypos(each)
	}
	if !cmd.Runnable() && cmd.HasSubCommands() {
		cmd.Annotations = map[string]string{isGroup: "yes"}
		cmd.RunE = s.showCommands
	}
	if cmd.HasSubCommands() && cmd.Args == nil {
		cmd.Args = func(group *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(group, args[0])
			}
			return nil
		}
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			s.running = true
			return run(cmd, args)
		}
	}
}

// showCommands shows the help of a group. Without a command, nothing was done, and that is an
// error for every group but the program itself.
func (s *settings) showCommands(cmd *cobra.Command, _ []string) error {
	if !cmd.HasParent() {
		return cmd.Help()
	}
	if !s.printer.IsJSON() {
		cmd.SetOut(cmd.ErrOrStderr())
		if err := cmd.Help(); err != nil {
			return err
		}
	}
	return exit.With(exit.Usage, "%s needs one of its commands: %s", cmd.CommandPath(), words.List(commandNames(cmd), "or"))
}

// unknownCommand returns the error for a command that a group does not have.
func unknownCommand(group *cobra.Command, name string) error {
	hint := "see: " + group.CommandPath() + " --help"
	if nearest := words.Nearest(name, commandNames(group)); nearest != "" {
		hint = "did you mean " + nearest + "?"
	}
	return exit.With(exit.Usage, "unknown command %q for %q; %s", name, group.CommandPath(), hint)
}

// commandNames returns the names of the commands and the topics of a group.
func commandNames(group *cobra.Command) (names []string) {
	for _, each := range group.Commands() {
		if !each.Hidden {
			names = append(names, each.Name())
		}
	}
	return names
}
