package canned

import (
	"fmt"
	"time"
)

// Person is the data of a row. All services use the same data, so that their rows
// have about the same size.
type Person struct {
	FirstName, LastName, Email, Phone string
	Created, Updated, Seen            time.Time
}

// Stamp is the time layout of the services.
const Stamp = "2006-01-02T15:04:05Z"

var (
	firstNames = []string{"Ada", "Grace", "Katherine", "Barbara", "Radia", "Hedy", "Margaret", "Frances", "Adele", "Joan"}
	lastNames  = []string{"Lovelace", "Hopper", "Johnson", "Liskov", "Perlman", "Lamarr", "Hamilton", "Allen", "Goldberg", "Clarke", "Bartik"}
)

// NewPerson returns person i. The first thousand persons differ.
func NewPerson(i int) Person {
	first, last := firstNames[i%len(firstNames)], lastNames[i%len(lastNames)]
	created := time.Date(2024, time.January, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * 7919 * time.Second)
	return Person{
		FirstName: first,
		LastName:  last,
		Email:     fmt.Sprintf("%s.%s.%04d@example.com", first, last, i),
		Phone:     fmt.Sprintf("+3361%07d", i),
		Created:   created,
		Updated:   created.Add(36 * time.Hour),
		Seen:      created.Add(90 * time.Hour),
	}
}
