package alike

import "slices"

// Set holds the tokens of many triggers. Add them, and then Sort it.
type Set struct {
	Tokens []Token
	// Twice is how many triggers are like an earlier one.
	Twice int
}

// Meet reports whether two triggers are alike.
func (t Tokens) Meet(other Tokens) bool {
	return slices.ContainsFunc(t[:], func(token Token) bool { return token != 0 && slices.ContainsFunc(other[:], token.is) })
}

// Add adds the tokens of a trigger.
func (s *Set) Add(tokens Tokens) {
	for _, token := range tokens {
		if token != 0 {
			s.Tokens = append(s.Tokens, token)
		}
	}
}

// Sort sorts the tokens, and counts those that are there twice.
func (s *Set) Sort() {
	slices.Sort(s.Tokens)
	var twice counter
	for i := 1; i < len(s.Tokens); i++ {
		if s.Tokens[i].is(s.Tokens[i-1]) {
			twice.count(s.Tokens[i])
		}
	}
	s.Twice = twice.triggers()
	s.Tokens = slices.CompactFunc(s.Tokens, Token.is)
}

// Kind is how the customers of a set are known: all by addresses, all by ids, or neither.
type Kind string

// The kinds of a set.
const (
	Mixed     Kind = ""
	ByAddress Kind = "address"
	ByID      Kind = "id"
)

// Kind returns how the customers of a sorted set are known.
func (s *Set) Kind() Kind {
	switch n := len(s.Tokens); {
	case n == 0:
		return Mixed
	case s.Tokens[n-1]&byID == 0:
		return ByAddress
	case s.Tokens[0]&byID != 0:
		return ByID
	default:
		return Mixed
	}
}

// CanMeet reports whether two sets of these kinds can have a customer in common.
func (k Kind) CanMeet(other Kind) bool { return k == other || k == Mixed || other == Mixed }

// Has reports whether one of the tokens is in the set.
func (s *Set) Has(tokens Tokens) bool {
	return slices.ContainsFunc(tokens[:], func(token Token) bool {
		_, found := search(s.Tokens, token)
		return found && token != 0
	})
}

// Common counts the triggers of the set that are like one of the others, whose tokens come
// in order.
func (s *Set) Common(others func(yield func(Token) bool)) int {
	var common counter
	rest := s.Tokens
	for other := range others {
		n, found := search(rest[:min(len(rest), near)], other)
		if n == near {
			n, found = search(rest, other)
		}
		if rest = rest[n:]; found {
			common.count(other)
		}
		if len(rest) == 0 {
			break
		}
	}
	return common.triggers()
}

// near is how far the next token of two sets of similar sizes is.
const near = 16

// search returns the place in sorted tokens of one that stands for the same.
func search(tokens []Token, token Token) (n int, found bool) {
	n, _ = slices.BinarySearch(tokens, token>>formBits<<formBits)
	return n, n < len(tokens) && tokens[n].is(token)
}

// counter counts triggers by their tokens. A trigger has one at most of each kind and form.
type counter [4]int

func (c *counter) count(t Token) {
	kind := 0
	if t&byID != 0 {
		kind = 2
	}
	if t&secondForm != 0 {
		kind++
	}
	c[kind]++
}

func (c *counter) triggers() int { return slices.Max(c[:]) }
