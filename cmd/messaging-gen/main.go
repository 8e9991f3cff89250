// Command messaging-gen writes a Go package with a struct and a method for each event of an
// account.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/definitions"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/generate"
)

const help = `messaging-gen writes a Go package with a struct and a method for each event that
events.json defines: events.gen.go and support.gen.go.

  messaging-gen [--out FOLDER] [--from FILE] [--package NAME] [--check]

    --out FOLDER      the folder of the package (default: this folder)
    --from FILE       the definitions (default: events.json in the folder of the package)
    --package NAME    the name of the package (default: that of the folder or, in go generate,
                      of its package)
    --check           write nothing; if a file is not current, name it and exit with 10

messaging-gen pull writes the definitions of the account at MESSAGING_BASE_URL to events.json,
with the key in MESSAGING_API_KEY. Nothing is sent to the account.

  messaging-gen pull [--to FILE] [--only-listed] [--check]

    --to FILE         the file to write (default: events.json)
    --only-listed     only the events that the file has; the account can have others
    --check           write nothing; if the file and the account differ, list how and exit
                      with 10. Layout, order and descriptions do not count.

A gen.json beside events.json names the required texts that may be empty, the events that pull
leaves out, and other names in Go:

  {
    "allow_empty": ["Order shipped.note"],
    "ignore": ["order lost"],
    "rename": {"Order shipped.host-fqdn": "HostName"}
  }

Exit codes: 0 done, 1 a file or a response cannot be read or written, 2 usage, 3 invalid
definitions, 4 the service denied access, 8 no connection (safe to repeat), 10 not current.
`

// The exit codes, which mean what they do for the messaging command.
const (
	unexpected = 1
	usage      = 2
	invalid    = 3
	denied     = 4
	notDone    = 8
	drift      = 10
)

// codeError is an error with its exit code.
type codeError struct {
	code int
	error
}

func (e codeError) Unwrap() error { return e.error }

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the command, and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out, errs := &output{Writer: stdout}, &output{Writer: stderr}
	err := execute(ctx, args, out, errs)
	err = cmp.Or(out.err, err)
	if err != nil {
		_, _ = fmt.Fprintf(errs, "messaging-gen: %v\n", err)
	}
	return codeOf(cmp.Or(errs.err, err))
}

// output remembers the first error of its writer. A closed pipe is none.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil && !errors.Is(err, syscall.EPIPE) {
		o.err = err
	}
	return n, err
}

// codeOf returns the exit code for an error.
func codeOf(err error) int {
	known, isKnown := errors.AsType[codeError](err)
	_, isLost := errors.AsType[*messaging.TransportError](err)
	switch {
	case err == nil:
		return 0
	case isKnown:
		return known.code
	case errors.Is(err, messaging.ErrUnauthorized), errors.Is(err, messaging.ErrForbidden):
		return denied
	case isLost, messaging.NextStepOf(err) == messaging.NextRetry:
		return notDone
	default:
		return unexpected
	}
}

func execute(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	check := flags.Bool("check", false, "")
	var list []file
	var err error
	if len(args) > 0 && args[0] == "pull" {
		to := flags.String("to", "events.json", "")
		onlyListed := flags.Bool("only-listed", false, "")
		if err = parse(flags, args[1:]); err == nil {
			list, err = pull(ctx, *to, *onlyListed)
		}
	} else {
		out := flags.String("out", ".", "")
		from := flags.String("from", "", "")
		name := flags.String("package", "", "")
		if err = parse(flags, args); err == nil {
			list, err = code(*out, *from, *name)
		}
	}
	if errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(stdout, help)
		return nil
	}
	if err == nil {
		list, err = changes(list)
	}
	if err != nil || len(list) == 0 {
		return err
	}
	if *check {
		return report(list, stdout)
	}
	for _, f := range list {
		if err := f.write(); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(stderr, "wrote "+f.path)
	}
	return nil
}

// report prints what is not current, which is an error.
func report(list []file, stdout io.Writer) error {
	var lines []string
	for _, f := range list {
		lines = append(lines, f.differences...)
	}
	if len(lines) == 0 {
		return nil
	}
	for _, line := range lines {
		_, _ = fmt.Fprintln(stdout, line)
	}
	return codeError{drift, errors.New("not current; run the same command without --check")}
}

// parse parses the flags. An empty one is often a variable that is not set.
func parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument: %s", flags.Arg(0))
	}
	flags.Visit(func(f *flag.Flag) {
		if err == nil && f.Value.String() == "" {
			err = fmt.Errorf("--%s is empty", f.Name)
		}
	})
	if err != nil {
		return codeError{usage, fmt.Errorf("%w; see messaging-gen --help", err)}
	}
	return nil
}

// code returns the files of the package in a folder.
func code(out, from, name string) ([]file, error) {
	name, err := choosePackage(name, out)
	if err != nil {
		return nil, err
	}
	events, support, err := generate.Package(cmp.Or(from, filepath.Join(out, "events.json")), name)
	if err != nil {
		return nil, codeError{invalid, err}
	}
	return []file{
		{path: filepath.Join(out, "support.gen.go"), content: support, compare: compareCode},
		{path: filepath.Join(out, "events.gen.go"), content: events, compare: compareCode},
	}, nil
}

// choosePackage returns the name of the package in a folder, if it is not given. The go
// command sets GOPACKAGE for a //go:generate line, to the package of that line's folder.
func choosePackage(name, folder string) (string, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if filepath.Clean(folder) == "." {
		name = cmp.Or(name, os.Getenv("GOPACKAGE"))
	}
	name = cmp.Or(name, filepath.Base(path))
	if !token.IsIdentifier(name) || name == "_" {
		return "", codeError{usage, fmt.Errorf("%q cannot be the name of a package; choose one with --package", name)}
	}
	return name, nil
}

// compareCode returns the path of code that is not current.
func compareCode(path string, existing []byte) (differences []string, err error) {
	if !generate.IsGenerated(existing) {
		return nil, errors.New("it was not written by messaging-gen; move it away, or choose another folder with --out")
	}
	return []string{path}, nil
}

// pull returns events.json with the definitions of the account.
func pull(ctx context.Context, to string, onlyListed bool) ([]file, error) {
	config, err := generate.ReadConfig(to)
	if err != nil {
		return nil, codeError{invalid, err}
	}
	wanted := func(name string) bool { return !slices.Contains(config.Ignore, name) }
	if onlyListed {
		listed, err := definitions.Read(to)
		if err != nil {
			return nil, codeError{invalid, err}
		}
		wanted = func(name string) bool { return listed.Has(name) && !slices.Contains(config.Ignore, name) }
	}
	baseURL, apiKey := os.Getenv("MESSAGING_BASE_URL"), os.Getenv("MESSAGING_API_KEY")
	if baseURL == "" || apiKey == "" {
		return nil, codeError{usage, errors.New("set MESSAGING_BASE_URL and MESSAGING_API_KEY")}
	}
	client, err := messaging.NewClient(baseURL, apiKey)
	if err != nil {
		return nil, codeError{usage, fmt.Errorf("MESSAGING_BASE_URL and MESSAGING_API_KEY: %w", err)}
	}
	list, err := definitions.Pull(ctx, client, wanted)
	if unusable, ok := errors.AsType[*definitions.AccountError](err); ok {
		return nil, codeError{invalid, fmt.Errorf("%w\nto leave them out, %s", err, config.Ignoring(unusable.Events))}
	}
	if err != nil {
		return nil, err
	}
	compare := func(path string, existing []byte) (differences []string, err error) {
		before, err := definitions.Parse(path, existing)
		if err != nil {
			return nil, errors.New("it does not hold definitions; move it away, or choose another file with --to")
		}
		for _, change := range before.Changes(list) {
			differences = append(differences, path+": "+change)
		}
		return differences, nil
	}
	return []file{{path: to, content: []byte(list.JSON()), compare: compare}}, nil
}
