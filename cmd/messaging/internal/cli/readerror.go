package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// readError is an error of a read. Nothing is ever sent by a read, so the error does not say
// so; and it begins with the cause if that is a setting.
type readError struct{ error }

func (e readError) Error() string {
	said := strings.TrimSuffix(e.error.Error(), "; nothing was sent")
	if unknown, ok := errors.AsType[*net.DNSError](e.error); ok && unknown.IsNotFound {
		return fmt.Sprintf("there is no host %s; check the base URL (%s)", unknown.Name, said)
	}
	return said
}

func (e readError) Unwrap() error { return e.error }

// asRead returns an error of a read, or nil.
func asRead(err error) error {
	if err == nil {
		return nil
	}
	return readError{err}
}
