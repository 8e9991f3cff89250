// Package scripted holds what the test packages of this module share: the table of
// operations that they range over, a transport that plays scenes, calls that tests make
// over it, the responses and errors that they meet, and checks of what comes back.
//
// Only test packages import it.
package scripted
