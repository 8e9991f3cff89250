package words

import (
	"errors"
	"time"
)

// ParseTime parses a time with its zone, such as 2026-12-01T10:00:00+01:00, 2026-12-01 10:00:00+0100 or 2026-12-01 09:00:00Z.
func ParseTime(text string) (time.Time, error) {
	if len(text) > 10 && text[10] == ' ' {
		text = text[:10] + "T" + text[11:]
	}
	for _, zone := range []string{"Z07:00", "Z0700", "Z07"} {
		if at, err := time.Parse("2006-01-02T15:04:05"+zone, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errors.New("must be a time with its zone, such as 2026-12-01T09:00:00Z or 2026-12-01T10:00:00+01:00")
}
