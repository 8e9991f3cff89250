package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/folders"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// lockEvents waits until no other process of this machine creates events in the account. Two
// that compared at the same time would create each event twice, and the service cannot delete
// one.
func (s *settings) lockEvents(ctx context.Context, service *profile.Service) (unlock func(), err error) {
	folder, err := folders.State(os.LookupEnv)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return nil, exit.With(exit.Unexpected, "nothing was created: cannot use the folder of the lock: %w", err)
	}
	account := sha256.Sum256([]byte(service.Identity()))
	lock := flock.New(filepath.Join(folder, "events-"+hex.EncodeToString(account[:8])+".lock"), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		s.printer.Line("waiting for another messaging event create or apply for this account")
		ctx, end := s.limited(ctx)
		defer end()
		_, err = lock.TryLockContext(ctx, 20*time.Millisecond)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, exit.With(exit.Interrupted, "interrupted; nothing was created")
	case errors.Is(err, context.DeadlineExceeded):
		return nil, exit.With(exit.NotDone, "nothing was created: another messaging event create or apply has not ended")
	case err != nil:
		return nil, exit.With(exit.Unexpected, "nothing was created: %w", err)
	}
	return func() { _ = lock.Close() }, nil // the process ends
}
