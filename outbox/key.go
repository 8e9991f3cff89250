package outbox

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyBatch is how many entries one statement reads or changes.
const keyBatch = 500

// maxKeyBytes is the length of the longest key.
const maxKeyBytes = 255

// keyProblem describes why a key is invalid. It returns "" for a valid key.
func keyProblem(key string) string {
	switch {
	case key == "":
		return "must not be empty"
	case len(key) > maxKeyBytes:
		return "must have at most 255 bytes"
	case !utf8.ValidString(key):
		return "must be valid UTF-8"
	case strings.ContainsFunc(key, unicode.IsControl):
		return "must not contain control characters"
	}
	return ""
}

// validKeys returns the valid keys in order, each once. A database might read an invalid key
// as the key of some entry.
func validKeys(keys []string) []string {
	valid := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return keyProblem(key) != "" })
	slices.Sort(valid)
	return slices.Compact(valid)
}

// keyed returns an error about the entry with the key.
func keyed(doing, key string, err error) error {
	return fmt.Errorf("outbox: %s entry %q: %w", doing, key, err)
}

// maxErrorBytes is how much of an error text is stored.
const maxErrorBytes = 1000

// storable returns the text in a form that every database stores: short, valid UTF-8
// without NUL.
func storable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", " ")
	if len(text) > maxErrorBytes {
		text = strings.ToValidUTF8(text[:maxErrorBytes], "")
	}
	return text
}
