package cli

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/export"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// checkpointEvery is how much work a killed export loses.
const checkpointEvery = time.Second

// saveMemory makes garbage collections frequent while hashes of very many rows are held. They
// are cheap, since hashes have no pointers to follow.
func saveMemory() (restore func()) {
	percent := debug.SetGCPercent(15)
	return func() { debug.SetGCPercent(percent) }
}

// useOneProcessor keeps threads from waking each other up. It is for work in which each step
// waits for the one before: on several processors, it takes more processor time and, on a
// busy machine, more time.
func useOneProcessor() (restore func()) {
	processors := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(processors) }
}

func newExport(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write all customers, events or messages to a file",
		Example: `  messaging -p sandbox export customers --to exported.csv
  messaging -p sandbox export messages --to exported.jsonl`,
	}
	cmd.AddCommand(newExportOf(s, export.Customers), newExportOf(s, export.Events), newExportOf(s, export.Messages))
	return cmd
}

func newExportOf[T any](s *settings, records export.Records[T]) *cobra.Command {
	options := export.Options{Checkpoint: checkpointEvery}
	cmd := &cobra.Command{
		Use:   records.Name,
		Short: "Write all " + records.Name + " to a file",
		Long: `Write all ` + records.Name + ` to a file. The file extension sets the format: CSV or JSON Lines.

The file appears when it is complete. If the export is stopped, or even killed, run the same
command with --resume: it continues after the last page that was written. A pipe is written
through.

Rows that the service lists twice, because rows were added during the export, are written
once.`,
		Example: strings.ReplaceAll(`  messaging -p sandbox export RECORDS --to all-RECORDS.csv
  messaging -p sandbox export RECORDS --to all-RECORDS.jsonl --overwrite
  messaging -p production export RECORDS --to all-RECORDS.csv --resume   # after it was stopped`, "RECORDS", records.Name),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runExport(cmd, s, records, options) },
	}
	f := cmd.Flags()
	f.StringVar(&options.To, "to", "", "the `file` to write; its name ends with .csv or .jsonl")
	f.BoolVar(&options.Resume, "resume", false, "continue an export that was stopped")
	f.BoolVar(&options.Overwrite, "overwrite", false, "replace the file if it exists")
	f.BoolVar(&options.SpreadsheetSafe, "spreadsheet-safe", false,
		"write an apostrophe before a cell of CSV that begins with = + - or @, unless it is a phone number")
	var columns []string
	for _, column := range records.Columns {
		columns = append(columns, column.Name)
	}
	f.StringSliceVar(&options.Columns, "columns", nil, "write only these columns, such as `a,b`: "+strings.Join(columns, ", "))
	return cmd
}

func runExport[T any](cmd *cobra.Command, s *settings, records export.Records[T], options export.Options) error {
	if err := checkNotEmpty(cmd); err != nil {
		return err
	}
	if options.To == "" {
		return exit.With(exit.Usage, "--to is required: the file to write, such as %s.csv", records.Name)
	}
	var err error
	if options.Format, err = export.FormatOf(options.To); err != nil {
		return exit.With(exit.Usage, "--to: %w", err)
	}
	if options.SpreadsheetSafe && options.Format != export.CSV {
		return exit.With(exit.Usage, "--spreadsheet-safe has no effect on %s", options.Format)
	}
	service, err := s.service(cmd.Context())
	if err != nil {
		return err
	}
	options.Service = service.Identity()
	client, err := service.Client()
	if err != nil {
		return err
	}
	ctx, cancel := s.limited(cmd.Context())
	defer cancel()
	defer saveMemory()()
	defer useOneProcessor()()
	progress := s.printer.NewProgress(0)
	done, err := export.Run(ctx, client, records, options, func(p export.Progress) {
		progress.Set(output.Counts{OK: p.Rows - p.Resumed, Skipped: p.Repeated})
	})
	progress.Stop()
	if err != nil {
		return exportError(ctx, err, done)
	}
	s.printer.Note("%s written to %s", words.Count(done.Rows, strings.TrimSuffix(records.Name, "s")), options.To)
	return nil
}

// exportError adds to an error what the operator can do about it.
func exportError(ctx context.Context, err error, done export.Progress) error {
	if _, ok := errors.AsType[*export.StoppedError](err); !ok {
		return err
	}
	code := exit.CodeOf(err)
	if ctx.Err() != nil {
		code = exit.Interrupted
	}
	return exit.With(code, "%w; %s rows are kept: run the same command with --resume to continue", err, words.Thousands(done.Rows))
}
