package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/intent"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// sending is a send that the operator confirms.
type sending struct {
	service  *profile.Service
	prepared *messaging.Prepared
	options  []messaging.Option
	count    *int // of recipients; nil if it is not known
	again    bool
	// broadcast is whether it is known by its subject and its message.
	broadcast bool
	// trigger is set for the trigger of an event.
	trigger *intent.Trigger
	// look says how to find out whether it was carried out if nobody knows, and terms find it in a sandbox.
	look  string
	terms []string

	log  *intent.Log
	seen intent.History // what the operator sees of earlier sends
}

// addAgain adds the flag that allows the same send a second time.
func addAgain(cmd *cobra.Command, again *bool) {
	cmd.Flags().BoolVar(again, "again", false, "send even if this, or something similar, was or may have been sent")
}

// intent returns what is written down of the send.
func (send *sending) intent() intent.Send {
	return intent.Send{Host: send.service.Canonical(), Operation: send.prepared.Operation(), Body: send.prepared.Body(),
		Count: send.count, Broadcast: send.broadcast, Trigger: send.trigger}
}

// recall finds out whether the same was sent before.
func (send *sending) recall() (err error) {
	if send.log, err = intent.Open(os.LookupEnv); err != nil {
		return err
	}
	send.seen, err = send.log.Look(send.intent())
	return err
}

// describe adds to the plan what was sent before, and the exact content.
func (send *sending) describe(plan *confirm.Plan) {
	if last := send.seen.Last; last != nil {
		plan.Add("last sent", last.String())
	}
	for _, like := range send.seen.Similar {
		to := ""
		if like.Count != nil {
			to = " (" + words.Count(*like.Count, "recipient") + ")"
		}
		plan.Warn("%s%s: %s", strings.TrimSuffix(like.Like, ","), to, like)
	}
	describeBody(plan, send.prepared)
}

// action returns what the operator confirms. With --again, its digest allows one repeat: it
// names what it repeats.
func (send *sending) action(question, answer string) confirm.Action {
	content := send.prepared.Body()
	if seen := send.seen.Seen(); send.again && len(seen) > 0 {
		content = slices.Concat(content, []byte("\nagain, after "+strings.Join(seen, ", ")))
	}
	action := confirm.NewAction(send.service, send.prepared.Operation(), content, question, answer)
	action.Recipients, action.BodySHA256 = send.count, sum(send.prepared.Body())
	action.Refused = send.seen.Refusal(send.again, send.seen.Seen())
	search := ""
	switch {
	case action.Refused == nil || send.again || send.service.Kind != profile.Sandbox:
	case send.seen.Last.IsOpen():
		search = send.search()
	case slices.ContainsFunc(send.seen.Similar, (*intent.Earlier).IsOpen): // its content is not known
		search = searchIn(inspectorOf(send.service), []string{send.terms[0], "delivery:unknown"})
	}
	if search != "" {
		action.Refused = exit.With(exit.Usage, "%w; to look:\n  %s", action.Refused, search)
	}
	return action
}

// deliver sends what is prepared, and reports what became of it.
func (s *settings) deliver(ctx context.Context, send sending) error {
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not end a send without its exit code
	began := time.Now()
	response, err := s.remembered(ctx, send)
	if exit.CodeOf(err) == exit.Unknown {
		return exit.With(exit.Unknown, "%w\n%s", err, send.howToLook(began))
	}
	if err != nil {
		return err
	}
	return s.accepted(send, response)
}

// remembered sends what is prepared. It writes down that it begins before anything is sent,
// and what became of it.
func (s *settings) remembered(ctx context.Context, send sending) (*messaging.Response, error) {
	client, err := send.service.Client(send.options...)
	if err != nil {
		return nil, err
	}
	sendBegan.Store(true) // from here on, the same send is refused until its outcome is written down
	begun, err := send.log.Begin(ctx, send.intent(), send.again, send.seen.Seen())
	if err != nil {
		sendBegan.Store(false)
		return nil, err
	}
	response, err := s.send(ctx, client, send.prepared)
	if failed := begun.Done(messaging.DeliveryOf(err), exit.CodeOf(err)); failed != nil {
		s.printer.Warn("cannot record the outcome of this send in %s, so the same send is refused from now on: %v", send.log.Path(), failed)
	}
	return response, err
}

// send sends what is prepared. A first interrupt does not end it: a send in progress can no
// longer be taken back, and its response says what became of it. A second one does.
func (s *settings) send(ctx context.Context, client *messaging.Client, prepared *messaging.Prepared) (*messaging.Response, error) {
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
	if err == nil || messaging.NextStepOf(err) != messaging.NextNone {
		return response, err
	}
	s.printer.Warn("%v", err) // it was accepted
	return response, nil
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
