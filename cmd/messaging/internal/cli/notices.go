package cli

import (
	"context"
	"log/slog"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// notices returns a logger that writes a line for people for each record. It leaves out that
// others have claimed entries if that is not so: claims of this process can be among them.
func notices(p *output.Printer, othersSend func() bool) *slog.Logger {
	return slog.New(noticeHandler{p, othersSend})
}

type noticeHandler struct {
	printer    *output.Printer
	othersSend func() bool
}

func (noticeHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

func (h noticeHandler) Handle(_ context.Context, r slog.Record) error {
	details := map[string]string{}
	var all []string
	over := false // what it waits for
	r.Attrs(func(a slog.Attr) bool {
		over = over || a.Key == "until" && a.Value.Kind() == slog.KindTime && !a.Value.Time().After(r.Time)
		details[a.Key] = shownValue(a.Value)
		all = append(all, a.Key+": "+details[a.Key])
		return true
	})
	text := strings.TrimPrefix(r.Message, "outbox: ")
	if strings.HasPrefix(text, claimedByOthers) && (over || !h.othersSend()) {
		return nil
	}
	if plain := plainWords(text, details); plain != "" {
		h.printer.Line("%s", plain)
		return nil
	}
	if len(all) > 0 {
		text += " (" + strings.Join(all, ", ") + ")"
	}
	h.printer.Line("%s", text)
	return nil
}

func shownValue(v slog.Value) string {
	if v.Kind() == slog.KindTime {
		return words.Clock(v.Time())
	}
	return v.String()
}

const claimedByOthers = "other processes have claimed entries"

func entriesIn(details map[string]string) string {
	if details["entries"] == "1" {
		return "1 entry"
	}
	return details["entries"] + " entries"
}

// plainWords says for operators what the outbox logs for programmers. It returns "" for
// texts that need no change.
func plainWords(text string, details map[string]string) string {
	switch {
	case strings.HasPrefix(text, claimedByOthers):
		return "waiting until " + details["until"] + " for " + entriesIn(details) +
			" of another process; anything it hasn't recorded by then becomes unclear"
	case strings.HasPrefix(text, "entries are unclear because their process"):
		if details["entries"] == "1" {
			return "1 entry is now unclear: the process sending it did not record the outcome in time"
		}
		return entriesIn(details) + " are now unclear: the process sending them did not record the outcome in time"
	case strings.HasPrefix(text, "the gate is closed"):
		return "the service is failing (" + strings.TrimPrefix(details["operation"]+": ", ": ") + details["reason"] +
			"): sending one request at a time until it recovers"
	case strings.HasPrefix(text, "the gate is open again"):
		return "the service has recovered; sending continues"
	}
	return ""
}

// The outbox uses neither groups nor attributes of a logger.
func (h noticeHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h noticeHandler) WithGroup(string) slog.Handler      { return h }
