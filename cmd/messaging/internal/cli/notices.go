package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
)

// notices returns a logger that writes a line for people for each record.
func notices(p *output.Printer) *slog.Logger { return slog.New(noticeHandler{p}) }

type noticeHandler struct{ printer *output.Printer }

func (noticeHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

func (h noticeHandler) Handle(_ context.Context, r slog.Record) error {
	var details []string
	r.Attrs(func(a slog.Attr) bool {
		details = append(details, fmt.Sprintf("%s: %s", a.Key, a.Value))
		return true
	})
	text := r.Message
	if len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	h.printer.Line("%s", text)
	return nil
}

// The outbox uses neither groups nor attributes of a logger.
func (h noticeHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h noticeHandler) WithGroup(string) slog.Handler      { return h }
