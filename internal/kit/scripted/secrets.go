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

// SecretHolder is a value that holds a client and so its secrets, in one of the
// forms that a program may print.
type SecretHolder struct {
	Name string
	Of   func(*messaging.Client) any
}

// SecretHolders are the values that may be printed and must hide their secrets.
var SecretHolders = append(services(), []SecretHolder{
	{"a client", func(c *messaging.Client) any { return c }},
	{"a client by value", func(c *messaging.Client) any { return *c }},
	{"a pointer to a pointer to a client", func(c *messaging.Client) any { return &c }},
	{"a struct around clients", func(c *messaging.Client) any { return newHolder(c) }},
	{"a pointer to a struct around clients", func(c *messaging.Client) any { return new(newHolder(c)) }},
	{"a list of clients", func(c *messaging.Client) any { return []any{c, *c, []*messaging.Client{c}} }},
	{"a map of clients", func(c *messaging.Client) any { return map[string]messaging.Client{"eu": *c} }},
}...)

// services returns every service of a client, each alone and by value: fmt follows a
// pointer only at the top level.
func services() []SecretHolder {
	var holders []SecretHolder
	for field := range reflect.TypeFor[messaging.Client]().Fields() {
		if !field.IsExported() {
			continue
		}
		of := func(c *messaging.Client) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(field.Index) }
		holders = append(holders,
			SecretHolder{field.Name, func(c *messaging.Client) any { return of(c).Interface() }},
			SecretHolder{field.Name + " by value", func(c *messaging.Client) any { return of(c).Elem().Interface() }})
	}
	return holders
}

type holder struct {
	Client  *messaging.Client
	Value   messaging.Client
	private *messaging.Client
	hidden  messaging.Client
	Events  *messaging.EventsService
}

func newHolder(c *messaging.Client) holder {
	return holder{Client: c, Value: *c, private: c, hidden: *c, Events: c.Events}
}
