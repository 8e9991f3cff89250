// Package scripted holds what the test packages of this module share: the table of
// operations that they range over, a scripted transport, calls over it, the responses and
// errors that result, and checks of them.
//
// Only test packages import it.
package scripted
