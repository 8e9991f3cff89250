package messagingtest

import "github.com/messaging-go/messaging/internal/fake"

// Observe passes each exchange to a function.
func Observe(observe func(*fake.Exchange)) Option {
	return func(c *config) { c.Observe = observe }
}

// Kind returns the kind of the fault.
func (f Fault) Kind() string { return f.fault.Kind }
