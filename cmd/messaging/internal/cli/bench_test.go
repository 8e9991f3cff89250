package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

const million = 1_000_000

// walkCustomers is a program that lists the million customers.
func walkCustomers() {
	client, err := messaging.NewClient(os.Getenv("MESSAGING_BASE_URL"), "not-a-real-key")
	if err != nil {
		panic(err)
	}
	n := 0
	for _, err := range client.Customers.All(context.Background(), messaging.CustomerListParams{PerPage: 100}) {
		if err != nil {
			panic(err)
		}
		n++
	}
	if n != million {
		panic(n)
	}
}

// built returns the program as users get it. The test is larger.
func built(b *testing.B) string {
	program := filepath.Join(b.TempDir(), "messaging")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "../..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", text)
	return program
}

// BenchmarkCommand measures whole processes, from their start to their end.
func BenchmarkCommand(b *testing.B) {
	sandbox, err := startSandbox(b.Context(), "--seed", "demo")
	require.NoError(b, err)
	program := built(b)
	for _, args := range [][]string{{"--version"}, {"--help"}, {"event", "list"}} {
		b.Run(strings.Join(args, " "), func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(program, args...)
				cmd.Env = os.Environ()
				for name, value := range sandbox.variables {
					cmd.Env = append(cmd.Env, name+"="+value)
				}
				text, err := cmd.CombinedOutput()
				require.NoError(b, err, "%s", text)
			}
		})
	}
}
