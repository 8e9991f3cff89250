package benchmarks

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/digitalocean/godo"
)

// godoPeer is DigitalOcean's client, which lists projects.
var godoPeer = contender{
	name: "godo",
	service: service{
		row: godoRow,
		frame: func(p page, _ http.Header) (head, tail string) {
			links := ""
			if p.from > 0 {
				links = fmt.Sprintf(`"prev":"%s/v2/projects?page=%d&per_page=%d",`, p.base, p.number()-1, p.perPage)
			}
			if p.hasNext() {
				links += fmt.Sprintf(`"next":"%s/v2/projects?page=%d&per_page=%d",`, p.base, p.number()+1, p.perPage)
			}
			return `{"projects":[`, fmt.Sprintf(`],"links":{"pages":{%s}},"meta":{"total":%d}}`, strings.TrimSuffix(links, ","), p.total)
		},
		response: `{"project":` + godoRow(newPerson(0)) + `}`,
		status:   http.StatusCreated,
	},
	connect: func(base string) (client, error) {
		client, err := godo.New(nil, godo.SetBaseURL(base+"/"))
		return godoClient{client}, err
	},
}

func godoRow(p person) string {
	return fmt.Sprintf(`{"id":"4e1bfbc3-dc3e-41f2-a18f-%s","owner_uuid":"99525febec065ca37b2ffe4f852fd2b2581895e7","owner_id":%d,`+
		`"name":"%s","description":"%s","purpose":"Web Application","environment":"Production","is_default":false,`+
		`"created_at":"%s","updated_at":"%s"}`,
		p.number, 250000+p.index, p.last, p.email, p.created.Format(stamp), p.updated.Format(stamp))
}

type godoClient struct{ *godo.Client }

func (c godoClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	options := &godo.ListOptions{PerPage: perPage}
	for {
		projects, resp, err := c.Projects.List(ctx, options)
		if err != nil {
			return rows, err
		}
		rows += len(projects)
		if resp.Links == nil || resp.Links.IsLastPage() {
			return rows, nil
		}
		page, err := resp.Links.CurrentPage()
		if err != nil {
			return rows, err
		}
		options.Page = page + 1
	}
}

func (c godoClient) call(ctx context.Context) error {
	_, _, err := c.Projects.Create(ctx, &godo.CreateProjectRequest{Name: "Orders",
		Description: "Everything about orders", Purpose: "Web Application", Environment: "Production"})
	return err
}
