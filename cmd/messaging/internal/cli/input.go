package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// needs are flags that mean nothing without another one, in the commands that have both.
var needs = map[string]string{"delimiter": "to-customers", "map": "to-customers", "ignore-other-columns": "to-customers",
	"skip-bad-rows": "to-customers",
	"timezone":      "at", "token-file": "listen"}

// checkFlags returns an error for a flag without the one that it needs, and for a flag or an argument that is given without a
// value, or with the next flag as its value, as an unset variable of a shell does.
func checkFlags(cmd *cobra.Command) (err error) {
	if cmd.DisableFlagParsing { // of a completion, whose last word may be empty
		return nil
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if needed := cmd.Flags().Lookup(needs[flag.Name]); needed != nil && !needed.Changed {
			err = exit.With(exit.Usage, "--%s has no effect without --%s", flag.Name, needed.Name)
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		isTab := flag.Name == "delimiter" && flag.Value.String() == "\t"
		if len(values) == 0 || slices.ContainsFunc(values, visible.IsBlank) && !isTab {
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

// openInput opens a file, or stdin if path is "-".
func openInput(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, exit.With(exit.Usage, "%w", err)
	}
	return file, nil
}

// titleOf names an input for people.
func titleOf(path string) string {
	if path == "-" {
		return "stdin"
	}
	return path
}

// readInput reads a file, or stdin if path is "-".
func readInput(cmd *cobra.Command, path string) ([]byte, error) {
	in, err := openInput(cmd, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
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
	return strings.TrimPrefix(string(data), "\ufeff"), err // which some editors write
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

// rowFlags are the flags that say how the rows of a file are read.
type rowFlags struct {
	delimiter   string
	renamed     []string
	ignoreOther bool
	skipBad     bool
}

func (f *rowFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.delimiter, "delimiter", "", "the `character` between the values of CSV, such as ';', or tab; default: a comma")
	set.StringArrayVar(&f.renamed, "map", nil, "what a column holds, by `column=name`; nothing after = leaves the column out")
	set.BoolVar(&f.ignoreOther, "ignore-other-columns", false, "leave out the columns with other names; the plan lists them")
	set.BoolVar(&f.skipBad, "skip-bad-rows", false, "leave out the rows that cannot be used; the plan shows them")
}

// source describes the file at a path.
func (f *rowFlags) source(path string) (rows.Source, error) {
	source := rows.Source{Name: titleOf(path), Columns: rows.Columns{Renamed: map[string]string{}, IgnoreOther: f.ignoreOther}}
	for _, pair := range f.renamed {
		at := strings.LastIndexByte(pair, '=') // the name of a column can have one too
		if at < 1 {
			return source, exit.With(exit.Usage, "--map must be column=name, and not %q", pair)
		}
		if _, twice := source.Renamed[pair[:at]]; twice {
			return source, exit.With(exit.Usage, "--map: the column %q is given twice", pair[:at])
		}
		source.Renamed[pair[:at]] = pair[at+1:]
	}
	var err error
	if source.Delimiter, err = rows.ParseDelimiter(f.delimiter); err != nil {
		return source, exit.With(exit.Usage, "--delimiter: %w", err)
	}
	return source, nil
}

// wordedError is an error of the library in the words of the command.
type wordedError struct {
	text string
	err  error
}

func (e *wordedError) Error() string { return e.text }
func (e *wordedError) Unwrap() error { return e.err }

// checkAllowed returns an error if a send could reach anyone whom the profile does not allow: a client refuses that only after
// the operator has confirmed it. uncheckable is the audience if it has no list of customers.
func checkAllowed(ctx context.Context, service *profile.Service, prepared *messaging.Prepared, flags *pflag.FlagSet,
	uncheckable string) error {
	if service.Allow == nil {
		return nil
	}
	err := service.Client.Check(ctx, prepared)
	refused, ok := errors.AsType[*messaging.GuardError](err)
	if !ok {
		return err
	}
	_, why, _ := strings.Cut(refused.Err.Error(), ": ") // after the name of the guard
	field, rest, _ := strings.Cut(why, " ")
	why = flagOf(field, flags) + " " + rest
	if uncheckable != "" {
		why = uncheckable + " cannot be checked: pass --to-customers"
	}
	return &wordedError{fmt.Sprintf("the profile %q allows only %s; %s; nothing was sent", service.Name,
		strings.Join(service.Allow, ", "), why), refused}
}

// checkLimit returns an error if there are more recipients than the limit. hint says how to raise it.
func checkLimit(total, limit int, hint string) error {
	if total <= limit {
		return nil
	}
	return exit.With(exit.Usage, "%s exceed the limit of %s; nothing was sent%s",
		words.Count(total, "recipient"), words.Thousands(limit), hint)
}

// byFlags names the problems of a send by its flags. Other errors stay as they are.
func byFlags(err error, flags *pflag.FlagSet) error {
	invalid, ok := errors.AsType[*messaging.ValidationError](err)
	switch {
	case ok:
	case errors.Is(err, messaging.ErrTooLarge):
		return &wordedError{ofLibrary.Replace(err.Error()), err}
	default:
		return err
	}
	var problems []string
	for _, field := range invalid.Fields {
		for _, message := range field.Messages {
			flag := flagOf(field.Field, flags)
			message = ofLibrary.Replace(message)
			if hint := valueHints[message]; hint != "" {
				message += fmt.Sprintf(hint, strings.TrimPrefix(flag, "-f "))
			}
			problems = append(problems, flag+" "+message)
		}
	}
	return &wordedError{invalid.Operation + ": " + strings.Join(problems, "; ") + "; nothing was sent", err}
}

// ofLibrary replaces what only a program in Go can do.
var ofLibrary = strings.NewReplacer("a time.Time, or a string in the form 2006-01-02T15:04:05Z", "a time such as 2026-12-01T09:00:00Z",
	", see slices.Chunk", "", "see WithMaxResponseBytes", "pass a smaller --per-page")

// valueHints correct the value of a parameter, by what is wrong with it.
var valueHints = map[string]string{"must be a number": ": -F %s=NUMBER", "must be a string": ": -f %s=TEXT"}

// flagOf returns the flag that sets a field, or which recipient of a broadcast has it.
func flagOf(field string, flags *pflag.FlagSet) string {
	if recipient, ok := strings.CutPrefix(field, "recipients.0.customers."); ok {
		index, name, _ := strings.Cut(recipient, ".")
		if n, err := strconv.Atoi(index); err == nil {
			return fmt.Sprintf("the %s of recipient %d", name, n+1)
		}
	}
	name, inPayload := strings.CutPrefix(field, "payload.")
	first, rest, _ := strings.Cut(name, ".")
	switch flag := strings.TrimPrefix(strings.ReplaceAll(first, "_", "-"), "customer-"); {
	case inPayload && first != "email" && first != "customer":
		return "-f " + name
	case flags.Lookup(flag) == nil:
		return field
	case rest != "":
		if n, err := strconv.Atoi(rest); err == nil {
			rest = fmt.Sprintf("value %d", n+1)
		}
		return "--" + flag + ": " + rest
	default:
		return "--" + flag
	}
}
