package generate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/definitions"
	"github.com/messaging-go/messaging/cmd/messaging/internal/files"
)

var update = flag.Bool("update", false, "generate the packages in golden and examples again")

// The packages are compiled and used, each by its own tests.
func TestGeneratedPackagesAreCurrent(t *testing.T) {
	for _, folder := range []string{"golden/names", "golden/values", "../../../../examples/events/internal/events"} {
		list, err := Files(filepath.Join(folder, "events.json"), filepath.Base(folder), folder)
		require.NoError(t, err)
		if *update {
			_, err := files.Write(list...)
			require.NoError(t, err)
		}
		diff, err := files.Diff(list...)
		require.NoError(t, err)
		assert.Empty(t, string(diff), "run: go test -run Current -update .")
	}
}

func TestCodeDependsOnDefinitionsAlone(t *testing.T) {
	list := manyEvents(20)
	events, support, err := Code(list, Config{}, "events", "events.json")
	require.NoError(t, err)
	for range 5 {
		reversed := `{"events": [` + reverse(list) + `]}`
		again, sameSupport, err := Code(parse(t, reversed), Config{}, "events", "events.json")
		require.NoError(t, err)
		assert.Equal(t, string(events), string(again))
		assert.Equal(t, string(support), string(sameSupport))
	}
}

// reverse returns the definitions in the opposite order, as elements of a JSON array.
func reverse(list definitions.List) string {
	var elements []string
	for _, event := range list {
		one := string(definitions.List{event}.JSON())
		elements = append([]string{one[strings.Index(one, "[")+1 : strings.LastIndex(one, "]")]}, elements...)
	}
	return strings.Join(elements, ",")
}

func TestCodeOfNoEventIsAnError(t *testing.T) {
	_, _, err := Code(parse(t, `{"events": []}`), Config{}, "events", "events.json")
	assert.EqualError(t, err, "events.json: there are no events to generate code for")
}

func TestFilesReplacesOnlyItsOwn(t *testing.T) {
	folder := t.TempDir()
	source := filepath.Join(folder, "events.json")
	require.NoError(t, os.WriteFile(source, manyEvents(1).JSON(), 0o600))
	foreign := filepath.Join(folder, "events.gen.go")
	require.NoError(t, os.WriteFile(foreign, []byte("package mine\n"), 0o600))

	list, err := Files(source, "events", folder)
	require.NoError(t, err)
	_, err = files.Write(list...)

	assert.EqualError(t, err, foreign+" is not replaced: it was not written by messaging gen; move it away, or choose another "+
		"folder with --out")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "nothing was written")
}

func TestFilesReportsWhatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	source := filepath.Join(folder, "events.json")
	_, err := Files(source, "events", folder)
	assert.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(source, []byte("{"), 0o600))
	_, err = Files(source, "events", folder)
	assert.ErrorContains(t, err, source+": line 1: ")
	require.NoError(t, os.WriteFile(source, manyEvents(1).JSON(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gen.toml"), []byte("x"), 0o600))
	_, err = Files(source, "events", folder)
	assert.ErrorContains(t, err, "gen.toml: toml: line 1")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gen.toml"), []byte(`rename = {"x" = "y"}`), 0o600))
	_, err = Files(source, "events", folder)
	assert.ErrorContains(t, err, `gen.toml: rename: "x"`)
}

// manyEvents returns definitions with eight parameters each.
func manyEvents(n int) (list definitions.List) {
	types := []messaging.ParameterType{messaging.ParameterText, messaging.ParameterNumeric, messaging.ParameterTimestamp, "uuid"}
	for i := range n {
		event := messaging.EventCreateParams{Name: fmt.Sprintf("Event number %04d", i), Description: "Something has happened."}
		for j := range 8 {
			event.Parameters = append(event.Parameters, messaging.EventParameter{
				Name: fmt.Sprintf("parameter_%d", j), Type: types[j%len(types)], Required: j < len(types)})
		}
		list = append(list, event)
	}
	return list
}

// BenchmarkFiles reads and writes a package of 500 events, as the command does.
func BenchmarkFiles(b *testing.B) {
	folder := b.TempDir()
	source := filepath.Join(folder, "events.json")
	require.NoError(b, os.WriteFile(source, manyEvents(500).JSON(), 0o600))
	for b.Loop() {
		list, err := Files(source, "events", folder)
		require.NoError(b, err)
		_, err = files.Write(list...)
		require.NoError(b, err)
		require.NoError(b, os.Remove(filepath.Join(folder, "events.gen.go")))
	}
}
