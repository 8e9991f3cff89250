package outbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/messaging-go/messaging"
)

// operations are those of the requests that can be stored.
var operations = []string{messaging.OpCreateEvent, messaging.OpSendEmailBroadcast, messaging.OpSendPushBroadcast, messaging.OpTriggerEvent}

// Pause stops the sending of entries with these operations: "send email broadcast", "send
// push broadcast", "create event" or "trigger event". For any other name, and if none is
// named, Pause returns an error and pauses nothing. The pause is recorded in the database: it
// holds for all processes and until Resume. After Pause has returned, no claim begins.
// Entries that were claimed before may still be sent, within the send timeout; until then,
// [Outbox.List] finds them in the state [Sending].
func (o *Outbox[Tx]) Pause(ctx context.Context, operations ...string) error {
	return changePause(ctx, "pause", operations, o.ledger.Pause)
}

// PauseAll is Pause for every operation.
func (o *Outbox[Tx]) PauseAll(ctx context.Context) error { return o.Pause(ctx, operations...) }

// Resume ends the pauses of these operations.
func (o *Outbox[Tx]) Resume(ctx context.Context, operations ...string) error {
	defer o.wake()
	return changePause(ctx, "resume", operations, o.ledger.Resume)
}

// ResumeAll ends every pause.
func (o *Outbox[Tx]) ResumeAll(ctx context.Context) error { return o.Resume(ctx, operations...) }

func changePause(ctx context.Context, doing string, names []string, change func(context.Context, []string) error) error {
	if len(names) == 0 {
		return fmt.Errorf("outbox: %s: name at least one operation", doing)
	}
	for _, name := range names {
		if !slices.Contains(operations, name) {
			return fmt.Errorf("outbox: %s: operation %q: unknown operation; the operations are %q", doing, name, operations)
		}
	}
	if err := change(ctx, names); err != nil {
		return fmt.Errorf("outbox: %s: %w", doing, err)
	}
	return nil
}
