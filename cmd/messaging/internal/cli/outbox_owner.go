package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/folders"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/outbox"
)

// checkOwner returns an error if the entries of an outbox belong to another service or
// account, or if its file may be a copy.
func (l *ledgerFlag) checkOwner(ctx context.Context, opened *ledger.Ledger, now *profile.Service) error {
	of, recorded, err := opened.Origin(ctx)
	if err != nil || !recorded {
		return err
	}
	if err := l.checkServiceOf(opened.Title, of.Service, now); err != nil {
		return err
	}
	changes, err := changesOf(ctx, opened, of, now)
	if err != nil || len(changes) == 0 {
		return err
	}
	return exit.With(exit.Usage, "%s. Nothing was sent. If you are sure: %s", strings.Join(changes, ". "),
		l.command("run", "--until-empty", "--accept-change"))
}

func (l *ledgerFlag) checkServiceOf(title string, of ledger.Service, now *profile.Service) error {
	switch {
	case of.BaseURL == now.BaseURL && of.Identity == now.Identity():
		return nil
	case of.BaseURL == now.BaseURL:
		return exit.With(exit.Usage, "%s holds entries for %s, but this is %s: the sandbox was restarted, or started under a different "+
			"name; nothing was sent. Import the file into a new outbox:\n  %s\nAn outbox can be used with a restarted sandbox if both "+
			"starts have the same name: messaging sandbox --start-id NAME", title, of.Identity, now.Identity(),
			l.settings.command("outbox", "import", "--ledger", "NEW.db", "--from", "FILE", "--event", "EVENT"))
	default:
		return exit.With(exit.Usage, "%s holds entries for %s, but %s is %s; nothing was sent", title, of.BaseURL, now.Title(), now.BaseURL)
	}
}

// staleness says why an outbox may not know what was sent: it is a copy, or was restored from a backup, or was used
// where another state folder remembers what was sent.
func staleness(ctx context.Context, opened *ledger.Ledger, of ledger.Origin, state string) (changes []string, err error) {
	switch at := opened.Place; {
	case at == of.Place:
	case at.Host == of.Host && at.Path == of.Path:
		changes = append(changes, "another file or database was put in the place of "+at.String()+", such as a backup: "+
			"it may not know what was sent, and would send it again")
	default:
		changes = append(changes, opened.Title+" was filled as "+of.Place.String()+", and is now "+at.String()+
			": if it is a copy, or was moved without its -wal file, it would send again what was sent already")
	}
	restored, err := opened.IsRestored(ctx, state)
	if restored {
		changes = append(changes, opened.Title+" is older than it was when it was used last: a backup was restored. It does not know what "+
			"was sent and dismissed since, and would send it again")
	}
	if err != nil {
		return nil, err
	}
	foreign, err := opened.IsForeign(ctx, state)
	if foreign {
		changes = append(changes, opened.Title+" was used with another state folder, and not with "+state+": if it is a backup, or "+
			"was sent from elsewhere since, it would send again what was sent already. Set XDG_STATE_HOME as for its import")
	}
	return changes, err
}

// changesOf says what has changed since the outbox was filled, and what the operator risks.
func changesOf(ctx context.Context, opened *ledger.Ledger, of ledger.Origin, now *profile.Service) (changes []string, err error) {
	state, err := stateFolder()
	if err != nil {
		return nil, err
	}
	changes, err = staleness(ctx, opened, of, state)
	if err != nil {
		return nil, err
	}
	if now.StartID != "" { // which stands for the account; the key of a sandbox changes with each start
		return changes, nil
	}
	key, err := now.Key(ctx)
	if err == nil && ledger.HashKey(of.Salt, key) != of.KeyHash {
		changes = append(changes, "the API key is not the one with which "+opened.Title+" was filled: it is that of another account, "+
			"which would get these triggers, or it was rotated, which is harmless")
	}
	return changes, err
}

// stateFolder returns the folder of what has to be remembered.
func stateFolder() (string, error) {
	state, err := folders.State(os.LookupEnv)
	if err != nil {
		return "", exit.With(exit.Unexpected, "cannot find the folder of what was sent: %w", err)
	}
	return state, nil
}

// advance remembers that an outbox is about to change, or has changed.
func advance(ctx context.Context, opened *ledger.Ledger) error {
	state, err := stateFolder()
	if err != nil {
		return err
	}
	if err := opened.Advance(ctx, state); err != nil {
		return exit.With(exit.Unexpected, "cannot write down that %s changes: %w", opened.Title, err)
	}
	return nil
}

// accept records what has changed since the outbox was filled.
func (l *ledgerFlag) accept(ctx context.Context, opened *ledger.Ledger, now *profile.Service) error {
	of, _, err := opened.Origin(ctx)
	if err != nil {
		return err
	}
	if err := l.checkServiceOf(opened.Title, of.Service, now); err != nil {
		return err
	}
	changes, err := changesOf(ctx, opened, of, now)
	if err != nil || len(changes) == 0 {
		return err
	}
	key, err := now.Key(ctx)
	if err != nil {
		return err
	}
	for _, change := range changes {
		l.printer.Warn("accepted: %s", change)
	}
	state, err := stateFolder()
	if err != nil {
		return err
	}
	if err := l.quarantine(ctx, opened, now, state); err != nil {
		return err
	}
	return errors.Join(opened.Move(ctx, opened.Place, ledger.HashKey(of.Salt, key)), opened.Accept(ctx, state))
}

// quarantine makes the pending and the rejected entries of a restored outbox unclear, since they may have been
// sent: a rejected one after it was resent.
func (l *ledgerFlag) quarantine(ctx context.Context, opened *ledger.Ledger, now *profile.Service, state string) error {
	if restored, err := opened.IsRestored(ctx, state); err != nil || !restored {
		return err
	}
	client, err := now.Client()
	if err != nil {
		return err
	}
	box, err := outbox.New(opened.Store, client)
	if err != nil {
		return err
	}
	if _, err := box.ResendAll(ctx, outbox.Filter{State: outbox.Rejected}); err != nil {
		return err // until the change is recorded, nothing is sent
	}
	n, err := box.Quarantine(ctx)
	if n > 0 {
		l.printer.Warn("what was pending or rejected in the backup may have been sent since: %s unclear now. Look before you "+
			"resend or dismiss: %s",
			words.Thousands(n), l.command("list", "--state", "unclear"))
	}
	return err
}
