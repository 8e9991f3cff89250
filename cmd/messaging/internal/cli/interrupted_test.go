package cli

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func TestAnInterruptIsCalledOneWhereverItComes(t *testing.T) {
	canceled := fmt.Errorf("cannot read o.db as an outbox: %w", context.Canceled)
	for _, err := range []error{canceled, exit.With(exit.Usage, "%w", canceled), exit.With(exit.NotDone, "%w", canceled)} {
		var text bytes.Buffer
		assert.Equal(t, exit.Interrupted, (&settings{running: true}).report(err, nil, &text))
		assert.Equal(t, "messaging: cannot read o.db as an outbox: interrupted\n", text.String())
	}
	var text bytes.Buffer
	assert.Equal(t, exit.Unknown, (&settings{running: true}).report(exit.With(exit.Unknown, "%w", canceled), nil, &text))
	assert.Contains(t, text.String(), "context canceled")
}
