package peers

import (
	"context"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// OpenAI is OpenAI's client, which lists files.
var OpenAI = Peer{
	Name: "openai-go",
	New:  newOpenAI,
	Service: canned.Service{
		Format: openaiFormat,
		Response: `{"id":"vs_1","object":"vector_store","created_at":1704096000,"name":"orders","usage_bytes":0,"status":"completed",` +
			`"file_counts":{"in_progress":0,"completed":0,"failed":0,"cancelled":0,"total":0},"last_active_at":1704096000,"metadata":{}}`,
		Status: http.StatusOK,
	},
	Sends: Request{"/vector_stores", applicationJSON, `{"name":"orders"}`},
}

var openaiFormat = canned.Format{
	Row: func(i int) string {
		p := canned.NewPerson(i)
		return fmt.Sprintf(`{"id":"file-%s","object":"file","bytes":%d,"created_at":%d,"expires_at":%d,`+
			`"filename":"%s-%s-%s-results-of-the-last-quarter.jsonl",`+
			`"purpose":"assistants_output","status":"processed","status_details":"read to the end, nothing was left out of %s"}`,
			canned.Number, 120000+i, p.Created.Unix(), p.Seen.Unix(), p.FirstName, p.LastName, p.Phone, p.Email)
	},
	Frame: func(p canned.Page, _ http.Header) (head, tail string) {
		return `{"object":"list","data":[`, fmt.Sprintf(`],"has_more":%t}`, p.Next().Exists())
	},
	Ask: canned.AskAfter("after"),
	Path: func(p canned.Page) string {
		path := fmt.Sprintf("/files?limit=%d", p.PerPage)
		if p.From > 0 {
			path += fmt.Sprintf("&after=file-%d", canned.NumberOf(p.From-1))
		}
		return path
	},
}

type openaiClient struct{ client openai.Client }

func newOpenAI(base string) (Client, error) {
	return openaiClient{openai.NewClient(option.WithBaseURL(base), option.WithAPIKey("key"))}, nil
}

func (c openaiClient) Walk(ctx context.Context, perPage int) (rows int, err error) {
	pager := c.client.Files.ListAutoPaging(ctx, openai.FileListParams{Limit: openai.Int(int64(perPage))})
	for pager.Next() {
		_ = pager.Current()
		rows++
	}
	return rows, pager.Err()
}

func (c openaiClient) Call(ctx context.Context) error {
	_, err := c.client.VectorStores.New(ctx, openai.VectorStoreNewParams{Name: openai.String("orders")})
	return err
}
