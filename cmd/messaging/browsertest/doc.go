// Package browsertest tests the inspector of the sandbox in Chromium. It is a separate
// module, so that the command does not depend on a browser.
package browsertest
