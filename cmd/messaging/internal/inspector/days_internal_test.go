package inspector

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/internal/fake"
)

func TestTheDateIsBelowTheLastRowOfALaterDay(t *testing.T) {
	in := &Inspector{box: &sandbox.Sandbox{History: history.New(10, 1<<20)}}
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)
	var entries []*history.Entry
	var rows []row
	for i, day := range []int{0, 0, -1, -1, -3} {
		e := &history.Entry{Exchange: &fake.Exchange{Number: 9 - i, At: at.AddDate(0, 0, day), Op: "list events"}}
		entries, rows = append(entries, e), append(rows, newRow(e))
	}
	assert.Equal(t, "2026-01-02", rows[0].Date, "alone, a row has its date")
	in.divide(rows, entries, history.Query{})
	var lines []string
	for _, row := range rows {
		assert.Empty(t, row.Date)
		lines = append(lines, row.Next)
	}
	assert.Equal(t, []string{"", "2026-01-01", "", "2025-12-30", ""}, lines)
}
