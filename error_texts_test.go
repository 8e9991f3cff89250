package messaging_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// TestErrorTextsAreThoseOfTheGoldenFile keeps the text of each cause in a file that can be read from top to bottom. To add
// one, add a cause to causes_test.go, and run the test with -update. The texts of problems with arguments are in the tests of
// the arguments.
func TestErrorTextsAreThoseOfTheGoldenFile(t *testing.T) {
	const path = "testdata/error_texts.golden"
	var texts bytes.Buffer
	texts.WriteString("# The texts of errors, with their causes. Run go test . -run ErrorTexts -update to write it.\n")
	for _, cause := range causes() {
		for _, kind := range cause.everyKind() {
			err := cause.failIn(t, kind)
			requireTrueText(t, unlessJoined(err))
			if err == nil || kind == aRepeatableSend && slices.Contains(cause.everyKind(), aSend) { // which has the same text
				continue
			}
			assert.EqualError(t, &messaging.PageError{Cursor: "c1", Next: "c2", Err: err}, err.Error(), "a PageError says no less and no more")
			fmt.Fprintf(&texts, "\n%s, %s\n\t%s\n", cause.name, kind, strings.ReplaceAll(err.Error(), "\n", "\n\t"))
		}
	}
	if *updateGoldens {
		require.NoError(t, os.WriteFile(path, texts.Bytes(), 0o644))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	requireSameLines(t, string(golden), texts.String())
}

// requireSameLines shows the lines that differ, and not the rest of a long file.
func requireSameLines(t *testing.T, golden, written string) {
	without := func(all, others string) (lines []string) {
		for line := range strings.Lines(all) {
			if !strings.Contains("\n"+others, "\n"+line) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	assert.Empty(t, without(written, golden), "new: run the test with -update, and read the difference")
	assert.Empty(t, without(golden, written), "gone: run the test with -update, and read the difference")
	assert.True(t, golden == written, "the order of the golden file differs: run the test with -update")
}

// unlessJoined returns err, or nil if its text is that of several errors.
func unlessJoined(err error) error {
	if _, joined := err.(interface{ Unwrap() []error }); joined {
		return nil
	}
	return err
}
