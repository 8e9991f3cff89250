package scripted

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"syscall"
)

// Errors of a transport, as net and crypto/tls return them.
var (
	// ErrRefused is a connection that the other side refuses.
	ErrRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	// ErrDialTimeout is a connection that takes too long.
	ErrDialTimeout = &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	// ErrReset is a connection that the other side resets.
	ErrReset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	// ErrUnknownCA is a certificate of an unknown authority.
	ErrUnknownCA = &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
)

// ErrLookup is a host name that is not resolved.
func ErrLookup(failure net.DNSError) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: &failure}
}
