package mail_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

func TestAMessageIsFixedIfAPartOfItIsWiderThanEveryPhone(t *testing.T) {
	for message, want := range map[string]bool{
		`<table width="600"><tr><td>Hi</table>`:                                              true,
		`<table width="600px" style="border: 0"><tr><td>Hi</table>`:                          true,
		`<div style="color: red; width: 640px">Hi</div>`:                                     true,
		`<div style="min-width:500px">Hi</div>`:                                              true,
		`<img src="a.png" width=580>`:                                                        true,
		`<table width="320"><tr><td>Hi</table>`:                                              false,
		`<table width="100%"><tr><td>Hi</table>`:                                             false,
		`<table width="600" style="width:100%;max-width:600px"><tr><td>Hi</table>`:           false,
		`<div style="width:100%" width="600">Hi</div>`:                                       false,
		`<!--[if mso]><table width="600"><![endif]--><p>Hi</p>`:                              false,
		`<style>@media (max-width: 480px) { td { width: 100% } }</style><table width="600">`: false,
		"Hi": false, "": false,
	} {
		assert.Equal(t, want, mail.IsFixed(message), message)
	}
}
