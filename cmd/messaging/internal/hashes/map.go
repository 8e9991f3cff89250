// Package hashes holds what is known of very many texts in little memory, by their hashes.
package hashes

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Hash stands for a text. With 128 bits, two texts do not share one by chance. The zero
// Hash is that of no text.
type Hash [16]byte

// Of returns the hash of a text.
func Of(text []byte) Hash {
	sum := sha256.Sum256(text)
	return Hash(sum[:])
}

// Map holds a value for each hash. A million hashes without values take about 24 MB, where
// a map of Go takes twice to three times as much. It is in parts that grow one after the
// other, so that little of it is in memory twice. The zero Map is empty.
type Map[V any] struct {
	parts   [256]part[V] // by the first byte of the hash
	fetched byte         // of no meaning: it keeps what Fetch does from being optimized away
}

// Add adds a hash with its value. If the hash is there, it returns the earlier value.
func (m *Map[V]) Add(h Hash, value V) (earlier V, added bool) {
	p := &m.parts[h[0]]
	if p.used*8 >= len(p.slots)*7 {
		p.grow(h[0])
	}
	found := p.find(h)
	if found.hash == h {
		return found.value, false
	}
	*found = slot[V]{value, h}
	p.used++
	return earlier, true
}

// Fetch makes the processor load the places of hashes. It loads several at a time, where
// Add would wait for each.
func (m *Map[V]) Fetch(hs []Hash) {
	for i := range hs {
		if p := &m.parts[hs[i][0]]; len(p.slots) > 0 {
			m.fetched ^= p.slots[p.place(hs[i])].hash[0]
		}
	}
}

// Get returns the value of a hash.
func (m *Map[V]) Get(h Hash) (value V, ok bool) {
	p := &m.parts[h[0]]
	if p.used == 0 {
		return value, false
	}
	found := p.find(h)
	return found.value, found.hash == h
}

// slot holds a hash, or the zero Hash if it is free. The value is first: at the end, an
// empty struct would take space.
type slot[V any] struct {
	value V
	hash  Hash
}

// part holds some of the hashes. A hash is in the first free slot at or after its place.
type part[V any] struct {
	slots []slot[V]
	used  int
}

// place returns the slot at which the search for a hash begins.
func (p *part[V]) place(h Hash) int {
	place, _ := bits.Mul64(binary.LittleEndian.Uint64(h[8:]), uint64(len(p.slots)))
	return int(place)
}

// find returns the slot of a hash, or the free one for it.
func (p *part[V]) find(h Hash) *slot[V] {
	for at := p.place(h); ; at++ {
		if at == len(p.slots) {
			at = 0
		}
		if s := &p.slots[at]; s.hash == h || s.hash == (Hash{}) {
			return s
		}
	}
}

// grow makes space for the part with a number. It adds a quarter, so that little of the space
// is free. At first, the parts differ by up to a quarter: all of them fill up at the same pace,
// and would otherwise grow together, so that much memory would be in use twice.
func (p *part[V]) grow(number byte) {
	old := p.slots
	size := len(old)*5/4 + 16
	if len(old) == 0 {
		size += 20 * int(number) / len(Map[V]{}.parts)
	}
	p.slots = make([]slot[V], size)
	for _, s := range old {
		if s.hash != (Hash{}) {
			*p.find(s.hash) = s
		}
	}
}
