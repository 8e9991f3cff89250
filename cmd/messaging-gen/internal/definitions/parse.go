package definitions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/strictjson"
)

// Read reads and parses an events.json.
func Read(path string) (List, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; write it with: messaging-gen pull --to %s", err, path)
	}
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse parses the content of events.json, in any order and any layout. The text of the
// error has a line for each problem, which begins with the name of the file.
func Parse(name string, data []byte) (List, error) {
	var read file
	if err := strictjson.Decode(data, &read); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if read.Events == nil {
		return nil, fmt.Errorf("%s: events are required; write [] for none", name)
	}
	var all []error
	first := make(map[string]int) // positions of names, from 1
	for i, event := range read.Events {
		called, problems := fmt.Sprintf("event %q", event.Name), event.flaws()
		if event.Name == "" {
			called = fmt.Sprintf("event %d", i+1)
		} else if first[event.Name] > 0 {
			problems = append(problems, fmt.Sprintf("is defined several times, as event %d and as event %d of the file", first[event.Name], i+1))
		}
		for _, problem := range problems {
			all = append(all, fmt.Errorf("%s: %s: %s", name, called, problem))
		}
		first[event.Name] = i + 1
	}
	read.Events.sort()
	return read.Events, errors.Join(all...)
}
