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

	"github.com/BurntSushi/toml"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/definitions"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Config is the content of gen.toml. A person writes it, never this program.
type Config struct {
	// Rename has Go names by keys: the name of an event, or the name of an event, a dot,
	// and the name of a parameter. A key that is both names both.
	Rename map[string]string `toml:"rename"`
	// AllowEmpty has the keys of required texts that may be empty.
	AllowEmpty []string `toml:"allow_empty"`
	// Ignore has the names of events that are not pulled.
	Ignore []string `toml:"ignore"`
	// Path is the file, for errors.
	Path string `toml:"-"`
}

// ReadConfig reads the gen.toml beside events.json. It need not exist.
func ReadConfig(eventsJSON string) (Config, error) {
	c := Config{Path: filepath.Join(filepath.Dir(eventsJSON), "gen.toml")}
	text, err := os.ReadFile(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	return c, c.parse(string(text))
}

func (c *Config) parse(text string) error {
	read, err := toml.Decode(text, c)
	if err != nil {
		return fmt.Errorf("%s: %s", c.Path, visible.Text(err.Error()))
	}
	if read.IsDefined("rename") && c.Rename == nil {
		return fmt.Errorf("%s: rename must be a table", c.Path) // which toml.Decode does not report
	}
	for _, key := range read.Undecoded() {
		return fmt.Errorf("%s: unknown key %s; must be allow_empty, ignore or rename", c.Path, visible.Text(key.String()))
	}
	return nil
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
			problems = append(problems, fmt.Errorf("%s: rename: %s is neither an event nor EVENT.PARAMETER", c.Path, visible.Quote(k)))
		}
	}
	for _, k := range c.AllowEmpty {
		if !texts[k] {
			problems = append(problems, fmt.Errorf("%s: allow_empty: %s is not EVENT.PARAMETER of a required text", c.Path, visible.Quote(k)))
		}
	}
	return errors.Join(problems...)
}

// IgnoreLine returns the line of gen.toml that leaves out events when they are pulled.
func (c *Config) IgnoreLine(events []string) string {
	var quoted []string
	for _, name := range slices.Sorted(slices.Values(append(slices.Clone(c.Ignore), events...))) {
		quoted = append(quoted, visible.Quote(name))
	}
	return "ignore = [" + strings.Join(quoted, ", ") + "]"
}
