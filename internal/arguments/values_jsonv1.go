//go:build !go1.27 || !goexperiment.jsonv2

package arguments

import "bytes"

// hasReplacedText reports whether encoding/json has replaced invalid UTF-8 when it
// wrote value as raw: it writes the replacement as an escape, but a U+FFFD of the text
// as it is.
func hasReplacedText(_ any, raw []byte) bool {
	return bytes.Contains(bytes.ReplaceAll(raw, []byte(`\\`), nil), []byte(`\ufffd`))
}
