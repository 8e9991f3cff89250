package export

import "crypto/sha256"

// hash stands for an id. With 128 bits, two ids do not share one by chance.
type hash [16]byte

// seen is the set of the ids that were exported.
type seen struct {
	hashes map[hash]struct{}
	// fresh are the hashes since the last checkpoint, one after the other.
	fresh []byte
}

// add adds an id and reports whether it is new. The id "" always is.
func (s *seen) add(id string) bool {
	if id == "" {
		return true
	}
	sum := sha256.Sum256([]byte(id))
	h := hash(sum[:])
	if _, twice := s.hashes[h]; twice {
		return false
	}
	s.hashes[h] = struct{}{}
	s.fresh = append(s.fresh, h[:]...)
	return true
}

// load adds the hashes of a checkpoint.
func (s *seen) load(hashes []byte) {
	for ; len(hashes) >= len(hash{}); hashes = hashes[len(hash{}):] {
		s.hashes[hash(hashes)] = struct{}{}
	}
}
