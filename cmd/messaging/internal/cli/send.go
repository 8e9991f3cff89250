package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sends"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// send is what an operator confirms, and what becomes of it. Every command that sends makes one.
type send struct {
	service          *profile.Service
	plan             *confirm.Plan
	question, answer string                // answer is what is typed outside of a sandbox
	prepared         []*messaging.Prepared // a single one, if it is recorded
	recipients       *int                  // nil if their number is not known
	subject          string                // for the record; it is cut to subjectLimit
	due              time.Time             // zero for now
	// again repeats a send that the record blocks. What is not recorded is compared with the account instead, by recheck.
	again, unrecorded bool
	// recheck looks again at what may have changed while the question waited.
	recheck func(context.Context) error
	// unknown finds out what became of a body, and returns the error if it was not carried out, or nobody knows.
	unknown func(ctx context.Context, i int, err error) error

	record   *sends.Record
	begun    sends.Send
	blocking *sends.Send // what the operator sees of an earlier send, or nil
	done     int         // how many bodies were carried out
}

// printsOf sets the fields that --json can choose for a command that sends: those of its plan, or of what it prints then.
func (s *settings) printsOf(cmd *cobra.Command, flags *confirm.Flags, sample any) {
	s.fields[cmd] = func() []string {
		if flags.DryRun {
			return output.FieldsOf(confirm.Action{Due: "-"})
		}
		return output.FieldsOf(sample)
	}
}

// addAgain adds the flag that allows the same send a second time.
func addAgain(cmd *cobra.Command, again *bool) {
	cmd.Flags().BoolVar(again, "again", false, "send even if exactly this was, or may have been, sent")
}

// send shows the plan, asks, and sends.
func (s *settings) send(ctx context.Context, flags *confirm.Flags, send *send) (err error) {
	if send.record, err = sends.Open(); err != nil {
		return err
	}
	action, err := send.action()
	if err != nil {
		return err
	}
	if ok, err := flags.Decide(ctx, s.printer, send.plan, action); err != nil || !ok {
		return err
	}
	if send.unrecorded {
		return send.record.Locked(ctx, func() error { return s.carryOut(ctx, send) })
	}
	return s.carryOut(ctx, send)
}

// action completes the plan, and returns what the operator confirms. With --again, the digest names what is repeated.
func (send *send) action() (confirm.Action, error) {
	var content [][]byte
	for _, each := range send.prepared {
		content = append(content, each.Body())
	}
	var refused error
	if !send.unrecorded {
		var err error
		if send.blocking, err = send.record.Blocking(send.recorded(0)); err != nil {
			return confirm.Action{}, err
		}
		if earlier := send.blocking; earlier != nil {
			send.plan.Add("sent before", earlier.When()+", "+earlier.Outcome()+", id "+earlier.ID)
			if send.again {
				content = append(content, []byte(earlier.ID))
			} else {
				refused = earlier.Refusal()
			}
		}
		send.plan.Add("body", words.Count(len(content[0]), "byte"))
	}
	action := confirm.NewAction(send.service, send.prepared[0].Operation(), bytes.Join(content, []byte("\n")), send.question, send.answer)
	action.Recipients, action.Refused = send.recipients, refused
	if !send.due.IsZero() {
		action.Due = send.due.UTC().Format(time.RFC3339)
	}
	return action, nil
}

// subjectLimit is how many characters of a subject the record has.
const subjectLimit = 60

// recorded returns a body as the record has it.
func (send *send) recorded(i int) sends.Send {
	of := sends.Send{Service: send.service.Identity(), Account: send.service.Account, Shown: sends.Shown{
		Profile: send.service.Name, Host: send.service.Host, Operation: send.prepared[i].Operation(),
		Subject: words.Shortened(send.subject, subjectLimit), SHA256: sends.Sum(send.prepared[i].Body()), Recipients: send.recipients}}
	if !send.due.IsZero() {
		of.Due = &send.due
	}
	return of
}

// carryOut sends what the operator has confirmed.
func (s *settings) carryOut(ctx context.Context, send *send) error {
	if send.recheck != nil {
		if err := send.recheck(ctx); err != nil {
			return err
		}
	}
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not end a send without its exit code
	for i := range send.prepared {
		response, err := s.sendOne(ctx, send, i)
		if exit.CodeOf(err) == exit.Unknown && send.unknown != nil {
			err = send.unknown(ctx, i, err)
		}
		if err != nil {
			return err
		}
		if send.done++; send.unrecorded {
			continue
		}
		if err := s.reportAccepted(send, response); err != nil {
			return err
		}
	}
	return nil
}

// sendOne sends a body, between its two lines in the record.
func (s *settings) sendOne(ctx context.Context, send *send, i int) (*messaging.Response, error) {
	if send.unrecorded {
		return s.request(ctx, send.service.Client, send.prepared[i])
	}
	again := ""
	if send.again && send.blocking != nil {
		again = send.blocking.ID
	}
	sendBegan.Store(true) // from here on, the same send is refused until its outcome is written down
	var err error
	if send.begun, err = send.record.Begin(ctx, send.recorded(i), again); err != nil {
		sendBegan.Store(false)
		return nil, err
	}
	response, err := s.request(ctx, send.service.Client, send.prepared[i])
	if _, failed := send.record.Settle(context.WithoutCancel(ctx), send.begun.ID, messaging.DeliveryOf(err), true); failed != nil {
		s.printer.Line("warning: cannot record the outcome of this send in %s, so the same send is refused from now on: %v",
			send.record.Path(), failed)
	}
	if exit.CodeOf(err) == exit.Unknown {
		err = exit.With(exit.Unknown, "%w\nfind out whether it was carried out%s\n  %s",
			&exit.SendError{ID: send.begun.ID, Err: err}, lookIn(send.service, send.prepared[i]), send.begun.ResolveCommand())
	}
	return response, err
}

// lookIn says where to look for a send whose outcome is unknown.
func lookIn(service *profile.Service, p *messaging.Prepared) string {
	const record = ", and record it (or --not-carried-out):"
	if service.Name != profile.SandboxName {
		return " (ask a recipient, or look in the dashboard of the service)" + record
	}
	return fmt.Sprintf("%s\n  messaging sandbox wait 'op:%s' delivery:unknown --after %d --json=number,at,effect", record, p.Operation(),
		service.LastRequest)
}

// request sends a request. A first interrupt does not end it: a send in progress can no
// longer be taken back, and its response says what became of it. A second one does.
func (s *settings) request(ctx context.Context, client *messaging.Client, prepared *messaging.Prepared) (*messaging.Response, error) {
	sent, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	sent, end := s.limited(sent)
	defer end()
	done := make(chan struct{})
	defer close(done)
	if ctx.Err() != nil {
		cancel() // interrupted before it begins
	} else {
		sendBegan.Store(true)
		go s.watchInterrupts(ctx, done, cancel)
	}
	response, err := client.Send(sent, prepared)
	if err != nil && messaging.NextStepOf(err) == messaging.NextNone {
		s.printer.Line("warning: %v", err) // it was accepted
		err = nil
	}
	s.carriedOut = s.carriedOut || err == nil
	return response, err
}

// watchInterrupts calls cancel at the second interrupt.
func (s *settings) watchInterrupts(ctx context.Context, done <-chan struct{}, cancel func()) {
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	s.printer.Line("waiting for the response of the send; interrupt again to stop waiting")
	select {
	case <-done:
	case <-again:
		cancel()
	}
}

// acceptedSend is a send that was carried out, in JSON.
type acceptedSend struct {
	ID         string             `json:"id"` // in the record
	Operation  string             `json:"operation"`
	Delivery   messaging.Delivery `json:"delivery"`
	Recipients *int               `json:"recipients"` // nil if the number is not known
	Message    string             `json:"message"`
}

// reportAccepted reports a broadcast or a trigger that was carried out.
func (s *settings) reportAccepted(send *send, response *messaging.Response) error {
	outcome := acceptedSend{ID: send.begun.ID, Operation: send.prepared[0].Operation(), Delivery: messaging.DeliveryAccepted,
		Recipients: send.recipients}
	text := "accepted"
	if response != nil && response.Message != "" {
		outcome.Message = response.Message
		text += ": " + response.Message
	}
	if s.printer.IsJSON() {
		return s.printer.Object(outcome)
	}
	s.printer.Note("%s", text)
	return nil
}
