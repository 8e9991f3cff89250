package generate

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "generate the packages in golden and examples again")

// The packages are compiled and used, each by its own tests.
func TestGeneratedPackagesAreCurrent(t *testing.T) {
	for _, folder := range []string{"golden/names", "golden/values", "../../../../examples/events/internal/events"} {
		events, support, err := Package(filepath.Join(folder, "events.json"), filepath.Base(folder))
		require.NoError(t, err)
		for name, want := range map[string][]byte{"events.gen.go": events, "support.gen.go": support} {
			path := filepath.Join(folder, name)
			if *update {
				require.NoError(t, os.WriteFile(path, want, 0o644))
			}
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(content), "run: go test -run Current -update .")
		}
	}
}
