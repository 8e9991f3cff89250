package profile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

// keySource reads a key once: what an operator confirms for an account must not go to another one because the key has
// changed. Only if changed is set, it is read again when the service has refused it.
type keySource struct {
	read    func(context.Context) (string, error)
	changed func(account string)

	mu      sync.Mutex
	key     string
	refused bool
	again   time.Time // of the last time that it was read again
}

// patience is how long a key that was refused is not read again.
const patience = 30 * time.Second

func fixed(key string) *keySource {
	return &keySource{read: func(context.Context) (string, error) { return key, nil }}
}

func (k *keySource) get(ctx context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	readAgain := k.refused && k.changed != nil && time.Since(k.again) >= patience
	if k.key != "" && !readAgain {
		return k.key, nil
	}
	if readAgain {
		k.again = time.Now()
	}
	key, err := k.read(ctx)
	if err != nil {
		return "", err
	}
	if k.refused = false; readAgain && key != k.key {
		k.changed(fingerprint(key))
	}
	k.key = key
	return key, nil
}

// fingerprint tells a key from another one, and does not show it.
func fingerprint(key string) string {
	sum := sha256.Sum256([]byte("messaging account\n" + key))
	return hex.EncodeToString(sum[:4])
}

// AskAgain makes the service ask for its key again after the service has refused it, at most every 30 seconds. It calls
// changed with the fingerprint of another key.
func (s *Service) AskAgain(changed func(account string)) { s.key.changed = changed }

// Refused records that the service has refused the key, and returns when the key was last asked for again.
func (s *Service) Refused() (asked time.Time) {
	s.key.mu.Lock()
	defer s.key.mu.Unlock()
	s.key.refused = true
	return s.key.again
}
