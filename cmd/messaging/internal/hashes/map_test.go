package hashes

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAMapKeepsTheFirstValueOfEachHash(t *testing.T) {
	const n = 20_000
	var m Map[int]
	for i := range n {
		_, added := m.Add(Of(strconv.Itoa(i)), i)
		assert.True(t, added, i)
	}
	for i := range n {
		earlier, added := m.Add(Of(strconv.Itoa(i)), -1)
		assert.False(t, added, i)
		assert.Equal(t, i, earlier)
		value, ok := m.Get(Of(strconv.Itoa(i)))
		assert.True(t, ok, i)
		assert.Equal(t, i, value)
		_, ok = m.Get(Of("-" + strconv.Itoa(i)))
		assert.False(t, ok, i)
	}
}

func TestAnEmptyMapHasNoHash(t *testing.T) {
	var m Map[int]
	_, ok := m.Get(Of("a"))
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
		m.Add(Of(strconv.FormatUint(i, 10)), struct{}{})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, after.HeapAlloc-before.HeapAlloc, uint64(limit))
	runtime.KeepAlive(&m)
}
