package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimestampMonthsHaveTheDaysOfTheCalendar(t *testing.T) {
	for year := range 10_000 {
		for month := time.January; month <= time.December; month++ {
			for _, day := range []int{1, 28, time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()} {
				wanted := time.Date(year, month, day, 23, 59, 58, 0, time.UTC)
				text := wanted.Format("2006-01-02T15:04:05Z")
				if got, ok := parseTime([]byte(text)); !ok || got != wanted {
					require.Equal(t, wanted, got, text)
				}
			}
		}
	}
}

func TestTimestampFastPathAgreesWithTimeParse(t *testing.T) {
	tests := []struct {
		name, text string
		read       bool
	}{
		{"in UTC", "2024-02-28T23:59:59Z", true},
		{"with a blank and without a zone", "2024-02-28 23:59:59", true},
		{"in the year 0", "0000-01-01T00:00:00Z", true},
		{"on a day that not every month has", "2023-02-29T00:00:00Z", false},
		{"on the last day of a long month", "2024-01-31T00:00:00Z", false},
		{"with a letter for a digit", "2O24-01-01T00:00:00Z", false},
		{"with a sign for a digit", "2024-01-01T00:00:0-Z", false},
		{"in month 0", "2024-00-01T00:00:00Z", false},
		{"in month 13", "2024-13-01T00:00:00Z", false},
		{"on day 0", "2024-01-00T00:00:00Z", false},
		{"in hour 24", "2024-01-01T24:00:00Z", false},
		{"in minute 60", "2024-01-01T00:60:00Z", false},
		{"in second 60", "2024-01-01T00:00:60Z", false},
		{"with slashes", "2024/01/01T00:00:00Z", false},
		{"with an offset", "2024-01-01T00:00:00+01:00", false},
		{"with another zone", "2024-01-01T00:00:00X", false},
		{"with a fraction", "2024-01-01T00:00:00.5Z", false},
		{"cut short", "2024-01-01T00:00:0", false},
		{"missing", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, read := parseStamp([]byte(test.text))
			assert.Equal(t, test.read, read)
		})
	}
}

func TestReaderStringsAreNotOverwritten(t *testing.T) {
	var document strings.Builder
	var wanted []string
	for i := range 2000 {
		wanted = append(wanted, strings.Repeat(string(rune('a'+i%26)), i*7%(textsAtOnce/2)))
		fmt.Fprintf(&document, "%c%q", "[,"[min(i, 1)], wanted[i])
	}
	document.WriteByte(']')

	r := NewReader()
	r.Reset([]byte(document.String()))
	var got []string
	require.NoError(t, r.Array(func(int) error {
		got = append(got, "")
		return r.String(&got[len(got)-1])
	}))
	assert.LessOrEqual(t, r.texts.Cap(), textsAtOnce, "memory that texts share")
	r.Free()

	assert.Equal(t, wanted, got)
}

// namesOf reads the member of a record.
func namesOf(r *Reader, into *[]string) error {
	var extra map[string]json.RawMessage
	return Record{r, &extra}.Names([]byte("providers"), into)
}

func TestReaderListsCanBeAppendedTo(t *testing.T) {
	r := NewReader()
	defer r.Free()
	r.Reset([]byte(`["email,sms", "fax", " email, sms ,, ", ["push", "web,email"], "", " , ", null]`))
	var got [][]string
	require.NoError(t, r.Array(func(int) error {
		var names []string
		err := namesOf(r, &names)
		got = append(got, names)
		return err
	}))
	_ = append(got[0], "must not reach the next")

	assert.Equal(t, [][]string{{"email", "sms"}, {"fax"}, {"email", "sms"}, {"push", "web", "email"}, nil, nil, nil}, got)
}

func TestReaderAllocatesALongListSeparately(t *testing.T) {
	r := NewReader()
	defer r.Free()
	var none, many, few []string
	r.Reset([]byte(`"` + strings.Repeat(",", 1000) + `"`))
	require.NoError(t, namesOf(r, &none))
	r.Reset([]byte(`"` + strings.Repeat("push,", 1000) + `"`))
	require.NoError(t, namesOf(r, &many))
	r.Reset([]byte(`"email,sms"`))
	require.NoError(t, namesOf(r, &few))

	assert.Nil(t, none)
	assert.Len(t, many, 1000)
	assert.Equal(t, []string{"email", "sms"}, few)
	assert.Equal(t, namesAtOnce, cap(r.names))
}

func TestReaderInThePoolKeepsNothing(t *testing.T) {
	r := NewReader()
	var names []string
	r.Reset([]byte(`"Jane"`))
	require.NoError(t, namesOf(r, &names))
	r.Free()

	assert.Nil(t, r.names)
	assert.Zero(t, r.texts.Cap())
}

func TestReaderOfAShortDocumentTakesLittleMemory(t *testing.T) {
	var r Reader
	r.Reset([]byte(`"0123456789"`))
	var text string
	require.NoError(t, r.String(&text))
	assert.LessOrEqual(t, r.texts.Cap(), 16)
}
