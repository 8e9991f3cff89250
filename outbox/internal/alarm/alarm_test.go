package alarm

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAnAlarmLogsAChangeAndThenOneLineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		a := New(slog.New(slog.NewTextHandler(&text, nil)), "record outcomes")
		lines := func() int { return strings.Count(text.String(), "\n") }
		for range 600 {
			a.Failed(errors.New("broken"))
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, 1, lines())
		a.Failed(errors.New("broken"))
		assert.Equal(t, 2, lines())
		assert.Contains(t, text.String(), "failures=600")
		a.Works()
		a.Works()
		assert.Equal(t, 3, lines())
		assert.Contains(t, text.String(), "outbox: can record outcomes again")
		a.Failed(errors.New("broken"))
		assert.Equal(t, 4, lines(), "a new change")
	})
}
