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
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
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
	// Odd are what can be used, but looks like a mistake.
	Odd []error

	lines         []int          // of each customer
	byID, byEmail map[string]int // positions of customers
	bySpelling    map[string]int // by the letters and digits of the id
}

// shownProblems is how many bad rows an error lists.
const shownProblems = 10

// Read reads a file, or stdin if path is "-". Rows that cannot be used are an error, unless
// skipBad is true. A file without a customer is an error.
func Read(path string, stdin io.Reader, skipBad bool) (*List, error) {
	list := &List{Name: path, byID: make(map[string]int), byEmail: make(map[string]int), bySpelling: make(map[string]int)}
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
	list.oddShapes()
	list.oddMixture()
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
	_, has := l.byEmail[lowerASCII(email)]
	return has && email != ""
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

// odd notes a value that looks like a mistake.
func (l *List) odd(line int, field, value, why string) {
	l.Odd = append(l.Odd, fmt.Errorf("%s: line %d: %s %s %s", l.Name, line, field, oddity.Quote(value), why))
}

// add adds a customer, unless an earlier row has the same one.
func (l *List) add(line int, c messaging.CustomerParams) {
	if problem := problemOf(c); problem != "" {
		l.bad(line, problem)
		return
	}
	email := lowerASCII(c.Email)
	l.noteTwoAsOne(line, c, email)
	for _, key := range []struct {
		name  string
		value string
		seen  map[string]int
	}{{"customer_id", c.CustomerID, l.byID}, {"email", email, l.byEmail}} {
		i, ok := key.seen[key.value]
		if key.value == "" || !ok {
			continue
		}
		if first := l.Customers[i]; differ(first.CustomerID, c.CustomerID) || differ(lowerASCII(first.Email), email) {
			l.bad(line, fmt.Sprintf("has the %s of line %d, but is another customer", key.name, l.lines[i]))
			return
		}
		l.Duplicates++
		return
	}
	if field, value, why := oddityOf(c); why != "" {
		l.odd(line, field, value, why)
	}
	l.noteSpelling(line, "customer_id", c.CustomerID, alike.Fold(c.CustomerID))
	l.noteSpelling(line, "email", c.Email, "@"+alike.Address(c.Email)) // no folded id has an @
	l.byID[c.CustomerID], l.byEmail[email] = len(l.Customers), len(l.Customers)
	l.Customers, l.lines = append(l.Customers, c), append(l.lines, line)
}

// noteSpelling notes a value that another row has in another spelling.
func (l *List) noteSpelling(line int, field, value, spelling string) {
	if value == "" {
		return
	}
	if i, ok := l.bySpelling[spelling]; ok {
		l.odd(line, field, value, fmt.Sprintf("differs from that of line %d only in its spelling", l.lines[i]))
	}
	l.bySpelling[spelling] = len(l.Customers)
}

// noteTwoAsOne notes a row that shows that two customers of earlier rows are one.
func (l *List) noteTwoAsOne(line int, c messaging.CustomerParams, email string) {
	first, hasID := l.byID[c.CustomerID]
	second, hasEmail := l.byEmail[email]
	if hasID && hasEmail && first != second && c.CustomerID != "" && email != "" {
		l.odd(line, "customer_id", c.CustomerID, fmt.Sprintf("shows that lines %d and %d are the same customer, who gets it twice",
			l.lines[first], l.lines[second]))
	}
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// lowerASCII lowers the letters in which the service sees no difference.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
