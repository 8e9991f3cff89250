package main

import "time"

// share does n pieces of work, one at a time in each workspace, and reports them in
// order, each as soon as those before it are done.
func share(workspaces []*workspace, n int, do func(*workspace, int) error, report func(i int, took time.Duration, err error)) {
	type outcome struct {
		took time.Duration
		err  error
	}
	next := make(chan int)
	outcomes := make([]chan outcome, n)
	for i := range outcomes {
		outcomes[i] = make(chan outcome, 1)
	}
	for _, w := range workspaces {
		go func() {
			for i := range next {
				start := time.Now()
				err := do(w, i)
				outcomes[i] <- outcome{time.Since(start), err}
			}
		}()
	}
	go func() {
		defer close(next)
		for i := range n {
			next <- i
		}
	}()
	for i, c := range outcomes {
		done := <-c
		report(i, done.took, done.err)
	}
}
