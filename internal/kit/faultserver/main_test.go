package faultserver_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the package when a server leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
