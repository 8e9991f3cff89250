package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sends"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// finding is what doctor has found out about one thing.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func newDoctor(s *settings) *cobra.Command {
	return list{
		use: "doctor", short: "Check the configuration, the key, the service and the clock",
		long: `Check which service the commands would call and where its key comes from, whether the
service accepts the key, whether the clock is right, whether sends can be recorded, and
whether several events of the account have the same name. The key itself is not shown.
Nothing is sent.`,
		example: `  messaging -p sandbox doctor
  messaging -p sandbox doctor --json`,
		table: output.Table{Sample: finding{}, Texts: map[string]func(json.RawMessage) string{
			"ok": func(ok json.RawMessage) string {
				if string(ok) == "true" {
					return "ok"
				}
				return "PROBLEM"
			}}},
		rows: examine,
	}.command(s)
}

// examine runs the checks, in the order in which they depend on each other.
func examine(c call, write func(any) error) error {
	var codes []exit.Code
	var unwritten error
	check := func(name, detail string, err error) (ok bool) {
		if err != nil {
			detail = err.Error()
			codes = append(codes, exit.CodeOf(err))
		}
		if unwritten == nil {
			unwritten = write(finding{name, err == nil, detail})
		}
		return err == nil
	}
	detail, err := checkConfig()
	isReadable := check("configuration", detail, err)
	if record, err := sends.Open(); err != nil {
		check("record of sends", "", err)
	} else {
		check("record of sends", record.Path(), record.Check(c.ctx))
	}
	if isReadable || c.profile == "" { // otherwise, the error of the service would be the same
		c.examineService(check)
	}
	if len(codes) > 0 && unwritten == nil {
		return verdict{exit.With(exit.Worst(codes...), "%s failed", words.Count(len(codes), "check"))}
	}
	return unwritten
}

// examineService checks the service, its key, and then a call.
func (c call) examineService(check func(name, detail string, err error) bool) {
	service, err := profile.Resolve(c.ctx, c.profile)
	if err != nil {
		check("service", "", err)
		return
	}
	allows, limit := "everyone", "no limit"
	if service.Allow != nil {
		allows = strings.Join(service.Allow, ", ")
	}
	if service.Rate > 0 {
		limit = fmt.Sprintf("%v/s", service.Rate)
	}
	check("service", fmt.Sprintf("%s at %s; at most %s; allows %s; rate: %s", service.Title(), service.BaseURL,
		words.Count(service.MaxRecipients, "recipient"), allows, limit), nil)
	err = service.Pin(c.ctx)
	if !check("key", "fingerprint "+service.Account+", from "+service.KeySource, err) {
		return // a call would only report it again
	}
	began := time.Now()
	page, err := service.Client.Events.List(c.ctx, messaging.EventListParams{PerPage: 1})
	took := time.Since(began).Round(time.Millisecond)
	if check("response", fmt.Sprintf("the service accepts the key, and took %v", took), err) {
		detail, err := checkClock(page.Response.Header, time.Now())
		check("clock", detail, err)
		c.checkEvents(service.Client, check)
	}
}

// checkEvents reports the names that several events have. A name of equal events is no problem:
// all programs take the oldest.
func (c call) checkEvents(client *messaging.Client, check func(name, detail string, err error) bool) {
	account, err := messaging.Collect(allEvents(c.ctx, client))
	if err != nil {
		check("events", "", err)
		return
	}
	ids := make(map[string][]string) // by name
	for _, event := range account {
		if !slices.Contains(ids[event.Name], event.ID) { // a list that shifts between two pages has an event twice
			ids[event.Name] = append(ids[event.Name], event.ID)
		}
	}
	doubled := false
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if len(ids[name]) == 1 {
			continue
		}
		doubled = true
		shared := fmt.Sprintf("%d events are named %s", len(ids[name]), visible.Quote(name))
		oldest, err := messaging.FindEvent(account, name)
		if err != nil {
			check("events", "", exit.With(exit.Unexpected, "%s, and their parameters differ, so the name cannot be used: %s",
				shared, strings.Join(ids[name], ", ")))
			continue
		}
		check("events", fmt.Sprintf("%s, with the same parameters; the oldest is used: %s", shared, oldest.ID), nil)
	}
	if !doubled {
		check("events", words.Count(len(ids), "event")+", each with its own name", nil)
	}
}

// checkConfig checks every profile of the configuration file.
func checkConfig() (detail string, err error) {
	config, err := profile.Read()
	if err != nil {
		return "", err
	}
	for _, name := range config.Names() {
		if _, err := config.Service(name); err != nil {
			return "", err
		}
	}
	if len(config.Profiles) == 0 {
		return config.Path + " has no profiles; the built-in profile sandbox needs none", nil
	}
	return config.Path, nil
}

// maxSkew is how far apart the clocks may be. The header has no fractions of a second.
const maxSkew = 5 * time.Second

func checkClock(header http.Header, now time.Time) (detail string, err error) {
	theirs, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return "the response has no date", nil
	}
	if skew := now.Sub(theirs); skew.Abs() > maxSkew {
		return "", exit.With(exit.Unexpected, "the clock of this machine differs from that of the service by %v; "+
			"--at may be understood differently", skew.Round(time.Second))
	}
	return fmt.Sprintf("within %v of that of the service", maxSkew), nil
}
