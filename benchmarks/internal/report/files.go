package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// Table is the name of the file that contains the table of the README.
const Table = "table.md"

// Write writes results.json, the table and the charts to a directory. It creates
// the directory if necessary.
func Write(directory string, quick bool, outcomes []measure.Outcome) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(newFile(quick, outcomes), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(directory, "results.json"), append(encoded, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(directory, Table), []byte(Markdown(outcomes)), 0o644); err != nil {
		return err
	}
	for _, o := range outcomes {
		if err := writeChart(directory, o); err != nil {
			return fmt.Errorf("chart of %s: %w", o.Title, err)
		}
	}
	return nil
}

// file is the content of results.json.
type file struct {
	Quick   bool              `json:"quick"`
	Go      string            `json:"go"`
	System  string            `json:"system"`
	Cores   int               `json:"cores"`
	Modules map[string]string `json:"modules"`
	Rows    []row             `json:"rows"`
}

type row struct {
	Experiment string    `json:"experiment"`
	Subject    string    `json:"subject,omitempty"`
	Measure    string    `json:"measure"`
	Unit       string    `json:"unit,omitempty"`
	Limit      *limit    `json:"limit,omitempty"`
	Median     float64   `json:"median"`
	Rounds     []float64 `json:"rounds"`
}

type limit struct {
	Must string  `json:"must"`
	Aim  float64 `json:"aim"`
	OK   bool    `json:"ok"`
}

func newFile(quick bool, outcomes []measure.Outcome) file {
	f := file{Quick: quick, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Modules: modules()}
	for _, o := range outcomes {
		for _, r := range o.Results {
			written := row{Experiment: o.Title, Subject: r.Subject, Measure: r.Measure, Unit: r.Unit, Median: r.Median(), Rounds: r.Values}
			if r.Limit.Applies() {
				written.Limit = &limit{r.Limit.Sign() + " " + number(r.Limit.Must()), r.Limit.Aim(), !r.Missed()}
			}
			f.Rows = append(f.Rows, written)
		}
	}
	return f
}

// modules returns the versions of all dependencies of this program.
func modules() map[string]string {
	versions := make(map[string]string)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			versions[module.Path] = module.Version
		}
	}
	return versions
}
