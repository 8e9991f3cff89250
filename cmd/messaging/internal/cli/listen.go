package cli

import (
	"cmp"
	"errors"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

const loopback = "127.0.0.1"

// tokenToListen returns the token for an address that other machines reach, "" for the
// loopback address. A token that it makes is printed once.
func tokenToListen(cmd *cobra.Command, flags sandboxFlags) (string, error) {
	switch {
	case flags.listen == "" && flags.tokenFile != "":
		return "", exit.With(exit.Usage, "--token-file has no effect without --listen")
	case flags.listen == "":
		return "", nil
	case net.ParseIP(flags.listen) == nil:
		return "", exit.With(exit.Usage, "--listen must be an IP address such as 0.0.0.0, without a port; --api-port and --ui-port set the ports")
	}
	token, err := readToken(flags.tokenFile)
	if err != nil {
		return "", err
	}
	cmd.PrintErrln("--listen: there is no encryption; use it only in a private network")
	if token == "" {
		token = newToken()
		cmd.PrintErrf("token      %s\n", token)
	}
	return token, nil
}

// listenTwice listens for the service and for the inspector.
func listenTwice(flags sandboxFlags) (api, ui net.Listener, err error) {
	host := cmp.Or(flags.listen, loopback)
	if api, err = listen("--api-port", host, flags.apiPort); err != nil {
		return nil, nil, err
	}
	if ui, err = listen("--ui-port", host, flags.uiPort); err != nil {
		return nil, nil, errors.Join(err, api.Close())
	}
	return api, ui, nil
}

// listen listens on a port. A port that is taken is an error: on the next port, programs would keep using the other sandbox.
func listen(flag, host string, port int) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, exit.With(exit.Unexpected, "%w; pass %s to choose another port, or 0 for any free one", err, flag)
	}
	return listener, nil
}

// urlOf returns the URL of an address, as this machine reaches it.
func urlOf(address net.Addr) string {
	host, port, _ := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = loopback
	}
	return "http://" + net.JoinHostPort(host, port)
}
