package measure

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Result is a row with its values of all rounds.
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
	// Budget is the time after which only the first round of an experiment starts.
	// Zero means no limit.
	Budget time.Duration
	// Progress is called before each round, unless it is nil.
	Progress func(done, of int, title string)
}

// turn is one round of one experiment.
type turn struct {
	experiment int
	when       float64 // the position in the run, from 0 to 1
}

// Run runs all experiments. It distributes their rounds evenly over the run, and
// shuffles the variants in each round.
func (r Runner) Run(ctx context.Context, experiments []Experiment) ([]Outcome, error) {
	start := time.Now()
	outcomes := make([]Outcome, len(experiments))
	for i, e := range experiments {
		outcomes[i] = Outcome{Title: e.Title, Matrix: e.Matrix, Results: make([]Result, len(e.Rows))}
		for row := range e.Rows {
			outcomes[i].Results[row].Row = e.Rows[row]
		}
	}
	started := make([]bool, len(experiments))
	turns := r.turns(experiments)
	for done, turn := range turns {
		i := turn.experiment
		if r.Budget > 0 && started[i] && time.Since(start) > r.Budget {
			continue
		}
		started[i] = true
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

// turns distributes the rounds of each experiment over the run. Round k of n is at
// a random position in part k of n equal parts.
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
