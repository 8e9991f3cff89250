package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/intent"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// finding is what doctor has found out about one thing.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`

	err       error
	continues bool // it is a further line of the finding before it
}

var findingTable = output.Table[finding]{
	Columns: []output.Column[finding]{
		{Name: "check", Text: func(f finding) string {
			if f.continues {
				return ""
			}
			return f.Check
		}},
		{Name: "ok", Text: func(f finding) string {
			switch {
			case f.continues:
				return ""
			case f.OK:
				return "ok"
			}
			return "PROBLEM"
		}},
		{Name: "detail", Text: func(f finding) string { return f.Detail }},
	},
	Fields: output.FieldsOf(finding{}),
}

func newDoctor(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration, the key, the service and the clock",
		Long: `Check which service the commands would call and where its key comes from, whether the
service accepts the key, whether the clock is right, and whether sends can be
remembered. The key itself is not shown. Nothing is sent.`,
		Example: `  messaging -p sandbox doctor
  messaging -p sandbox doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := output.NewRows(s.printer, findingTable)
			if err != nil {
				return err
			}
			ctx, end := s.limited(cmd.Context())
			defer end()
			var codes []exit.Code
			for _, f := range s.examine(ctx) {
				f.OK = f.err == nil
				if !f.OK {
					f.Detail = f.err.Error()
					codes = append(codes, exit.CodeOf(f.err))
				}
				if err := s.writeFinding(rows, f); err != nil {
					return err
				}
			}
			err = rows.Close()
			if len(codes) > 0 {
				err = errors.Join(err, exit.With(exit.Worst(codes...), "%s failed", words.Count(len(codes), "check")))
			}
			return err
		},
	}
}

// detailOffset is where the details begin in the table: after the longest check, and PROBLEM.
const detailOffset = len("memory of sends  PROBLEM  ")

// writeFinding writes a finding. A table would cut it, so it goes on in other rows.
func (s *settings) writeFinding(rows *output.Rows[finding], f finding) error {
	for i, line := range s.printer.Wrap(f.Detail, detailOffset) {
		f.Detail, f.continues = line, i > 0
		if err := rows.Write(f); err != nil {
			return err
		}
	}
	return nil
}

// examine runs the checks, in the order in which they depend on each other.
func (s *settings) examine(ctx context.Context) []finding {
	findings := []finding{checkConfig(), checkState()}
	service, err := s.service(ctx)
	if broken := findings[0].err; err != nil && broken != nil && err.Error() == broken.Error() {
		return findings // which have it already
	}
	if err != nil {
		return append(findings, finding{Check: "service", err: err})
	}
	key := checkKey(ctx, service)
	findings = append(findings, finding{Check: "service", Detail: service.Title() + " at " + service.BaseURL}, key)
	if key.err != nil {
		return findings // a call would only report it again
	}
	return append(findings, checkService(ctx, service)...)
}

func checkConfig() finding {
	config, err := profile.Read(os.LookupEnv)
	if err != nil {
		return finding{Check: "configuration", err: err}
	}
	detail := config.Path
	if _, err := os.Stat(config.Path); err != nil {
		detail += " does not exist; the built-in profile sandbox works without it"
	}
	for _, name := range config.Names() {
		if _, err := config.Service(name); err != nil {
			return finding{Check: "configuration", err: err}
		}
	}
	return finding{Check: "configuration", Detail: detail}
}

// checkState checks that a send can be written down.
func checkState() finding {
	f := finding{Check: "memory of sends"}
	log, err := intent.Open(os.LookupEnv)
	if err == nil {
		f.Detail = log.Path()
		err = os.MkdirAll(filepath.Dir(log.Path()), 0o700)
	}
	if err == nil {
		var file *os.File
		if file, err = os.CreateTemp(filepath.Dir(log.Path()), "doctor"); err == nil {
			err = errors.Join(file.Close(), os.Remove(file.Name()))
		}
	}
	f.err = err
	return f
}

func checkKey(ctx context.Context, service *profile.Service) finding {
	err := service.Pin(ctx)
	detail := "from " + service.KeySource
	if service.Account != "" {
		detail = "fingerprint " + service.Account + ", " + detail
	}
	return finding{Check: "key", Detail: detail, err: err}
}

// checkService reads a single event, and compares the clocks.
func checkService(ctx context.Context, service *profile.Service) []finding {
	client, err := service.Client()
	if err != nil {
		return []finding{{Check: "response", err: err}}
	}
	began := time.Now()
	page, err := client.Events.List(ctx, messaging.EventListParams{PerPage: 1})
	if err != nil {
		return []finding{{Check: "response", err: asRead(err)}}
	}
	took := time.Since(began).Round(time.Millisecond)
	responds := finding{Check: "response", Detail: fmt.Sprintf("the service accepts the key, and took %v", took)}
	return []finding{responds, checkClock(page.Response.Header, time.Now())}
}

// maxSkew is how far apart the clocks may be. The header has no fractions of a second.
const maxSkew = 5 * time.Second

func checkClock(header http.Header, now time.Time) finding {
	f := finding{Check: "clock"}
	theirs, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		f.Detail = "the response has no date"
		return f
	}
	if skew := now.Sub(theirs); skew.Abs() > maxSkew {
		f.err = exit.With(exit.Unexpected, "the clock of this machine differs from that of the service by %v; "+
			"--at may be understood differently", skew.Round(time.Second))
		return f
	}
	f.Detail = fmt.Sprintf("within %v of that of the service", maxSkew)
	return f
}
