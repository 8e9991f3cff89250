package exchange

import (
	"context"
	"net"
	"net/http/httptrace"
)

// DialFunc is the type of the functions with which an http.Transport makes connections.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// HideTrace returns dial with another context, in which httptrace finds the caller's trace
// in place of the one that collects the evidence of an attempt. If dial makes HTTP requests
// itself, for example to look up a name, their connections are no evidence: the request
// cannot be sent over them. It returns nil if dial is nil.
func HideTrace(dial DialFunc) DialFunc {
	if dial == nil {
		return nil
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
			ctx = dialContext{ctx, caller}
		}
		return dial(ctx, network, address)
	}
}

// callerContext is part of the context of an attempt. It holds the caller's context.
type callerContext struct {
	context.Context
	context context.Context // the caller's
}

type callerKey struct{}

func (c *callerContext) Value(key any) any {
	if key == (callerKey{}) {
		return c.context
	}
	return c.Context.Value(key)
}

// dialContext is the context of a dial, with the caller's trace.
type dialContext struct {
	context.Context
	caller context.Context
}

func (c dialContext) Value(key any) any {
	value := c.Context.Value(key)
	if _, isTrace := value.(*httptrace.ClientTrace); isTrace {
		return c.caller.Value(key)
	}
	return value
}
