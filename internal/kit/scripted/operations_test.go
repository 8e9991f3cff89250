package scripted_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/internal/service"
)

const table = "internal/kit/scripted/operations.go"

func TestOperationsAreThoseOfTheCatalog(t *testing.T) {
	entries := make(map[*service.Operation]bool)
	for _, operation := range scripted.Operations {
		assert.False(t, entries[operation.Operation], "%s has two entries for %q", table, operation.Name)
		entries[operation.Operation] = true
	}
	for op := range service.All() {
		assert.True(t, entries[op], "add an entry for %q to %s", op.Name, table)
	}
}

func TestOperationsHaveTheEntryOfTheirKind(t *testing.T) {
	var sends, lists []string
	for _, send := range scripted.Sends() {
		sends = append(sends, send.Name)
	}
	for _, list := range scripted.Lists() {
		lists = append(lists, list.Name)
	}
	assert.Equal(t, service.Names(service.Sends()), strings.Join(sends, ", "), "%s: entries made by sendOf", table)
	assert.Equal(t, service.Names(service.Lists()), strings.Join(lists, ", "), "%s: entries made by listOf", table)
}

func TestOperationsSucceedWithTheirResponse(t *testing.T) {
	for _, operation := range scripted.Operations {
		for name, call := range operation.Calls {
			t.Run(name, func(t *testing.T) {
				client, transport := scripted.NewClient(t, []scripted.Scene{func(req *http.Request) (*http.Response, error) {
					if req.Method != operation.Method { // a send that looks something up first, and finds nothing
						return scripted.Responds(200, `{"success":true,"data":[]}`)(req)
					}
					return scripted.Responds(200, operation.Response)(req)
				}})
				require.NoError(t, call(t.Context(), client))
				var routes []string
				for _, sent := range transport.Sent {
					routes = append(routes, sent.Method+" "+sent.URL.Path)
				}
				assert.Contains(t, routes, operation.Route())
			})
		}
	}
}

func TestOperationsFillEveryFieldOfTheirParams(t *testing.T) {
	for _, send := range scripted.Sends() {
		requireFilled(t, send.Name, reflect.ValueOf(send.Full().Params))
		if field, ok := reflect.TypeOf(send.Full().Params).FieldByName("To"); ok { // whose recipients are not exported
			assert.NotEmpty(t, send.Reaches.CustomerIDs, "%s.%s", send.Name, field.Name)
			assert.NotEmpty(t, send.Reaches.Segments, "%s.%s", send.Name, field.Name)
		}
	}
	for _, list := range scripted.Lists() {
		for field, value := range reflect.ValueOf(list.Request().Params).Fields() {
			if field.Name != "Cursor" { // which no list has before it is read
				requireFilled(t, list.Name+"."+field.Name, value)
			}
		}
	}
}

// requireFilled requires that no field within v is left out.
func requireFilled(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if v.IsZero() {
		assert.Fail(t, path+" is left out: fill it in "+table)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		requireFilled(t, path, v.Elem())
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				requireFilled(t, path+"."+field.Name, value)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			requireFilled(t, fmt.Sprintf("%s.%d", path, i), v.Index(i))
		}
	}
}
