package cli

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sends"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// finding is what doctor has found out about one thing.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`

	err error
}

var findingTable = output.Table[finding]{
	Columns: []output.Column[finding]{
		{Name: "check", Text: func(f finding) string { return f.Check }},
		{Name: "ok", Text: func(f finding) string {
			if f.OK {
				return "ok"
			}
			return "PROBLEM"
		}},
		{Name: "detail", Text: func(f finding) string { return f.Detail }},
	},
	Fields: output.FieldsOf(finding{}),
	Uncut:  true,
}

func newDoctor(s *settings) *cobra.Command {
	return list[finding]{
		use: "doctor", short: "Check the configuration, the key, the service and the clock",
		long: `Check which service the commands would call and where its key comes from, whether the
service accepts the key, whether the clock is right, and whether sends can be
recorded. The key itself is not shown. Nothing is sent.`,
		example: `  messaging -p sandbox doctor
  messaging -p sandbox doctor --json`,
		table: findingTable,
		rows: func(c call) iter.Seq2[finding, error] {
			return func(yield func(finding, error) bool) {
				var codes []exit.Code
				for _, f := range s.examine(c.ctx) {
					if f.OK = f.err == nil; !f.OK {
						f.Detail = f.err.Error()
						codes = append(codes, exit.CodeOf(f.err))
					}
					if !yield(f, nil) {
						return
					}
				}
				if len(codes) > 0 {
					yield(finding{}, exit.With(exit.Worst(codes...), "%s failed", words.Count(len(codes), "check")))
				}
			}
		},
	}.command(s)
}

// examine runs the checks, in the order in which they depend on each other.
func (s *settings) examine(ctx context.Context) []finding {
	findings := []finding{checkConfig(), checkRecord(ctx)}
	service, err := s.service(ctx)
	if findings[0].err != nil && s.profile != "" {
		return findings // the error of the service would be the same
	}
	if err != nil {
		return append(findings, finding{Check: "service", err: err})
	}
	key := checkKey(ctx, service)
	row := rowOf(service)
	detail := fmt.Sprintf("%s at %s; at most %s; allows %s; rate: %s", service.Title(), service.BaseURL,
		words.Count(row.MaxRecipients, "recipient"), allowText(row), rateText(row))
	findings = append(findings, finding{Check: "service", Detail: detail}, key)
	if key.err != nil {
		return findings // a call would only report it again
	}
	return append(findings, checkService(ctx, service)...)
}

// checkConfig checks every profile of the configuration file.
func checkConfig() finding {
	config, err := profile.Read(os.LookupEnv)
	if err != nil {
		return finding{Check: "configuration", err: err}
	}
	for _, name := range config.Names() {
		if _, err := config.Service(name); err != nil {
			return finding{Check: "configuration", err: err}
		}
	}
	detail := config.Path
	if len(config.Profiles) == 0 {
		detail += " has no profiles; the built-in profile sandbox needs none"
	}
	return finding{Check: "configuration", Detail: detail}
}

// checkRecord checks that a send can be written down.
func checkRecord(ctx context.Context) finding {
	record, err := sends.Open(os.LookupEnv)
	if err != nil {
		return finding{Check: "record of sends", err: err}
	}
	return finding{Check: "record of sends", Detail: record.Path(), err: record.Check(ctx)}
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
		return []finding{{Check: "response", err: err}}
	}
	took := time.Since(began).Round(time.Millisecond)
	responds := finding{Check: "response", Detail: fmt.Sprintf("the service accepts the key, and took %v", took)}
	return []finding{responds, checkClock(page.Response.Header, time.Now())}
}

// maxSkew is how far apart the clocks may be. The header has no fractions of a second.
const maxSkew = 5 * time.Second

func checkClock(header http.Header, now time.Time) finding {
	theirs, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return finding{Check: "clock", Detail: "the response has no date"}
	}
	if skew := now.Sub(theirs); skew.Abs() > maxSkew {
		return finding{Check: "clock", err: exit.With(exit.Unexpected, "the clock of this machine differs from that of the service by %v; "+
			"--at may be understood differently", skew.Round(time.Second))}
	}
	return finding{Check: "clock", Detail: fmt.Sprintf("within %v of that of the service", maxSkew)}
}
