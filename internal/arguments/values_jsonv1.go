//go:build !go1.27 || !goexperiment.jsonv2

package arguments

import "bytes"

// hasReplacedText reports whether encoding/json replaced invalid UTF-8 when it wrote value
// as raw. It writes the replacement as an escape sequence, but writes a U+FFFD in the text
// unchanged.
func hasReplacedText(_ any, raw []byte) bool {
	return bytes.Contains(bytes.ReplaceAll(raw, []byte(`\\`), nil), []byte(`\ufffd`))
}
