package cli

import (
	"cmp"
	"errors"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/definitions"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/files"
	"github.com/messaging-go/messaging/cmd/messaging/internal/generate"
)

func newGen(settings *settings) *cobra.Command {
	var from, packageName, out string
	cmd := &cobra.Command{
		Use:   "gen",
		Short: "Write a Go package with a struct and a method for each event",
		Long: `Write a Go package with a struct and a method for each event that events.json
defines: events.gen.go and support.gen.go.

A gen.toml beside events.json gives an event or a parameter a different name in Go, names
the required texts that may be empty, and the events that gen pull leaves out ("ignore"):

  allow_empty = ["Order shipped.note"]
  [rename]
  "Order shipped.host-fqdn" = "HostName"`,
		Example: `  messaging -p sandbox gen pull --to internal/events/events.json
  messaging gen --out internal/events
  messaging gen --out internal/events --check`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", ".", "`folder` of the package")
	f.StringVar(&from, "from", "", "`file` with the definitions (default: events.json in the folder of --out)")
	f.StringVar(&packageName, "package", "", "`name` of the package (default: that of the folder or, in go generate, of its package)")
	check := addCheck(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		name, err := choosePackage(packageName, out)
		if err != nil {
			return err
		}
		list, err := generate.Files(cmp.Or(from, filepath.Join(out, "events.json")), name, out)
		if err != nil {
			return exit.With(exit.Invalid, "%w", err)
		}
		return writeFiles(cmd, *check, list...)
	}
	cmd.AddCommand(newGenPull(settings))
	return cmd
}

// choosePackage returns the name of the package in a folder, if it is not given. The go
// command sets GOPACKAGE for a //go:generate line, to the package of that line's folder.
func choosePackage(name, folder string) (string, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return "", exit.With(exit.Unexpected, "%w", err)
	}
	if filepath.Clean(folder) == "." {
		name = cmp.Or(name, os.Getenv("GOPACKAGE"))
	}
	name = cmp.Or(name, filepath.Base(path))
	if !token.IsIdentifier(name) || name == "_" {
		return "", exit.With(exit.Usage, "%q cannot be the name of a package; choose one with --package", name)
	}
	return name, nil
}

func newGenPull(settings *settings) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "Write the definitions of the account to events.json",
		Long: `Write the definitions of the account to events.json, sorted, and without what
differs between accounts. The account is that of --profile, or
of MESSAGING_BASE_URL and MESSAGING_API_KEY. Nothing is sent to it.

A gen.toml beside events.json names events to leave out: ignore = ["Order shipped"]`,
		Example: `  messaging -p sandbox gen pull --to internal/events/events.json
  messaging -p sandbox gen pull --to internal/events/events.json --check`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&to, "to", "events.json", "the `file` to write")
	check := addCheck(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		pulled, err := pull(cmd, settings, to)
		if err != nil {
			return err
		}
		return writeFiles(cmd, *check, files.File{Path: to, Content: pulled.JSON(), IsOurs: func(existing []byte) error {
			if _, err := definitions.Parse(to, existing); err != nil {
				return errors.New("it does not hold definitions; move it away, or choose another file with --to")
			}
			return nil
		}})
	}
	return cmd
}

// pull reads the definitions of the account.
func pull(cmd *cobra.Command, settings *settings, to string) (definitions.List, error) {
	config, err := generate.ReadConfig(to)
	if err != nil {
		return nil, exit.With(exit.Invalid, "%w", err)
	}
	client, err := settings.client(cmd)
	if err != nil {
		return nil, err
	}
	list, err := definitions.Pull(cmd.Context(), client, config.Ignore)
	if invalid := new(definitions.AccountError); errors.As(err, &invalid) {
		return nil, exit.With(exit.Invalid, "%w\nto leave them out, write in %s, above any [table]:\n%s", err, config.Path,
			config.IgnoreLine(invalid.Events))
	}
	return list, asRead(err)
}

// addCheck adds the flag with which files are compared instead of written.
func addCheck(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("check", false, "write nothing; if a file is not current, print a diff and exit with 10")
}

// writeFiles writes files, or compares them.
func writeFiles(cmd *cobra.Command, check bool, list ...files.File) error {
	if check {
		diff, err := files.Diff(list...)
		if err != nil || len(diff) == 0 {
			return writeError(err)
		}
		_, _ = cmd.OutOrStdout().Write(diff) // a closed pipe is not an error here
		return exit.With(exit.Drift, "not current; run the same command without --check")
	}
	written, err := files.Write(list...)
	if len(written) > 0 {
		cmd.PrintErrln("wrote " + strings.Join(written, " and "))
	}
	return writeError(err)
}

func writeError(err error) error {
	if err == nil {
		return nil
	}
	code := exit.Unexpected
	if foreign := new(files.ForeignError); errors.As(err, &foreign) {
		code = exit.Usage
	}
	return exit.With(code, "%w", err)
}
