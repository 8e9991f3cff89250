package benchmarks

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// gitlabPeer is GitLab's client, which lists milestones. Like the SDK, it is built on go-retryablehttp.
var gitlabPeer = contender{
	name: "gitlab",
	service: service{
		row: gitlabRow,
		frame: func(p page, header http.Header) (head, tail string) {
			header.Set("X-Page", strconv.Itoa(p.number()))
			header.Set("X-Per-Page", strconv.Itoa(p.perPage))
			header.Set("X-Next-Page", "")
			if p.hasNext() {
				header.Set("X-Next-Page", strconv.Itoa(p.number()+1))
			}
			return `[`, `]`
		},
		response: gitlabRow(newPerson(0)),
		status:   http.StatusCreated,
	},
	connect: func(base string) (client, error) {
		client, err := gitlab.NewClient("token", gitlab.WithBaseURL(base))
		return gitlabClient{client}, err
	},
}

func gitlabRow(p person) string {
	return fmt.Sprintf(`{"id":%s,"iid":%d,"project_id":16,"title":"%s","description":"%s","state":"active",`+
		`"created_at":"%s","updated_at":"%s","due_date":"%s","start_date":"%s","expired":false,`+
		`"web_url":"https://gitlab.example.com/group/project/-/milestones/%d"}`,
		p.number, p.index, p.last, p.email, p.created.Format(stamp), p.updated.Format(stamp),
		p.seen.Format("2006-01-02"), p.created.Format("2006-01-02"), p.index)
}

type gitlabClient struct{ *gitlab.Client }

func (c gitlabClient) walk(ctx context.Context, perPage int) (rows int, err error) {
	options := &gitlab.ListMilestonesOptions{ListOptions: gitlab.ListOptions{PerPage: int64(perPage)}}
	return count(gitlab.Scan2(func(page gitlab.PaginationOptionFunc) ([]*gitlab.Milestone, *gitlab.Response, error) {
		return c.Milestones.ListMilestones(1, options, page, gitlab.WithContext(ctx))
	}))
}

func (c gitlabClient) call(ctx context.Context) error {
	_, _, err := c.Milestones.CreateMilestone(1, &gitlab.CreateMilestoneOptions{
		Title: gitlab.Ptr("Orders"), Description: gitlab.Ptr("Everything about orders")}, gitlab.WithContext(ctx))
	return err
}
