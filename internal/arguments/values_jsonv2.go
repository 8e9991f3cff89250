//go:build go1.27 && goexperiment.jsonv2

package arguments

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"

	"github.com/messaging-go/messaging/internal/wire"
)

// hasReplacedText reports whether encoding/json replaced invalid UTF-8 when it wrote value
// as raw. This encoding/json, the default as of Go 1.27, writes the replacement like a
// U+FFFD in the text. So if raw has a U+FFFD, value is written again, without allowing
// invalid UTF-8.
func hasReplacedText(value any, raw []byte) bool {
	if !bytes.Contains(raw, []byte(wire.Replacement)) {
		return false
	}
	_, err := jsonv2.Marshal(value, json.DefaultOptionsV1(), jsontext.AllowInvalidUTF8(false))
	return err != nil
}
