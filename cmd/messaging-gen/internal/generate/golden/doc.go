// Package golden tests two generated packages: in one, names are hard to map to Go, and the
// other has parameters of every type.
package golden
