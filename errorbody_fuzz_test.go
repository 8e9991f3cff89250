package messaging_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

func FuzzErrorBody(f *testing.F) {
	seeds := []string{
		"", "null", "[]", "{}", "42", `"Invalid."`, "Invalid.", "<html>", "\x1f\x8b\x08", "\xff\xfe{", "\uFEFF{}",
		`{"code":1,"message":"Invalid.","errors":{"a.0.b":["x","y"],"c":{"message":"z"}}}`,
		`{"errors":[{"field":"a","message":"x"},{"loc":["b",0],"msg":"y"},{"source":{"pointer":"/c"},"detail":"z"}]}`,
		`{"error":{"message":"Invalid.","details":[{"name":"a","reason":"x"}]},"data":{"b":["y"]}}`,
		`{"title":"Invalid.","detail":"x","invalid-params":[null,true,1,"y",[["z"]]]}`,
		`{"errors":{"a":["\u0000\u001b[31m\ud800","` + "\xe9" + `"]`,
		strings.Repeat(`{"errors":[`, 200), strings.Repeat(`["a",`, 200), `{"a":` + strings.Repeat("9", 400) + `}`,
	}
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var answer *messaging.APIError
		require.ErrorAs(t, failureOf(t, sendBroadcast, answers(422, string(body))), &answer)
		require.Equal(t, string(body[:min(len(body), maxKeptBody)]), string(answer.Body))
		require.True(t, utf8.ValidString(answer.Code))
		require.True(t, utf8.ValidString(answer.Message))
		for _, field := range answer.Fields {
			require.True(t, utf8.ValidString(field.Field))
			require.NotEmpty(t, field.Field, "what is not about a field belongs into the message")
			require.NotEmpty(t, field.Messages)
			for _, message := range field.Messages {
				require.True(t, utf8.ValidString(message))
				require.NotEmpty(t, message)
			}
		}
		requireOneShortLine(t, answer, "send email broadcast: 422 Unprocessable Entity", "; it was refused")
	})
}
