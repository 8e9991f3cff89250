// Command benchmarks measures the cost of the SDK. It compares the SDK with a
// loop written by hand, with other clients, and with the floor, which is the
// minimum cost of fetching the same bytes. README.md describes the measurements
// and how to read them.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/report"
)

func main() {
	if isServer() {
		exit(serve())
	}
	exit(run(parseSettings(os.Args[1:])))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// settings holds the command-line flags.
type settings struct {
	quick, gate bool
	out         string
	only        *regexp.Regexp // the experiments to run, by title
}

func parseSettings(arguments []string) settings {
	s := settings{only: regexp.MustCompile("")}
	flags := flag.NewFlagSet("benchmarks", flag.ExitOnError)
	flags.BoolVar(&s.quick, "quick", false, "do less work, in about a minute; implies -gate=false")
	flags.BoolVar(&s.gate, "gate", true, "exit with status 1 if a limit is missed")
	flags.Func("run", "run only the experiments whose title matches this regular expression", func(expression string) (err error) {
		s.only, err = regexp.Compile(expression)
		return err
	})
	flags.StringVar(&s.out, "out", "", "file to write the report to")
	_ = flags.Parse(arguments)
	if s.quick {
		s.gate = false
	}
	return s
}

// timeout bounds the run on machines that are too slow for it.
const timeout = 30 * time.Minute

func run(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	scale := fullScale
	if s.quick {
		scale = quickScale
	}
	stage, err := newStage(ctx, scale)
	if err != nil {
		return err
	}
	defer stage.close()
	experiments, err := allExperiments(stage)
	if err != nil {
		return err
	}
	experiments = slices.DeleteFunc(experiments, func(e measure.Experiment) bool { return !s.only.MatchString(e.Title) })
	runner := measure.Runner{Random: newRandom(), Budget: scale.budget, Progress: progress}
	outcomes, err := runner.Run(ctx, experiments)
	if err != nil {
		return err
	}
	fmt.Fprint(os.Stderr, "\n")
	return conclude(s, outcomes)
}

// allExperiments returns all experiments in the order of the report.
func allExperiments(s *stage) ([]measure.Experiment, error) {
	var all []measure.Experiment
	for _, build := range []func(*stage) ([]measure.Experiment, error){
		iterating, peakMemory, readingAhead, triggering, inFlight, preparing, failing, comparing,
	} {
		experiments, err := build(s)
		if err != nil {
			return nil, err
		}
		all = append(all, experiments...)
	}
	return all, nil
}

// newRandom returns a random source with a different seed for each run.
func newRandom() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// progress shows the current experiment on one line, if standard error is a
// terminal.
func progress(done, of int, title string) {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%d of %d: %s", done+1, of, title)
	}
}

// conclude prints the report, and writes it to the file of the settings. It returns an error
// if a limit is missed and the settings require the limits.
func conclude(s settings, outcomes []measure.Outcome) error {
	text := report.Markdown(s.quick, outcomes)
	fmt.Print(text)
	if s.out != "" {
		if err := os.WriteFile(s.out, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if missed := report.Missed(outcomes); missed > 0 && s.gate {
		return fmt.Errorf("%d limits missed", missed)
	}
	return nil
}
