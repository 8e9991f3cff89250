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
	return slices.ContainsFunc(t[:], func(token Token) bool {
		return token.isNamed() && slices.ContainsFunc(other[:], token.is)
	})
}

// MayMeet reports whether two triggers have the same values, and one of them only the id of its customer, and
// the other only an address: the customer may be the same.
func (t Tokens) MayMeet(other Tokens) bool {
	return slices.ContainsFunc(t[:], func(token Token) bool { return slices.ContainsFunc(other[:], token.mayBe) })
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
		if s.Tokens[i].isNamed() && s.Tokens[i].is(s.Tokens[i-1]) {
			twice.count(s.Tokens[i])
		}
	}
	s.Twice = twice.triggers()
	s.Tokens = slices.CompactFunc(s.Tokens, Token.is)
}

// Unclear returns the token of an address, of two triggers of a sorted set that may meet, or 0.
func (s *Set) Unclear() Token {
	for _, token := range s.Tokens {
		if token >= byID {
			break
		}
		if s.mayHave(token) {
			return token
		}
	}
	return 0
}

// IsOf reports whether a trigger has the values of a token that Unclear has returned, and by what its customer is
// known.
func (t Token) IsOf(tokens Tokens) (byAddress, byID bool) {
	return slices.ContainsFunc(tokens[:], t.is), slices.ContainsFunc(tokens[:], t.mayBe)
}

// mayHave reports whether a sorted set has a trigger that may be that of a token.
func (s *Set) mayHave(token Token) bool {
	if token&unnamed == 0 {
		return false
	}
	_, found := search(s.Tokens, token^byID)
	return found
}

// Has reports whether the set has a trigger that is like one with the tokens.
func (s *Set) Has(tokens Tokens) bool {
	return slices.ContainsFunc(tokens[:], func(token Token) bool {
		_, found := search(s.Tokens, token)
		return found && token.isNamed()
	})
}

// MayHave reports whether the set has a trigger that may meet one with the tokens.
func (s *Set) MayHave(tokens Tokens) bool { return slices.ContainsFunc(tokens[:], s.mayHave) }

// Common counts the triggers of the set that are like one of the others, whose tokens come
// in order, and those that may be.
func (s *Set) Common(others func(yield func(Token) bool)) (alike, unclear int) {
	var common, possible counter
	rest := s.Tokens
	for other := range others {
		if !other.isNamed() {
			if s.mayHave(other) {
				possible.count(other)
			}
			continue
		}
		n, found := search(rest[:min(len(rest), near)], other)
		if n == near {
			n, found = search(rest, other)
		}
		if rest = rest[n:]; found {
			common.count(other)
		}
	}
	return common.triggers(), possible.triggers()
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
