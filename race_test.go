//go:build race

package messaging_test

// underRace tells that sync.Pool forgets at random, so that allocations can't be
// counted.
const underRace = true
