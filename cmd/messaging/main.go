// Command messaging works with a messaging and events service from the command
// line. Its sandbox is the service in memory, with an inspector in the browser.
package main

import (
	"os"
	_ "time/tzdata" // for containers and Windows, which have no time zones

	"github.com/messaging-go/messaging/cmd/messaging/internal/cli"
)

func main() { os.Exit(cli.Main()) }
