package cli

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
)

// checkNotEmpty returns an error for a flag that is given without a value, as an unset
// variable of a shell does.
func checkNotEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && strings.TrimSpace(flag.Value.String()) == "" {
			err = exit.With(exit.Usage, "--%s is empty; is a variable not set? Nothing was sent", flag.Name)
		}
	})
	return err
}

// fromFile reads the params of a broadcast from the file of --from-file, which takes the
// place of all flags in names.
func fromFile(cmd *cobra.Command, path string, into any, names []string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return exit.With(exit.Usage, "--from-file and --%s exclude each other", name)
		}
	}
	data, err := readInput(cmd, path)
	if err != nil {
		return err
	}
	if err := strictjson.Decode(data, into); err != nil {
		return exit.With(exit.Usage, "%s: %w; the audience and the time are flags", path, err)
	}
	return nil
}

// readInput reads a file, or stdin if path is "-".
func readInput(cmd *cobra.Command, path string) (data []byte, err error) {
	if path == "-" {
		data, err = io.ReadAll(cmd.InOrStdin())
	} else {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, exit.With(exit.Usage, "%w", err)
	}
	return data, nil
}

// textOf returns the value of a flag, or the content of FILE for @FILE.
func textOf(cmd *cobra.Command, value string) (string, error) {
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return value, nil
	}
	data, err := readInput(cmd, path)
	return string(data), err
}

// variablesOf reads the JSON object of --variables.
func variablesOf(cmd *cobra.Command, value string) (map[string]json.RawMessage, error) {
	text, err := textOf(cmd, value)
	if err != nil || text == "" {
		return nil, err
	}
	var variables map[string]json.RawMessage
	if err := strictjson.Decode([]byte(text), &variables); err != nil {
		return nil, exit.With(exit.Usage, "--variables: %w", err)
	}
	return variables, nil
}
