package export

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// hash stands for an id. With 128 bits, two ids do not share one by chance. The zero hash
// is that of no id.
type hash [16]byte

// seen is the set of the ids that were exported. A million of them take about 24 MB, where
// a map takes three times as much. The set is in parts, so that little memory is needed
// twice while one grows.
type seen struct {
	parts [256]part // by the first byte of the hash
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
	if !s.parts[h[0]].add(h) {
		return false
	}
	s.fresh = append(s.fresh, h[:]...)
	return true
}

// load adds the hashes of a checkpoint.
func (s *seen) load(hashes []byte) {
	for ; len(hashes) >= len(hash{}); hashes = hashes[len(hash{}):] {
		h := hash(hashes)
		s.parts[h[0]].add(h)
	}
}

// part is a set of hashes. A hash is in the first free slot at or after its place.
type part struct {
	slots []hash
	used  int
}

func (p *part) add(h hash) bool {
	if p.used*8 >= len(p.slots)*7 {
		p.grow()
	}
	at := p.find(h)
	if p.slots[at] == h {
		return false
	}
	p.slots[at] = h
	p.used++
	return true
}

// find returns the slot of a hash, or the free one for it.
func (p *part) find(h hash) int {
	place, _ := bits.Mul64(binary.LittleEndian.Uint64(h[8:]), uint64(len(p.slots)))
	at := int(place)
	for p.slots[at] != h && p.slots[at] != (hash{}) {
		if at++; at == len(p.slots) {
			at = 0
		}
	}
	return at
}

func (p *part) grow() {
	old := p.slots
	p.slots = make([]hash, len(old)*5/4+16)
	for _, h := range old {
		if h != (hash{}) {
			p.slots[p.find(h)] = h
		}
	}
}
