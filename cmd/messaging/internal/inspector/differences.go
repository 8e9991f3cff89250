package inspector

import (
	"cmp"
	"maps"
	"net/http"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// difference is something other than the query and the body in which two requests differ, or their outcomes.
type difference struct{ What, Before, After string }

// outcomeRow is the difference that is not one of the requests.
const outcomeRow = "Outcome"

// differences returns how two requests differ, apart from their queries and bodies.
func differences(before, after *history.Entry) (list []difference) {
	add := func(what, a, b string) {
		if a != b {
			list = append(list, difference{what, a, b})
		}
	}
	add("Method", before.Request.Method, after.Request.Method)
	add("Path", before.Request.Path, after.Request.Path)
	add("API key", keyInWords(before.Key()), keyInWords(after.Key()))
	names := http.Header{}
	maps.Copy(names, before.Request.Header)
	maps.Copy(names, after.Request.Header)
	for _, name := range sortedKeys(names) {
		switch name {
		case "Authorization", "Content-Length", "X-Api-Key", "X-Authorization": // the key and the body say it
		default:
			add(name, headerInWords(before.Request.Header, name), headerInWords(after.Request.Header, name))
		}
	}
	add(outcomeRow, outcomeTag(before).Text, outcomeTag(after).Text)
	return list
}

// keyInWords says how a request was sent with its key. It shows nothing of the key.
func keyInWords(k history.Key) string {
	switch {
	case k.Header == "" && k.Empty:
		return "empty"
	case k.Header == "":
		return "none"
	case k.Prefixed:
		return `"Bearer " before it`
	case k.Foreign:
		return "not that of this sandbox"
	case k.Right():
		return "that of this sandbox"
	default:
		return "in " + k.Header
	}
}

func headerInWords(header http.Header, name string) string {
	const longest = 300
	return cmp.Or(words.Shortened(strings.Join(header[name], ", "), longest), "–")
}
