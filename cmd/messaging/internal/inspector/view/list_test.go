package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/view"
	"github.com/messaging-go/messaging/internal/fake"
)

func TestTheDateIsBelowTheLastRowOfALaterDay(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)
	var entries []*history.Entry
	for i, day := range []int{0, 0, -1, -1, -3} {
		e := &history.Entry{Exchange: &fake.Exchange{Number: 9 - i, At: at.AddDate(0, 0, day), Op: "list events"}}
		entries = append(entries, e)
	}
	assert.Equal(t, "2026-01-02", view.NewRow(entries[0]).Date, "alone, a row has its date")
	var lines []string
	for _, row := range view.NewRows(history.New(10, 1<<20), entries, history.Query{}, "") {
		assert.Empty(t, row.Date)
		lines = append(lines, row.Next)
	}
	assert.Equal(t, []string{"", "2026-01-01", "", "2025-12-30", ""}, lines)
}
