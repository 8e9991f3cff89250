package cli

import (
	"context"
	"encoding/hex"
	"os"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/bulk"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/intent"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// repetition is what an import would repeat of earlier ones, and of its own rows.
type repetition struct {
	again   bool
	log     *intent.Log
	of      intent.Import
	overlap intent.Overlap // what the operator sees
}

// repetition finds out what an import would repeat. opened is nil if there is no outbox yet.
func (flags *importFlags) repetition(ctx context.Context, service *profile.Service, event *messaging.Event, to target,
	opened *ledger.Ledger, plan bulk.Plan) (*repetition, error) {
	r := &repetition{again: flags.again, of: intent.Import{Host: service.Canonical(), EventID: event.ID, EventName: event.Name,
		Shape: alike.ShapeOf(event), Title: to.address.Absolute(),
		Plan: hex.EncodeToString(plan.Digest[:]), Triggers: plan.Fresh}}
	var err error
	if r.log, err = intent.Open(os.LookupEnv); err != nil {
		return nil, err
	}
	if opened != nil {
		if r.of.Outbox, err = identityOf(ctx, opened); err != nil {
			return nil, err
		}
	}
	r.overlap, err = r.log.LookForImport(r.of)
	return r, err
}

// identityOf returns what identifies an outbox, wherever it is.
func identityOf(ctx context.Context, opened *ledger.Ledger) (string, error) {
	of, _, err := opened.Origin(ctx)
	return of.Salt, err
}

// describe adds to the plan what would be repeated.
func (r *repetition) describe(plan *confirm.Plan) {
	for _, each := range r.overlap {
		if each.Count == 0 && !r.again {
			plan.Doubt("--again", "%s", each.Describe("row"))
		} else {
			plan.Warn("%s", each.Describe("row"))
		}
	}
	if text := r.twice(); text != "" {
		plan.Warn("%s", text)
	}
}

// twice says how many rows are like another row of the file, or returns "".
func (r *repetition) twice() string {
	switch n := r.of.Triggers.Twice; n {
	case 0:
		return ""
	case 1:
		return "1 row matches an earlier row of the file"
	default:
		return words.Thousands(n) + " rows match earlier rows of the file"
	}
}

// refusal returns an error, with exit.Usage, if the import needs --again.
func (r *repetition) refusal() error {
	if err := r.overlap.Refusal(r.again, r.overlap.IDs()); err != nil {
		return err
	}
	if text := r.twice(); text != "" && !r.again {
		return exit.With(exit.Usage, "nothing was imported: %s: the same event and customer, and the same values where the event requires "+
			"one, under another key or with other values. Look before you pass --again, which adds them too", text)
	}
	return nil
}

// content is what a digest confirms of the repetition: with --again, only what was shown.
func (r *repetition) content() string {
	if !r.again {
		return ""
	}
	return "\nagain, after " + strings.Join(r.overlap.IDs(), ", ")
}

// begin writes down that the import into an open outbox begins.
func (r *repetition) begin(ctx context.Context, opened *ledger.Ledger) (begun *intent.BegunImport, err error) {
	if r.of.Outbox, err = identityOf(ctx, opened); err != nil {
		return nil, err
	}
	if begun, err = r.log.BeginImport(ctx, r.of, r.again, r.overlap.IDs()); err == nil {
		*r.of.Triggers = alike.Set{} // it is written, and the import needs the memory
	}
	return begun, err
}
