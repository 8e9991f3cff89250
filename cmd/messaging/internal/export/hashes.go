package export

import (
	"encoding/binary"
	"math/bits"
)

// hash is the beginning of the sha256 of an id. Among a million ids, the chance that two have the same is 1 in 37 million.
type hash [8]byte

// hashes is a set of hashes. A million take 11 MB, where a map would take 20. Hashes are random, so that the first byte
// chooses one of equal parts, and the other bytes the place where the search in it begins.
type hashes [256]struct {
	places []hash // a hash of zeros is a free place
	used   int
}

// add adds a hash, and reports whether it was not there.
func (s *hashes) add(h hash) (isNew bool) {
	part := &s[h[0]]
	if 5*part.used >= 4*len(part.places) {
		before := part.places
		part.places, part.used = make([]hash, len(before)+len(before)/4+8), 0
		for _, each := range before {
			if each != (hash{}) {
				s.add(each)
			}
		}
	}
	places := part.places
	i, _ := bits.Mul64(binary.BigEndian.Uint64(h[:])<<8, uint64(len(places)))
	for places[i] != (hash{}) {
		if places[i] == h {
			return false
		}
		if i++; i == uint64(len(places)) {
			i = 0
		}
	}
	places[i] = h
	part.used++
	return true
}
