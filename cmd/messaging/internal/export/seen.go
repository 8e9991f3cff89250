package export

import "github.com/messaging-go/messaging/cmd/messaging/internal/hashes"

// seen is the set of the ids that were exported.
type seen struct {
	ids hashes.Map[struct{}]
	// fresh are the hashes since the last checkpoint, one after the other.
	fresh []byte
}

// add adds a hash and reports whether it is new. The zero Hash always is.
func (s *seen) add(h hashes.Hash) bool {
	if h == (hashes.Hash{}) {
		return true
	}
	if _, added := s.ids.Add(h, struct{}{}); !added {
		return false
	}
	s.fresh = append(s.fresh, h[:]...)
	return true
}

// load adds the hashes of a checkpoint.
func (s *seen) load(fresh []byte) {
	for ; len(fresh) >= len(hashes.Hash{}); fresh = fresh[len(hashes.Hash{}):] {
		s.ids.Add(hashes.Hash(fresh), struct{}{})
	}
}
