package postgres

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

func TestTheCodeOfAnErrorIsThatOfTheServer(t *testing.T) {
	for err, serialization := range map[error]bool{
		&pgconn.PgError{Code: "40001"}: true,
		fmt.Errorf("exec: %w", &pgconn.PgError{Code: "40001", Message: "could not serialize access"}): true,
		&pgconn.PgError{Code: "57014", Message: "canceled because of SQLSTATE 40001"}:                 false,
		errors.New("ERROR: could not serialize access (SQLSTATE 40001)"):                              true,
		errors.New("dial tcp 127.0.0.1:40001: connection refused"):                                    false,
		errors.New("read: could not serialize access to the log of row 40001"):                        false,
	} {
		assert.Equal(t, serialization, hasCode(err, "40001"), err)
	}
}

func TestTheInputHoldsEveryEntryAsItIs(t *testing.T) {
	entries := []ledger.NewEntry{
		{Key: "order", Operation: "trigger event", Digest: []byte{0, 0xab}, Body: []byte(`{"a": "\"<&>"}`), Priority: ledger.Low,
			Repeatable: true, NotBefore: time.UnixMilli(1), NotAfter: time.UnixMilli(2)},
		{Key: `"},{<&>\ and ü`, Operation: "send email broadcast", Body: []byte{0, 0xff}, Sealed: true},
		{Key: "no body"},
	}
	var read []struct {
		newEntry
		Body []byte `json:"body"`
	}
	require.NoError(t, json.Unmarshal([]byte(asInput(entries)), &read))
	require.Len(t, read, len(entries))
	for i, e := range entries {
		assert.Equal(t, newEntry{i, e.Key, e.Operation, hex.EncodeToString(e.Digest), e.Sealed, e.Priority, e.Repeatable,
			milliseconds(e.NotBefore), milliseconds(e.NotAfter)}, read[i].newEntry)
		assert.Equal(t, string(e.Body), string(read[i].Body))
	}
	assert.JSONEq(t, `[]`, asInput(nil))
}

func TestTheInputIsWrittenWithoutACopyOfTheBodies(t *testing.T) {
	var entries []ledger.NewEntry
	for i := range 5 {
		entries = append(entries, ledger.NewEntry{Key: fmt.Sprint(i), Body: bytes.Repeat([]byte("x"), 800_000)})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	input := asInput(entries)
	runtime.ReadMemStats(&after)
	assert.Less(t, int(after.TotalAlloc-before.TotalAlloc), len(input)*5/4)
}
