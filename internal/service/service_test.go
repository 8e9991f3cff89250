package service_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/service"
)

func TestCatalogIsThatOfTheGoldenFile(t *testing.T) {
	const path = "../../testdata/operations.golden"
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for o := range service.All() {
		kind := "send"
		if o.IsRead() {
			kind = "read"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", o.Name, o.Method, o.Path, kind)
	}
	require.NoError(t, w.Flush())
	assert.Equal(t, string(golden), table.String(), "%s is written by hand: outboxes store names, and metrics are labeled with them, "+
		"so a released line never changes; add a line for a new operation", path)
}

func TestCatalogHasEachNameAndEachRouteOnce(t *testing.T) {
	names, routes := map[string]bool{}, map[string]bool{}
	for o := range service.All() {
		assert.False(t, names[o.Name], o.Name)
		names[o.Name] = true
		assert.Same(t, o, service.Named(o.Name))
	}
	for o := range service.Served() {
		assert.False(t, routes[o.Route()], o.Route())
		routes[o.Route()] = true
		found, _ := service.Find(o.Method, o.Path)
		assert.Same(t, o, found)
	}
	assert.Nil(t, service.Named("delete event"))
}

// A member whose role was forgotten must not count as one that names nobody.
func TestCatalogStatesTheRoleOfEveryMember(t *testing.T) {
	var check func(path string, of *service.Object)
	check = func(path string, of *service.Object) {
		for _, m := range of.Members {
			at := path + "." + m.Name
			assert.NotZero(t, m.Role, at)
			assert.Equal(t, m.Role == service.Within, m.Of != nil, "%s: an object has the role Within", at)
			if m.Of != nil {
				check(at, m.Of)
			}
		}
	}
	for o := range service.Sends() {
		check(o.Name, o.Body)
	}
}

func TestCatalogTellsAnUnknownPathFromAnUnknownMethod(t *testing.T) {
	found, allowed := service.Find("GET", "/v1/segments/none")
	assert.Nil(t, found)
	assert.Empty(t, allowed)
	found, allowed = service.Find("DELETE", service.CreateEvent.Path)
	assert.Nil(t, found)
	assert.ElementsMatch(t, []string{"POST", "GET"}, allowed)
}

func TestCatalogHasWordsForEverySend(t *testing.T) {
	for o := range service.Sends() {
		assert.NotEmpty(t, o.Subject, "%s: what the error text calls it", o.Name)
		assert.NotEmpty(t, o.Done, "%s: what the error text says was done", o.Name)
		assert.Nil(t, o.Reads, o.Name)
	}
	for o := range service.Lists() {
		assert.True(t, o.IsRead(), o.Name)
	}
	assert.Contains(t, service.Names(service.Lists()), ", "+service.ListCustomers.Name)
}
