package cli

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/export"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

func newExportOf[T any](s *settings, records export.Records[T]) *cobra.Command {
	options := export.Options{Checkpoint: time.Second, Note: s.note}
	flags := func(f *pflag.FlagSet) {
		f.StringVar(&options.To, "to", "",
			"the `file` to write, whose name ends with .csv or .jsonl; - is stdout: CSV, or JSON Lines with --ndjson (required)")
		f.BoolVar(&options.Resume, "resume", false, "continue an export that was stopped, if there is one")
		addPerPage(f, &options.PerPage)
		f.BoolVar(&options.Overwrite, "overwrite", false, "replace the file if it exists")
		f.BoolVar(&options.SpreadsheetSafe, "spreadsheet-safe", false,
			"write an apostrophe before a cell of CSV that a spreadsheet may run: one that begins with = + - @, a tab or a line break")
	}
	const long = `Write all RECORDS to a file. The file extension sets the format: CSV or JSON Lines.
Members that this version does not know are in JSON Lines alone.

The file appears when it is complete. If the export is stopped, or even killed, run the same
command with --resume: it continues where it was at most a second before. It begins again if
there is nothing to continue, or if that is older than 12 hours, is of another service or
has other flags. A nightly export takes --resume --overwrite. A pipe is written through.

Rows that the service lists twice, because rows were added during the export, are written
once.`
	const example = `  messaging -p sandbox export RECORDS --to all-RECORDS.csv
  messaging -p sandbox export RECORDS --to - --ndjson | jq .
  messaging -p production export RECORDS --to all-RECORDS.csv --resume --overwrite   # every night`
	of := strings.NewReplacer("RECORDS", records.Name)
	cmd := s.reading(records.Name, "Write all "+records.Name+" to a file", of.Replace(long), of.Replace(example), nil, flags,
		func(c call) error { return runExport(c, records, options) })
	s.fields[cmd] = func() []string { return nil } // --ndjson sets the format of stdout
	return cmd
}

// isStdout reports whether a path leads to the pipe or the device that is stdout.
func isStdout(path string) bool {
	at, err := os.Stat(path)
	stdout, errStdout := os.Stdout.Stat()
	return errors.Join(err, errStdout) == nil && !at.Mode().IsRegular() && os.SameFile(at, stdout)
}

func runExport[T any](c call, records export.Records[T], options export.Options) (err error) {
	switch options.To {
	case "":
		return exit.With(exit.Usage, "--to is required: the file to write, such as %s.csv", records.Name)
	case "-", "/dev/stdout":
		options.To, options.Stdout, options.Format = "stdout", c.stdout, export.CSV
		if c.printer.IsJSON() {
			options.Format = export.JSONLines
		}
	default:
		if options.Format, err = export.FormatOf(options.To); err != nil {
			return exit.With(exit.Usage, "--to: %w", err)
		}
		if isStdout(options.To) {
			options.Stdout = c.stdout
		}
	}
	if options.SpreadsheetSafe && options.Format != export.CSV {
		return exit.With(exit.Usage, "--spreadsheet-safe has no effect on %s", options.Format)
	}
	service, err := profile.Resolve(c.ctx, c.profile)
	if err != nil {
		return err
	}
	options.Service = service.Identity()
	progress := c.printer.NewProgress(0)
	defer saveMemory(40)()
	done, err := export.Run(c.ctx, service.Client, records, options, func(p export.Progress) {
		progress.Set(p.Rows-p.Resumed, "")
	})
	progress.Stop()
	if err != nil {
		return byFlags(err, c.cmd.Flags())
	}
	c.printer.Note("%s written to %s", words.Count(done.Rows, strings.TrimSuffix(records.Name, "s")), options.To)
	return nil
}
