package redact

import "strconv"

// escapes are the characters that begin an escape sequence.
const escapes = `\%`

// reading is a text in which escape sequences have been replaced.
type reading struct {
	text []byte
	// offsets holds the offset in the original text of each byte, and of the end. It is
	// nil for the original text itself.
	offsets []int
}

func (r reading) offset(i int) int {
	if r.offsets == nil {
		return i
	}
	return r.offsets[i]
}

// unescaped returns r with each character replaced by what first returns for it.
func (r reading) unescaped(first func(text []byte) (c byte, size int)) reading {
	plain := reading{text: make([]byte, 0, len(r.text)), offsets: make([]int, 0, len(r.text)+1)}
	for i := 0; i < len(r.text); {
		c, size := first(r.text[i:])
		plain.text, plain.offsets = append(plain.text, c), append(plain.offsets, r.offset(i))
		i += size
	}
	plain.offsets = append(plain.offsets, r.offset(len(r.text)))
	return plain
}

// jsonCharacter returns the first character of text, which is from within a JSON string,
// and the size of the character there. Only characters that a key can hold are unescaped.
func jsonCharacter(text []byte) (c byte, size int) {
	if text[0] != '\\' || len(text) < 2 {
		return text[0], 1
	}
	switch text[1] {
	case '\\', '"', '/':
		return text[1], 2
	case 'u':
		if c, ok := printable(text[2:], len("0073")); ok {
			return c, len(`\u0073`)
		}
	}
	return text[0], 1
}

// urlCharacter does the same for a URL.
func urlCharacter(text []byte) (c byte, size int) {
	if text[0] == '%' {
		if c, ok := printable(text[1:], len("73")); ok {
			return c, len("%73")
		}
	}
	return text[0], 1
}

// printable returns the printable ASCII character whose hexadecimal number text begins
// with.
func printable(text []byte, digits int) (byte, bool) {
	if len(text) < digits {
		return 0, false
	}
	number, err := strconv.ParseUint(string(text[:digits]), 16, 16)
	return byte(number), err == nil && number > ' ' && number <= '~'
}
