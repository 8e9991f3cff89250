package hashes

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

func of(n int) Hash { return Of(strconv.AppendInt(nil, int64(n), 10)) }

func TestAMapKeepsTheFirstValueOfEachHash(t *testing.T) {
	const n = 20_000
	var m Map[int]
	for i := range n {
		_, added := m.Add(of(i), i)
		assert.True(t, added, i)
	}
	for i := range n {
		earlier, added := m.Add(of(i), -1)
		assert.False(t, added, i)
		assert.Equal(t, i, earlier)
		value, ok := m.Get(of(i))
		assert.True(t, ok, i)
		assert.Equal(t, i, value)
		_, ok = m.Get(of(-1 - i))
		assert.False(t, ok, i)
	}
}

func TestAnEmptyMapHasNoHash(t *testing.T) {
	var m Map[int]
	_, ok := m.Get(of(1))
	assert.False(t, ok)
}

func TestHashesWithTheSamePlaceAreKeptApart(t *testing.T) {
	var m Map[int]
	for i := range 100 { // all in the last slot, or after it at the start of the slots
		h := Hash{1: byte(i + 1), 8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}
		_, added := m.Add(h, i)
		assert.True(t, added, i)
		value, ok := m.Get(h)
		assert.True(t, ok, i)
		assert.Equal(t, i, value)
	}
}

func TestAMillionHashesTakeLittleMemory(t *testing.T) {
	const n, limit = 1_000_000, 25 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var m Map[struct{}]
	for i := range uint64(n) {
		m.Add(of(int(i)), struct{}{})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, after.HeapAlloc-before.HeapAlloc, uint64(limit))
	runtime.KeepAlive(&m)
}

func TestThePartsOfAMapGrowOneAfterTheOther(t *testing.T) {
	const n = 200_000
	var m Map[struct{}]
	sizes := map[int]int{}
	for i := range n {
		m.Add(of(i), struct{}{})
	}
	for i := range m.parts {
		sizes[len(m.parts[i].slots)]++
	}
	for size, parts := range sizes {
		assert.Less(t, parts, len(m.parts)/8, "parts that have %d slots", size)
	}
}

func TestFetchChangesNothing(t *testing.T) {
	var m Map[int]
	hs := []Hash{of(1), of(2), {}}
	m.Fetch(hs)
	m.Add(of(1), 7)
	m.Fetch(hs)
	value, ok := m.Get(of(1))
	assert.True(t, ok)
	assert.Equal(t, 7, value)
	_, ok = m.Get(of(2))
	assert.False(t, ok)
}
