package export

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func silent(Progress) {}

func optionsFor(t *testing.T, name string) Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	format, err := FormatOf(path)
	require.NoError(t, err)
	return Options{To: path, Format: format, Service: "127.0.0.1", PerPage: 10, Note: func(string, ...any) {}}
}

// exported runs an export, which has to succeed, and returns the file.
func exported[T any](t *testing.T, client *messaging.Client, records Records[T], options Options) (content string, done Progress) {
	t.Helper()
	done, err := Run(t.Context(), client, records, options, silent)
	require.NoError(t, err)
	text, err := os.ReadFile(options.To)
	require.NoError(t, err)
	return string(text), done
}

func TestExportWritesEveryColumnAsCSV(t *testing.T) {
	service, at := messagingtest.NewServer(t), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	service.AddCustomers(messaging.Customer{CustomerID: "0", Email: "c0@example.com", PhoneNo: "+4930123456", FirstName: "=1+1",
		Providers: []string{"apns", "firebase"}, CreatedAt: at, UpdatedAt: at, LastInteraction: at})
	options := optionsFor(t, "all.csv")
	content, done := exported(t, service.Client(), Customers, options)
	assert.Equal(t, Progress{Rows: 1}, done)
	assert.Equal(t, "customer_id,email,first_name,last_name,phone_no,providers,customer_created_at,updated_at,last_interaction\n"+
		"0,c0@example.com,=1+1,,+4930123456,\"apns,firebase\",2026-01-02T03:04:05Z,2026-01-02T03:04:05Z,2026-01-02T03:04:05Z\n", content)
	safe := options
	safe.SpreadsheetSafe, safe.Overwrite = true, true
	content, _ = exported(t, service.Client(), Customers, safe)
	assert.Contains(t, content, "\n0,c0@example.com,'=1+1,,+4930123456,")
	left, err := os.ReadDir(filepath.Dir(options.To))
	require.NoError(t, err)
	assert.Len(t, left, 1, "a temporary file is left")
}

func TestSpreadsheetSafeCellsAreNotFormulasAndPhoneNumbersStay(t *testing.T) {
	for cell, want := range map[string]bool{"": false, "a=": false, "=a": true, "-1": true, "\t=a": true, "\ra": true,
		"\na": true, " =a": false, "＝a": true, "＋1": true, "－1": true, "＠a": true, "é": false, "@a": true, "+": true,
		"+1234": false, "+1": false, "+1234+1": true, "+49 30": true} {
		assert.Equal(t, want, isFormula([]byte(cell)), "%q", cell)
	}
}

// stopAfter exports until it has read some pages.
func stopAfter(t *testing.T, client *messaging.Client, options Options, pages int) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Run(ctx, client, Customers, options, func(Progress) {
		if pages--; pages == 0 {
			cancel()
		}
	})
	return err
}

func TestAStoppedExportIsResumedAndHoldsEachRowOnceThoughPagesShift(t *testing.T) {
	const rows = 1000 // more than the stopped runs read, each with the few pages that it reads ahead
	for _, name := range []string{"a.csv", "a.jsonl"} {
		client := drifting(t, rows)
		options := optionsFor(t, name)
		require.ErrorContains(t, stopAfter(t, client, options, 3), " rows are kept: run the same command with --resume to continue")
		assert.NoFileExists(t, options.To)
		_, err := Run(t.Context(), client, Customers, options, silent)
		require.EqualError(t, err, "an export to "+options.To+" is unfinished; pass --resume to continue it, or --overwrite to start again")

		options.Resume = true
		for range 4 {
			require.Error(t, stopAfter(t, client, options, 2+rand.IntN(5)))
			tear(t, options)
		}
		resumed, done := exported(t, client, Customers, options)
		assert.Equal(t, rows, done.Rows)
		assert.NotZero(t, done.Resumed)
		assert.Equal(t, (rows-1)/9, done.Repeated)
		whole, _ := exported(t, client, Customers, optionsFor(t, name))
		assert.Equal(t, whole, resumed)
		lines := strings.Split(whole, "\n")
		slices.Sort(lines)
		assert.Equal(t, len(lines), len(slices.Compact(lines)))
	}
}

func TestAnExportThatCannotBeWrittenFails(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /dev/full")
	}
	for _, name := range []string{"a.csv", "a.jsonl"} {
		options := optionsFor(t, name)
		options.Checkpoint = time.Hour                                  // one before the first page would find nothing to write
		require.NoError(t, os.Symlink("/dev/full", options.partPath())) // every write fails, as on a full disk
		_, err := Run(t.Context(), drifting(t, 3), Customers, options, silent)
		assert.ErrorIs(t, err, syscall.ENOSPC, name)
		assert.NoFileExists(t, options.To)
	}
}

func TestARecordWithoutAnIDIsARow(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddTransactional(messaging.TransactionalMessage{Channel: "email"}, messaging.TransactionalMessage{Channel: "email"})
	_, done := exported(t, service.Client(), Messages, optionsFor(t, "a.csv"))
	assert.Equal(t, Progress{Rows: 2}, done)
}

func TestCSVIsWhatEncodingCSVWrites(t *testing.T) {
	pieces := []string{"", "", "a", "é", " ", "\u00a0", "\u2003", "\t", ",", `"`, "\n", "\r", `\.`, `\`, ".", "\xff", "+49"}
	random := rand.New(rand.NewPCG(1, 2))
	cell := func() (text string) {
		for range random.IntN(4) {
			text += pieces[random.IntN(len(pieces))]
		}
		return text
	}
	var want bytes.Buffer
	writer := csv.NewWriter(&want)
	encode := csvEncoder[messaging.Customer]{Customers.columns[:3], false}.append
	for range 20_000 {
		c := messaging.Customer{CustomerID: cell(), Email: cell(), FirstName: cell()}
		found, err := encode(nil, &c)
		require.NoError(t, err)
		require.NoError(t, writer.Write([]string{c.CustomerID, c.Email, c.FirstName}))
		writer.Flush()
		require.Equal(t, want.String(), string(found))
		want.Reset()
	}
}

func compareWithModel[T json.Marshaler](t *testing.T, records Records[T], record T) {
	t.Helper()
	want, err := record.MarshalJSON()
	require.NoError(t, err)
	encode, _ := newEncoder(records, Options{Format: JSONLines})
	line, err := encode(nil, &record)
	require.NoError(t, err)
	assert.Equal(t, 1, bytes.Count(line, []byte("\n")), "%s", line)
	assert.JSONEq(t, string(want), string(line))
}

func TestALineIsTheModelsOwnJSON(t *testing.T) {
	at, odd := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "<a href=\"x\">\u2028\n\x00é\xff"
	extra := map[string]json.RawMessage{"color": json.RawMessage("{\n\"a\": 1}"), "updated_at": json.RawMessage(`"0000-00-00"`)}
	for _, text := range []string{"", "plain", odd} {
		compareWithModel(t, Customers, messaging.Customer{CustomerID: text + "1", FirstName: text + "2", LastName: text + "3", Email: text + "4",
			PhoneNo: text + "5", Providers: []string{text + "6", "push"}, CreatedAt: at, UpdatedAt: at.Add(time.Hour),
			LastInteraction: at.Add(time.Microsecond), Extra: extra})
		compareWithModel(t, Events, messaging.Event{ID: text + "1", Name: text + "2", Description: text + "3", CreatedAt: at, Extra: extra,
			Parameters: []messaging.EventParameter{{Name: text + "4", Type: messaging.ParameterText, Required: true}}})
		compareWithModel(t, Messages, messaging.TransactionalMessage{ID: text + "1", Channel: "email", Subject: text + "2", Title: text + "3",
			Message: text + "4", MessageType: text, CreatedAt: at, TotalSent: 1, TotalDelivered: 2, TotalFailed: 3, TotalComplained: 4,
			TotalBounced: 5, Extra: extra})
	}
	compareWithModel(t, Customers, messaging.Customer{})
	compareWithModel(t, Events, messaging.Event{})
	compareWithModel(t, Messages, messaging.TransactionalMessage{})
}

func TestTwoExportsDoNotWriteTheSameFile(t *testing.T) {
	client := drifting(t, 300)
	options := optionsFor(t, "a.csv")
	second := errors.New("not run")
	_, err := Run(t.Context(), client, Customers, options, func(Progress) {
		_, second = Run(t.Context(), client, Customers, options, silent)
	})
	require.NoError(t, err)
	assert.EqualError(t, second, "another export to "+options.To+" is running")
}

// tear leaves the files as a crash can: with rows that no checkpoint covers, and part of a
// checkpoint.
func tear(t *testing.T, options Options) {
	t.Helper()
	for path, rest := range map[string]string{options.partPath(): "half a ro", options.resumePath(): `{"cursor":"abc","bytes":1`} {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = file.WriteString(rest)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
}

func TestAnExportThatCannotBeContinuedBeginsAgainAndSaysWhy(t *testing.T) {
	const rows = 1000
	client := drifting(t, rows)
	whole, _ := exported(t, client, Customers, optionsFor(t, "a.csv"))
	var resume string
	for want, change := range map[string]func(*Options){
		"": func(*Options) {},
		"it is of customers of 127.0.0.1 as csv, 10 a page, and this one is of customers of example.com as csv, 10 a page": func(o *Options) {
			o.Service = "example.com"
		},
		"and this one is of customers of 127.0.0.1 as csv for spreadsheets, 10 a page": func(o *Options) { o.SpreadsheetSafe = true },
		"and this one is of customers of 127.0.0.1 as csv, 7 a page":                   func(o *Options) { o.PerPage = 7 },
		"has 7 bytes, but":         func(o *Options) { require.NoError(t, os.Truncate(o.partPath(), 7)) },
		"holds no checkpoint":      func(*Options) { require.NoError(t, os.Truncate(resume, 7)) },
		"it is older than 12h0m0s": func(*Options) { require.NoError(t, os.Chtimes(resume, time.Time{}, time.Now().Add(-13*time.Hour))) },
		"the service refuses its cursor": func(o *Options) {
			content, err := os.ReadFile(resume)
			require.NoError(t, err)
			content = regexp.MustCompile(`"cursor":"\d+"`).ReplaceAll(content, []byte(`"cursor":"refused"`))
			require.NoError(t, os.WriteFile(resume, content, 0o600))
		},
	} {
		options := optionsFor(t, "a.csv")
		resume = options.resumePath()
		require.Error(t, stopAfter(t, client, options, 3))
		options.Resume, options.Overwrite = true, true
		said := ""
		options.Note = func(format string, args ...any) { said = fmt.Sprintf(format, args...) }
		change(&options)
		content, done := exported(t, client, Customers, options)
		assert.Equal(t, whole, content, want)
		assert.Equal(t, rows, done.Rows)
		assert.Equal(t, want == "", done.Resumed > 0)
		if want != "" {
			assert.Contains(t, said, "the unfinished export cannot be continued, and begins again: ")
			assert.Contains(t, said, want)
		}
		exported(t, client, Customers, options) // there is nothing to continue
	}
}

// drifting lists n customers, a page each 10 rows, of which each page repeats one.
func drifting(t *testing.T, n int) *messaging.Client {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cursor := r.URL.Query().Get("cursor")
		if cursor == "refused" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"success":false,"errors":{"cursor":["is invalid"]}}`))
			return
		}
		at, _ := strconv.Atoi(cursor) // 0 for the first page
		var rows []string
		for i := max(at-1, 0); i < min(at+9, n); i++ {
			rows = append(rows, fmt.Sprintf(`{"customer_id":"%d","email":"c%d@example.com"}`, i, i))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"success":true,"data":{"data":[%s],"meta":{"has_next_page":%v,"next_page_cursor":"%d"}}}`,
			strings.Join(rows, ","), at+9 < n, at+9)
	}))
	t.Cleanup(service.Close)
	client, err := messaging.NewClient(service.URL, "test-key-1")
	require.NoError(t, err)
	return client
}
