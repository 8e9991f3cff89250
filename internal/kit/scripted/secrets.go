package scripted

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Canary is part of every value that must not be printed.
const (
	Canary      = "canary"
	CanaryEmail = Canary + "@example.com"
)

// RequireNoSecret requires that a text does not hold the canary: as text, in
// hexadecimal, or as a list of bytes.
func RequireNoSecret(tb testing.TB, printed string) {
	tb.Helper()
	asBytes := strings.Trim(fmt.Sprint([]byte(Canary)), "[]")
	for _, form := range []string{Canary, hex.EncodeToString([]byte(Canary)), asBytes} {
		if at := strings.Index(strings.ToLower(printed), form); at >= 0 {
			require.Fail(tb, "a secret shows", "...%.200q", printed[max(at-80, 0):])
		}
	}
}
