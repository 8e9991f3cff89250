// Package recipients reads the customers of a broadcast from a CSV or a JSON Lines file.
package recipients

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// List is the customers of a file.
type List struct {
	// Name is the name of the file, for people.
	Name      string
	Customers []messaging.CustomerParams
	// Duplicates is the number of rows that repeat a customer of an earlier row.
	Duplicates int
	// Bad are the problems of the rows that cannot be used.
	Bad []error

	seen      map[[2]string]bool // ids and addresses
	addresses map[string]bool
}

// shownProblems is how many bad rows an error lists.
const shownProblems = 10

// Read reads a file, or stdin if path is "-". Rows that cannot be used are an error, unless
// skipBad is true. A file without a customer is an error.
func Read(path string, stdin io.Reader, skipBad bool) (*List, error) {
	list := &List{Name: path, seen: make(map[[2]string]bool), addresses: make(map[string]bool)}
	in := stdin
	if path == "-" {
		list.Name = "stdin"
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, exit.With(exit.Usage, "%w", err)
		}
		defer file.Close()
		in = file
	}
	if err := list.read(path, in); err != nil {
		return nil, exit.With(exit.Usage, "%s: %w", list.Name, err)
	}
	switch {
	case len(list.Bad) > 0 && !skipBad:
		return nil, exit.With(exit.Usage, "%s cannot be used:\n%s\nfix the file, or pass --skip-bad-rows",
			words.Count(len(list.Bad), "row"), First(list.Bad))
	case len(list.Customers) == 0:
		return nil, exit.With(exit.Usage, "%s has no customer that can be used", list.Name)
	}
	return list, nil
}

// First lists the first problems of rows.
func First(problems []error) string {
	var b strings.Builder
	for i, problem := range problems {
		if i == shownProblems {
			fmt.Fprintf(&b, "\nand %s more", words.Thousands(len(problems)-i))
			break
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(problem.Error())
	}
	return b.String()
}

// Has reports whether a customer of the list has this address.
func (l *List) Has(email string) bool {
	return email != "" && l.addresses[LowerASCII(email)]
}

// read reads the rows in the format that the name or, for stdin and pipes, the first character shows.
func (l *List) read(path string, in io.Reader) error {
	buffered := bufio.NewReader(in)
	start, _ := buffered.Peek(3) // an error comes again when it is read
	if err := rows.CheckEncoding(start); err != nil {
		return err
	}
	if string(start) == "\ufeff" {
		_, _ = buffered.Discard(3) // it was peeked
	}
	extension := strings.ToLower(filepath.Ext(path))
	if path == "-" || strings.HasPrefix(path, "/dev/fd/") { // of <(command)
		extension = ".csv"
		if start, _ := buffered.Peek(1); string(start) == "{" {
			extension = ".jsonl"
		}
	}
	switch extension {
	case ".csv":
		return l.readCSV(buffered)
	case ".jsonl", ".ndjson":
		return l.readLines(buffered)
	}
	return fmt.Errorf("the name must end in .csv or .jsonl")
}

// bad notes a row that cannot be used.
func (l *List) bad(line int, problem string) {
	l.Bad = append(l.Bad, fmt.Errorf("%s: line %d: %s", l.Name, line, problem))
}

// add adds a customer, unless an earlier row has the same id and the same address.
func (l *List) add(line int, c messaging.CustomerParams) {
	if problem := problemOf(c); problem != "" {
		l.bad(line, problem)
		return
	}
	key := [2]string{c.CustomerID, LowerASCII(c.Email)}
	if l.seen[key] {
		l.Duplicates++
		return
	}
	l.seen[key] = true
	l.addresses[key[1]] = true
	l.Customers = append(l.Customers, c)
}

// LowerASCII lowers the letters in which the service sees no difference.
func LowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
