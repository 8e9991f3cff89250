package benchmarks

import (
	"context"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// openaiPeer is OpenAI's client, which lists files.
var openaiPeer = contender{
	name: "openai-go",
	service: service{
		row: func(p person) string {
			return fmt.Sprintf(`{"id":"file-%s","object":"file","bytes":%d,"created_at":%d,"expires_at":%d,`+
				`"filename":"%s-%s-%s-results-of-the-last-quarter.jsonl",`+
				`"purpose":"assistants_output","status":"processed","status_details":"read to the end, nothing was left out of %s"}`,
				p.number, 120000+p.index, p.created.Unix(), p.seen.Unix(), p.first, p.last, p.phone, p.email)
		},
		frame: func(p page, _ http.Header) (head, tail string) {
			return `{"object":"list","data":[`, fmt.Sprintf(`],"has_more":%t}`, p.hasNext())
		},
		response: `{"id":"vs_1","object":"vector_store","created_at":1704096000,"name":"orders","usage_bytes":0,"status":"completed",` +
			`"file_counts":{"in_progress":0,"completed":0,"failed":0,"cancelled":0,"total":0},"last_active_at":1704096000,"metadata":{}}`,
		status: http.StatusOK,
	},
	connect: func(base string) (client, error) {
		return openaiClient{openai.NewClient(option.WithBaseURL(base), option.WithAPIKey("key"))}, nil
	},
}

type openaiClient struct{ openai.Client }

func (c openaiClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	pager := c.Files.ListAutoPaging(ctx, openai.FileListParams{Limit: openai.Int(int64(perPage))})
	for pager.Next() {
		_ = pager.Current()
		rows++
	}
	return rows, pager.Err()
}

func (c openaiClient) call(ctx context.Context) error {
	_, err := c.VectorStores.New(ctx, openai.VectorStoreNewParams{Name: openai.String("orders")})
	return err
}
