package wire

import "time"

// The forms in which the service writes and reads timestamps.
const (
	// TimestampForm is the only form that the service reads in the payload of a trigger.
	// The service silently ignores any other form.
	TimestampForm = "2006-01-02T15:04:05Z"
	// LocalForm has no time zone: it is UTC, or the name of its zone is sent with it.
	LocalForm       = "2006-01-02 15:04:05"
	MicrosecondForm = "2006-01-02T15:04:05.000000Z"
)

// IsTimestamp reports whether s is exactly in TimestampForm.
func IsTimestamp(s string) bool { return isExactly(TimestampForm, s) }

// IsLocal reports whether s is exactly in LocalForm.
func IsLocal(s string) bool { return isExactly(LocalForm, s) }

// isExactly reports whether s is a time in the form. time.Parse alone would also accept an
// hour of one digit, a second space, and a fraction of a second.
func isExactly(form, s string) bool {
	t, err := time.Parse(form, s)
	return err == nil && string(t.AppendFormat(make([]byte, 0, len(TimestampForm)), form)) == s
}

// parseTime reads every unambiguous form of a timestamp: with T or a space, in upper or
// lower case, with a fraction of a second after a dot or a comma, and with any offset. A
// timestamp without a time zone is in UTC, like all times of the service.
func parseTime(text []byte) (time.Time, bool) {
	if t, ok := parseStamp(text); ok {
		return t, true
	}
	const shortest, date = len("2006-01-02T15:04:05"), len("2006-01-02")
	if len(text) < shortest {
		return time.Time{}, false
	}
	var buffer [64]byte
	text = append(buffer[:0], text...)
	for i, c := range text {
		if 'a' <= c && c <= 'z' {
			text[i] = c - 'a' + 'A'
		}
	}
	if text[date] == ' ' {
		text[date] = 'T'
	}
	form := time.RFC3339 // reads fractions too
	switch {
	case text[len(text)-1] == 'Z', text[len(text)-len(":00")] == ':' && isSign(text[len(text)-len("-00:00")]):
	case isSign(text[len(text)-len("-0000")]):
		form = "2006-01-02T15:04:05Z0700"
	default:
		form = "2006-01-02T15:04:05"
	}
	t, err := time.Parse(form, string(text))
	t = t.UTC()
	if err != nil || t.Year() < 0 || t.Year() > 9999 { // an offset can change the year
		return time.Time{}, false
	}
	return t, true
}

// parseStamp reads 2006-01-02T15:04:05Z and 2006-01-02 15:04:05, the forms that the service
// writes most often, in a fraction of the time that time.Parse takes. It does not read
// every valid time.
func parseStamp(text []byte) (time.Time, bool) {
	const form = "2006-01-02T15:04:05"
	if len(text) != len(form) && (len(text) != len(form)+1 || text[len(form)] != 'Z') {
		return time.Time{}, false
	}
	if text[4] != '-' || text[7] != '-' || text[10] != 'T' && text[10] != ' ' || text[13] != ':' || text[16] != ':' {
		return time.Time{}, false
	}
	century, year, month, day := twoDigits(text[0:]), twoDigits(text[2:]), twoDigits(text[5:]), twoDigits(text[8:])
	hour, minute, second := twoDigits(text[11:]), twoDigits(text[14:]), twoDigits(text[17:])
	if century > 99 || year > 99 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 ||
		day < 1 || day > 31 || day > 28 && (day == 31 || month == 2) { // not in every month
		return time.Time{}, false
	}
	days := int64(daysSince1970(100*century+year, month, day))
	return time.Unix(days*24*3600+int64(3600*hour+60*minute+second), 0).UTC(), true
}

// daysSince1970 returns the number of days from 1970-01-01 to a date in the years 0 to
// 9999. Its years start in March, so that a leap day is the last day of a year.
func daysSince1970(year, month, day int) int {
	if month < 3 {
		year, month = year-1, month+12
	}
	year += 400 // a cycle of the calendar, since the year 0 starts in March of year -1
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	const cycle, until1970 = 146_097, 719_468 // days; the latter from 1 March of the year 0
	return 365*year + year/4 - year/100 + year/400 + dayOfYear - cycle - until1970
}

// twoDigits returns the two-digit number at the start of text, or 100 if there is none.
func twoDigits(text []byte) int {
	tens, ones := text[0]-'0', text[1]-'0'
	if tens > 9 || ones > 9 {
		return 100
	}
	return 10*int(tens) + int(ones)
}

func isSign(c byte) bool { return c == '+' || c == '-' }

// FormatTime returns t in the given form, or in RFC3339Nano if that form would lose a part
// of t. For the zero time, it returns "".
func FormatTime(t time.Time, form string) string { return string(AppendTime(nil, t, form)) }

// AppendTime appends what FormatTime returns.
func AppendTime(b []byte, t time.Time, form string) []byte {
	if t.IsZero() {
		return b
	}
	t = t.UTC()
	if form == time.RFC3339 { // it loses the fraction alone, which RFC3339Nano leaves out where there is none
		return t.AppendFormat(b, time.RFC3339Nano)
	}
	appended := t.AppendFormat(b, form)
	if again, ok := parseTime(appended[len(b):]); ok && again.Equal(t) {
		return appended
	}
	return t.AppendFormat(b, time.RFC3339Nano)
}
