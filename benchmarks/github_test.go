package benchmarks

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/go-github/v89/github"
)

// githubPeer is go-github, which lists milestones.
var githubPeer = contender{
	name: "go-github",
	service: service{
		row: githubRow,
		frame: func(p page, header http.Header) (head, tail string) {
			if p.hasNext() {
				url := p.base + "/repos/acme/orders/milestones"
				header.Set("Link", fmt.Sprintf(`<%s?page=%d&per_page=%d>; rel="next", <%s?page=%d&per_page=%d>; rel="last"`,
					url, p.number()+1, p.perPage, url, p.last(), p.perPage))
			}
			return `[`, `]`
		},
		response: githubRow(newPerson(0)),
		status:   http.StatusCreated,
	},
	connect: func(base string) (client, error) {
		client, err := github.NewClient(github.WithURLs(github.Ptr(base+"/"), nil))
		return githubClient{client}, err
	},
}

func githubRow(p person) string {
	return fmt.Sprintf(`{"url":"https://api.github.example.com/repos/acme/orders/milestones/%d","id":%s,"number":%d,"state":"open",`+
		`"title":"%s","description":"%s","created_at":"%s","updated_at":"%s","due_on":"%s"}`,
		p.index, p.number, p.index, p.last, p.email, p.created.Format(stamp), p.updated.Format(stamp), p.seen.Format(stamp))
}

type githubClient struct{ *github.Client }

func (c githubClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	options := &github.MilestoneListOptions{ListOptions: github.ListOptions{PerPage: perPage}}
	return count(c.Issues.ListMilestonesIter(ctx, "acme", "orders", options))
}

func (c githubClient) call(ctx context.Context) error {
	_, _, err := c.Issues.CreateMilestone(ctx, "acme", "orders",
		&github.Milestone{Title: github.Ptr("Orders"), Description: github.Ptr("Everything about orders")})
	return err
}
