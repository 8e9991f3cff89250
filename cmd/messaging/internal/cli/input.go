package cli

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/bounded"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// checkNotEmpty returns an error for a flag or an argument that is given without a value, or with the next flag as its value, as an
// unset variable of a shell does.
func checkNotEmpty(cmd *cobra.Command) (err error) {
	if cmd.DisableFlagParsing { // of a completion, whose last word may be empty
		return nil
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if len(values) == 0 || slices.ContainsFunc(values, visible.IsBlank) {
			err = exit.With(exit.Usage, "--%s is empty; is a variable not set?", flag.Name)
		}
		if name, isFlag := strings.CutPrefix(flag.Value.String(), "--"); isFlag && name != "" && cmd.Flags().Lookup(name) != nil {
			err = exit.With(exit.Usage, "--%s has the flag --%s as its value; is a variable before it not set?", flag.Name, name)
		}
	})
	if err == nil && slices.ContainsFunc(cmd.Flags().Args(), visible.IsBlank) {
		err = exit.With(exit.Usage, "an argument is empty; is a variable not set?")
	}
	return err
}

// decodeInput decodes a file with a JSON object, or stdin if path is "-". A field that is blank, null, [] or {}, as an empty
// variable leaves it, is an error: it would be left out, and the rest sent without it.
func decodeInput(cmd *cobra.Command, path string, into any) error {
	data, err := readInput(cmd, path)
	if err != nil {
		return err
	}
	if err := strictjson.Decode(data, into); err != nil {
		return exit.With(exit.Usage, "%s: %w", path, err)
	}
	var fields map[string]json.RawMessage
	if err := strictjson.Decode(data, &fields); err != nil {
		return exit.With(exit.Usage, "%s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var text string
		isText := json.Unmarshal(fields[name], &text) == nil // also null, as ""
		inside := strings.Trim(string(fields[name]), "[{ \t\r\n}]")
		if isText && visible.IsBlank(text) || inside == "" {
			return exit.With(exit.Usage, "%s: %s is empty; is a variable not set? Leave the field out if it is not needed. Nothing was sent",
				path, name)
		}
	}
	return nil
}

// readInput reads a file, or stdin if path is "-".
func readInput(cmd *cobra.Command, path string) ([]byte, error) {
	in := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, exit.With(exit.Usage, "%w", err)
		}
		defer file.Close()
		in = file
	}
	data, err := bounded.ReadAll(in)
	if err != nil {
		return nil, exit.With(exit.Usage, "%s %w", path, err)
	}
	return data, nil
}

// textOf returns the value of a flag, or the content of FILE for @FILE.
func textOf(cmd *cobra.Command, value string) (string, error) {
	path, isFile := strings.CutPrefix(value, "@")
	switch {
	case !isFile:
		return value, nil
	case path == "":
		return "", exit.With(exit.Usage, "the name of a file is missing after @; is a variable not set? Nothing was sent")
	}
	data, err := readInput(cmd, path)
	if err == nil && visible.IsBlank(string(data)) {
		err = exit.With(exit.Usage, "%s is empty; nothing was sent", value)
	}
	return string(data), err
}

// variablesOf reads the JSON object of --variables.
func variablesOf(cmd *cobra.Command, value string) (map[string]any, error) {
	text, err := textOf(cmd, value)
	if err != nil || text == "" {
		return nil, err
	}
	var variables map[string]any
	if err := strictjson.Decode([]byte(text), &variables); err != nil {
		return nil, exit.With(exit.Usage, "--variables: %w", err)
	}
	return variables, nil
}
