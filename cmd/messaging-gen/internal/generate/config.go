package generate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/definitions"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/strictjson"
)

// Config is the content of gen.json. A person writes it, never this program.
type Config struct {
	// AllowEmpty has the keys of required texts that may be empty.
	AllowEmpty []string `json:"allow_empty"`
	// Ignore has the names of events that are not pulled.
	Ignore []string `json:"ignore"`
	// Rename has Go names by keys: the name of an event, or the name of an event, a dot,
	// and the name of a parameter. A key that is both names both.
	Rename map[string]string `json:"rename"`

	path string // of the file, for errors
}

// ReadConfig reads the gen.json beside events.json. It need not exist.
func ReadConfig(eventsJSON string) (Config, error) {
	c := Config{path: filepath.Join(filepath.Dir(eventsJSON), "gen.json")}
	data, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if err := strictjson.Decode(data, &c); err != nil {
		return c, fmt.Errorf("%s: %w", c.path, err)
	}
	return c, nil
}

// check returns an error for keys that match nothing, such as a misspelled one.
func (c *Config) check(list definitions.List) error {
	names, texts := make(map[string]bool), make(map[string]bool)
	for _, event := range list {
		names[event.Name] = true
		for _, p := range event.Parameters {
			names[key(event.Name, p.Name)] = hasField(p)
			texts[key(event.Name, p.Name)] = hasField(p) && p.Required && p.Type == messaging.ParameterText
		}
	}
	var problems []error
	for _, k := range slices.Sorted(maps.Keys(c.Rename)) {
		if !names[k] {
			problems = append(problems, fmt.Errorf("%s: rename: %q is neither an event nor EVENT.PARAMETER", c.path, k))
		}
	}
	for _, k := range c.AllowEmpty {
		if !texts[k] {
			problems = append(problems, fmt.Errorf("%s: allow_empty: %q is not EVENT.PARAMETER of a required text", c.path, k))
		}
	}
	return errors.Join(problems...)
}

// Ignoring returns what to write in gen.json, so that events are left out when they are pulled.
func (c *Config) Ignoring(events []string) string {
	all := slices.Sorted(slices.Values(append(slices.Clone(c.Ignore), events...)))
	return "write in " + c.path + ":\n\"ignore\": " + strings.TrimSpace(strictjson.Encode(all))
}

// renaming returns an error that says what to write in gen.json, so that the problems are gone.
func (c *Config) renaming(problems []problem) error {
	text, all := "", make(map[string]string)
	maps.Copy(all, c.Rename)
	for _, p := range problems {
		text += p.reason + "\n"
		all[p.key] = p.suggestion
	}
	return fmt.Errorf("%swrite in %s, with names of your choice:\n\"rename\": %s", text, c.path, strings.TrimSpace(strictjson.Encode(all)))
}
