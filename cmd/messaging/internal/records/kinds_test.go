package records_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/internal/service"
)

func TestKindsAreTheListsOfTheService(t *testing.T) {
	for list := range service.Lists() {
		assert.NotNil(t, records.Listed(list), "%s has no kind of records: declare one in internal/records", list.Name)
	}
	lists := slices.Collect(service.Lists())
	for _, k := range records.Kinds {
		assert.Contains(t, lists, k.List, k.Name)
		assert.Same(t, k, records.Listed(k.List), "%s is declared twice", k.List.Name)
	}
	assert.Nil(t, records.Listed(service.TriggerEvent))
	assert.Regexp(t, "^customers, events.* or [a-z]+$", records.Names("or"))
}
