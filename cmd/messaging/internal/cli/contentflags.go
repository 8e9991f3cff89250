package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/bounded"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// checkNotEmpty returns an error for a flag that is given without a value, as an unset
// variable of a shell does, or with the next flag as its value.
func checkNotEmpty(cmd *cobra.Command) (err error) {
	end := ""
	if cmd.Flags().Lookup("dry-run") != nil { // it is no read
		end = " Nothing was sent"
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if err != nil || flag.Name == "confirm" { // confirm.Flags.Check has a better error
			return
		}
		for _, value := range valuesOf(flag) {
			switch {
			case visible.IsBlank(value):
				err = exit.With(exit.Usage, "--%s is empty; is a variable not set?%s", flag.Name, end)
			case variable.MatchString(value):
				err = exit.With(exit.Usage, "--%s is %s, the name of a variable; write it in double quotes.%s", flag.Name, value, end)
			case isFlag(cmd, value):
				err = exit.With(exit.Usage, "--%s has the flag %s as its value; is a variable before it not set, or not quoted?%s",
					flag.Name, value, end)
			}
		}
	})
	return err
}

// variable matches a variable that a shell has not replaced, as in single quotes.
var variable = regexp.MustCompile(`^\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)$`)

// valuesOf returns the values of a flag. A list without any has one that is empty.
func valuesOf(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok && len(list.GetSlice()) > 0 {
		return list.GetSlice()
	} else if ok {
		return []string{""}
	}
	return []string{flag.Value.String()}
}

// isFlag reports whether a value looks like a flag of the command.
func isFlag(cmd *cobra.Command, value string) bool {
	return strings.HasPrefix(value, "--") ||
		len(value) == 2 && value[0] == '-' && cmd.Flags().ShorthandLookup(value[1:]) != nil
}

// checkVisible returns an error if an address has a character that nobody can see.
func checkVisible(name string, addresses ...string) error {
	for _, address := range addresses {
		if i := strings.IndexFunc(address, visible.Hidden); i >= 0 {
			return exit.With(exit.Usage, "%s contains an invisible character: %s; nothing was sent", name, visible.Quote(address))
		}
	}
	return nil
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
		hint := ""
		for _, field := range []string{"recipients", "all_customers", "schedule_type", "schedule_date"} {
			if strings.Contains(err.Error(), strconv.Quote(field)) {
				hint = "; the audience and the time are flags"
			}
		}
		return exit.With(exit.Usage, "%s: %w%s", path, err, hint)
	}
	return checkFilled(path, data)
}

// checkFilled returns an error if a field of a JSON object is blank, null, [] or {}, as an empty variable leaves it. It would be
// left out, and the rest sent without it.
func checkFilled(path string, data []byte) error {
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

// field is a text of a broadcast, by its name on the wire.
type field struct{ name, text string }

// checkNotBlank returns an error for a text that only has characters that nobody sees.
func checkNotBlank(fields []field) error {
	for _, each := range fields {
		if each.text != "" && visible.IsBlank(each.text) {
			return exit.With(exit.Usage, "%s is empty: it has only characters that nobody sees; nothing was sent", each.name)
		}
	}
	return nil
}

// readInput reads a file, or stdin if path is "-".
func readInput(cmd *cobra.Command, path string) (data []byte, err error) {
	if path == "-" {
		data, err = bounded.ReadAll(cmd.InOrStdin())
	} else {
		data, err = readFile(path)
	}
	if err != nil {
		return nil, exit.With(exit.Usage, "%w", err)
	}
	return data, nil
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := bounded.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return data, nil
}

// textOf returns the value of a flag, or the content of FILE for @FILE. The name of a file
// without @ is an error, since it would be sent in place of the content.
func textOf(cmd *cobra.Command, value string) (string, error) {
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile && !strings.ContainsAny(value, " \t") && oddity.IsFileName(value) {
		return "", exit.With(exit.Usage, "%q is the name of a file; for its content, write @%s; nothing was sent", value, value)
	}
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
func variablesOf(cmd *cobra.Command, value string) (map[string]json.RawMessage, error) {
	text, err := textOf(cmd, value)
	if err != nil || text == "" {
		return nil, err
	}
	var variables map[string]json.RawMessage
	if err := strictjson.Decode([]byte(text), &variables); err != nil {
		return nil, exit.With(exit.Usage, "--variables: %w", err)
	}
	if variables == nil {
		return nil, exit.With(exit.Usage, "--variables is null, and not a JSON object; nothing was sent")
	}
	return variables, nil
}
