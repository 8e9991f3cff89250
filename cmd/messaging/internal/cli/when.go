package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// whenFlags are the flags that say when a broadcast is sent.
type whenFlags struct {
	at, timezone string

	cmd  *cobra.Command
	time time.Time // zero for now
}

func (f *whenFlags) add(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().StringVar(&f.at, "at", "",
		"send at this `time`: \"2026-12-01 09:00\" with --timezone, or 2026-12-01T09:00:00Z (default now); "+noCancel)
	cmd.Flags().StringVar(&f.timezone, "timezone", "", "time zone of --at, such as `Europe/Berlin`")
}

// noCancel is what nobody would expect of a broadcast that is scheduled.
const noCancel = "it cannot be canceled: the service has no call for that"

// The local forms of --at.
const (
	minuteForm = "2006-01-02 15:04"
	secondForm = "2006-01-02 15:04:05"
)

// schedule returns the time to send, or nil for now.
func (f *whenFlags) schedule() (*messaging.Schedule, error) {
	set := f.cmd.Flags()
	if !set.Changed("at") {
		return nil, nil
	}
	if at, err := words.ParseTime(f.at); err == nil {
		if set.Changed("timezone") {
			return nil, exit.With(exit.Usage, "--at %s has its own time zone; leave out --timezone", f.at)
		}
		f.time, f.timezone = at.UTC(), "UTC"
	} else if err := f.readLocal(); err != nil {
		return nil, err
	}
	if err := f.checkAhead(context.Background()); err != nil {
		return nil, err
	}
	return &messaging.Schedule{Date: f.time.Format(secondForm), Timezone: f.timezone}, nil
}

// readLocal reads --at as a time of day in --timezone.
func (f *whenFlags) readLocal() error {
	if f.timezone == "" {
		return exit.With(exit.Usage, "--at %s needs --timezone, such as Europe/Berlin or UTC", f.at)
	}
	zone, err := time.LoadLocation(f.timezone)
	if err != nil || zone == time.Local {
		return exit.With(exit.Usage, "there is no time zone %q; --timezone takes a name such as Europe/Berlin or UTC", f.timezone)
	}
	for _, form := range []string{minuteForm, secondForm} {
		local, err := time.ParseInLocation(form, f.at, zone)
		if err != nil {
			continue
		}
		if written, _ := time.Parse(form, f.at); local.Format(secondForm) != written.Format(secondForm) {
			return exit.With(exit.Usage, "the clocks in %s skip %s; choose another time", f.timezone, f.at)
		}
		f.time = local
		return nil
	}
	return exit.With(exit.Usage, "--at must be a time such as \"2026-12-01 09:00\" or 2026-12-01T09:00:00Z, and not %q", f.at)
}

// checkAhead returns an error if --at is in the past, perhaps because the question was not
// answered in time.
func (f *whenFlags) checkAhead(context.Context) error {
	if !f.time.IsZero() && f.time.Before(time.Now()) {
		return exit.With(exit.Usage, "--at %s %s is in the past; nothing was sent", f.at, f.timezone)
	}
	return nil
}

func (f *whenFlags) describe(plan *confirm.Plan) {
	if f.time.IsZero() {
		plan.Add("when", "NOW")
		return
	}
	plan.Add("when", f.time.UTC().Format(secondForm)+" UTC")
	if f.timezone != "UTC" {
		plan.Add("", f.time.Format(secondForm)+" "+f.timezone)
	}
	plan.Add("", f.time.Local().Format(secondForm+" -07:00")+" on this machine")
	plan.Add("", noCancel)
}
