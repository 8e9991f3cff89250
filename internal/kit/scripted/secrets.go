package scripted

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
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

// SecretHolders are values that hold a client and so its secrets, in the forms that a
// program may print. fmt follows a pointer only at the top level, so each service is there
// alone and by value.
func SecretHolders(c *messaging.Client) map[string]any {
	around := struct {
		Client  *messaging.Client
		Value   messaging.Client
		private *messaging.Client
		hidden  messaging.Client
		Events  *messaging.EventsService
	}{c, *c, c, *c, c.Events}
	holders := map[string]any{
		"a client": c, "a client by value": *c, "a pointer to a pointer to a client": &c,
		"a struct around clients": around, "a pointer to a struct around clients": &around,
		"a list of clients": []any{c, *c, []*messaging.Client{c}}, "a map of clients": map[string]messaging.Client{"eu": *c},
	}
	for field, service := range reflect.ValueOf(c).Elem().Fields() {
		if field.IsExported() {
			holders[field.Name], holders[field.Name+" by value"] = service.Interface(), service.Elem().Interface()
		}
	}
	return holders
}
