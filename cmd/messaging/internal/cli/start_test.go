package cli

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a package does when the program starts takes time in every command. This package has
// its tests in it here, which take half of its share.
func TestPackagesPrepareLittleWhenTheProgramStarts(t *testing.T) {
	cmd := exec.Command("messaging", "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	require.NoError(t, cmd.Run())
	found := regexp.MustCompile(`init (github\.com/messaging-go/\S+) .* (\d+) bytes`).FindAllStringSubmatch(trace.String(), -1)
	require.NotEmpty(t, found, trace.String())
	for _, each := range found {
		bytes, err := strconv.Atoi(each[2])
		require.NoError(t, err)
		assert.Less(t, bytes, 200<<10, each[1])
	}
}
