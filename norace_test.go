//go:build !race

package messaging_test

const underRace = false
