package measure

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Result is a row with its value in every round.
type Result struct {
	Row
	Values []float64
}

// Outcome holds the results of one experiment, in the order of its rows.
type Outcome struct {
	Title   string
	Matrix  bool
	Results []Result
}

// Runner runs experiments.
type Runner struct {
	Random *rand.Rand
	// Budget is after how long no further round is begun, except the first of an
	// experiment. Zero stands for no budget.
	Budget time.Duration
	// Progress is told what begins.
	Progress func(done, of int, title string)
}

// turn is one round of one experiment.
type turn struct {
	experiment int
	when       float64 // between the start and the end of the run, 0 to 1
}

// Run runs all experiments, their rounds scattered evenly over the whole run and
// their variants in a new order in each round.
func (r Runner) Run(ctx context.Context, experiments []Experiment) ([]Outcome, error) {
	start := time.Now()
	outcomes := make([]Outcome, len(experiments))
	for i, e := range experiments {
		outcomes[i] = Outcome{Title: e.Title, Matrix: e.Matrix, Results: make([]Result, len(e.Rows))}
		for row := range e.Rows {
			outcomes[i].Results[row].Row = e.Rows[row]
		}
	}
	begun := make([]bool, len(experiments))
	turns := r.turns(experiments)
	for done, turn := range turns {
		i := turn.experiment
		if r.Budget > 0 && begun[i] && time.Since(start) > r.Budget {
			continue
		}
		begun[i] = true
		if r.Progress != nil {
			r.Progress(done, len(turns), experiments[i].Title)
		}
		round, err := r.round(ctx, experiments[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", experiments[i].Title, err)
		}
		for row := range outcomes[i].Results {
			result := &outcomes[i].Results[row]
			result.Values = append(result.Values, result.Value(round))
		}
	}
	return outcomes, nil
}

// turns spreads the rounds of each experiment over the run: the k-th of n falls,
// at random, into the k-th n-th of it.
func (r Runner) turns(experiments []Experiment) []turn {
	var turns []turn
	for i, e := range experiments {
		for k := range e.Rounds {
			turns = append(turns, turn{i, (float64(k) + r.Random.Float64()) / float64(e.Rounds)})
		}
	}
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.when, b.when) })
	return turns
}

// round runs every variant once, in random order.
func (r Runner) round(ctx context.Context, e Experiment) (Round, error) {
	samples := make(Round, len(e.Variants))
	for _, i := range r.Random.Perm(len(e.Variants)) {
		variant := e.Variants[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sample, err := variant.Run(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variant.Name, err)
		}
		samples[variant.Name] = sample
	}
	return samples, nil
}
