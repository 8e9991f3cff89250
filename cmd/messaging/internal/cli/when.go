package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// whenFlags are the flags that say when a broadcast is sent.
type whenFlags struct {
	at, timezone string

	cmd  *cobra.Command
	time time.Time // zero for now
}

func (f *whenFlags) add(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().StringVar(&f.at, "at", "", "send at this local `time` in --timezone, such as \"2026-12-01 09:00\" (default now)")
	cmd.Flags().StringVar(&f.timezone, "timezone", "", "time zone of --at, such as `Europe/Berlin`")
}

// The forms of --at.
const (
	minuteForm = "2006-01-02 15:04"
	secondForm = "2006-01-02 15:04:05"
)

// schedule returns the time to send, or nil for now.
func (f *whenFlags) schedule() (*messaging.Schedule, error) {
	set := f.cmd.Flags()
	switch {
	case set.Changed("at") != set.Changed("timezone"):
		return nil, exit.With(exit.Usage, "pass both --at and --timezone, or neither to send now")
	case !set.Changed("at"):
		return nil, nil
	}
	zone, err := time.LoadLocation(f.timezone)
	if err != nil || zone == time.Local || f.timezone == "" {
		return nil, exit.With(exit.Usage, "--timezone must be a name such as Europe/Berlin or UTC, and not %q", f.timezone)
	}
	local, err := time.ParseInLocation(minuteForm, f.at, zone)
	if err != nil {
		local, err = time.ParseInLocation(secondForm, f.at, zone)
	}
	if err != nil {
		return nil, exit.With(exit.Usage, "--at must be a time such as \"2026-12-01 09:00\", and not %q", f.at)
	}
	f.time = local
	if err := f.checkAhead(); err != nil {
		return nil, err
	}
	return &messaging.Schedule{Date: f.full(), Timezone: f.timezone}, nil
}

// checkAhead returns an error if --at is in the past, perhaps because the question was not
// answered in time.
func (f *whenFlags) checkAhead() error {
	if !f.time.IsZero() && f.time.Before(time.Now()) {
		return exit.With(exit.Usage, "--at %s %s is in the past; nothing was sent", f.at, f.timezone)
	}
	return nil
}

// full returns --at with its seconds. It may be a time that the clocks skip, and is then not
// that of f.time.
func (f *whenFlags) full() string {
	at, err := time.Parse(minuteForm, f.at)
	if err != nil {
		at, _ = time.Parse(secondForm, f.at) // it was read before
	}
	return at.Format(secondForm)
}

// utc returns the time in UTC, or "" for now.
func (f *whenFlags) utc() string {
	if f.time.IsZero() {
		return ""
	}
	return f.time.UTC().Format(time.RFC3339)
}

// farAhead is how far away a time looks like a mistake in its year.
const farAhead = 366 * 24 * time.Hour

func (f *whenFlags) describe(plan *confirm.Plan, doubt doubting, at *messaging.Schedule) {
	if at == nil {
		plan.Add("when", "NOW")
		return
	}
	plan.Add("when", f.time.UTC().Format(secondForm)+" UTC")
	plan.Add("", at.Date+" "+at.Timezone)
	plan.Add("", f.time.Local().Format(secondForm+" -07:00")+" on this machine")
	if time.Until(f.time) > farAhead {
		doubt("--at is more than a year away")
	}
	if f.time.Format(secondForm) != at.Date {
		doubt("the clocks in %s skip %s: the service chooses another time", at.Timezone, at.Date)
	}
	for _, shift := range []time.Duration{-time.Hour, -time.Hour / 2, time.Hour / 2, time.Hour} {
		if f.time.Add(shift).Format(secondForm) == at.Date {
			doubt("the clocks in %s show %s twice: the service chooses one of the two", at.Timezone, at.Date)
		}
	}
}
