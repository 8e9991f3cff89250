// Package browsertest tests the inspector of the sandbox in Chromium. It is a
// module of its own, so that the command does not depend on a browser.
package browsertest
