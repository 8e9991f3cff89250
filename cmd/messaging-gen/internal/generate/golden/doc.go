// Package golden tests packages that messaging-gen wrote: names has names that are hard
// to map to Go, and values has parameters of every type.
package golden
