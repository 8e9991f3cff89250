// Package benchmarks compares the SDK with a loop written by hand, with the clients of
// other services, and with the floor, which is the least that fetching the same bytes
// costs. It has benchmarks, and one test for the limits that they must stay within.
// README.md describes them.
package benchmarks
