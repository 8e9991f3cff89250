package messaging_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// silentMetas say neither that a page follows nor that none does. "" is no meta at all.
var silentMetas = []string{"", `null`, `{}`, `[]`, `{"per_page":2}`, `{"has_next_page":null}`, `{"next_page_cursor":null}`,
	`{"has_next_page":null,"next_page_cursor":null}`, `{"next_page_cursor":""}`, `{"has_prev_page":true,"prev_page_cursor":"p"}`}

func inBothPlaces(t *testing.T, test func(t *testing.T, list scripted.List)) {
	t.Helper()
	for _, list := range scripted.Lists() {
		for _, nested := range []bool{false, true} {
			list.Nested = nested
			name := list.Name + ", meta beside the data"
			if nested {
				name = list.Name + ", meta within the data"
			}
			t.Run(name, func(t *testing.T) { test(t, list) })
		}
	}
}

func requirePageError(t *testing.T, err error, cursor, problem string) {
	t.Helper()
	var failure *messaging.PageError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, cursor, failure.Cursor, "the range resumes at the page that failed")
	var unreadable *messaging.DecodeError
	require.ErrorAs(t, err, &unreadable)
	require.ErrorContains(t, err, problem)
}

func TestAPageThatDoesNotSayWhetherOneFollowsEndsNoList(t *testing.T) {
	const problem = "meta has neither has_next_page nor next_page_cursor"
	inBothPlaces(t, func(t *testing.T, list scripted.List) {
		for _, meta := range silentMetas {
			pages := scripted.Pages{"": {Items: []string{"1"}, Meta: scripted.MetaBefore("c2")}, "c2": {Items: []string{"2"}, Meta: meta}}
			client := scripted.NewInMemoryClient(t, scripted.NewListService(list, pages))
			items, err := messaging.Collect(list.All(t.Context(), client, ""))
			requirePageError(t, err, "c2", problem)
			require.Equal(t, []string{"1"}, items)

			_, err = messaging.Collect(list.All(t.Context(), client, "c2"))
			requirePageError(t, err, "c2", problem)
			_, err = list.Page(t.Context(), client, 2, "c2")
			require.ErrorContains(t, err, problem, meta)

			first := scripted.Pages{"": {Items: []string{"1"}, Meta: meta}}
			client = scripted.NewInMemoryClient(t, scripted.NewListService(list, first))
			items, err = messaging.Collect(list.All(t.Context(), client, ""))
			require.NoError(t, err, "a response to a request without a cursor can be all there is")
			require.Equal(t, []string{"1"}, items)
		}
		for _, meta := range []string{scripted.MetaOfLastPage, `{"has_next_page":false}`, `{"has_next_page":false,"next_page_cursor":null}`} {
			pages := scripted.Pages{"c2": {Items: []string{"2"}, Meta: meta}}
			items, err := messaging.Collect(list.All(t.Context(), scripted.NewInMemoryClient(t, scripted.NewListService(list, pages)), "c2"))
			require.NoError(t, err, meta)
			require.Equal(t, []string{"2"}, items)
		}
	})
}

func TestNullInPlaceOfRowsEndsNoList(t *testing.T) {
	inBothPlaces(t, func(t *testing.T, list scripted.List) {
		all := func(pages scripted.Pages, cursor string) ([]string, error) {
			return messaging.Collect(list.All(t.Context(), scripted.NewInMemoryClient(t, scripted.NewListService(list, pages)), cursor))
		}
		null := func(meta string) scripted.Page { return scripted.Page{Rows: "null", Meta: meta} }
		_, err := all(scripted.Pages{"": null(scripted.MetaBefore("c2"))}, "")
		requirePageError(t, err, "", "data is null, and the list goes on")
		var failure *messaging.PageError
		require.True(t, errors.As(err, &failure))
		assert.Equal(t, "c2", failure.Next, "the page can be skipped")

		_, err = all(scripted.Pages{"c2": null(scripted.MetaOfLastPage)}, "c2")
		requirePageError(t, err, "c2", "data is null, and the list goes on")

		items, err := all(scripted.Pages{"": null(`{"has_next_page":false}`)}, "")
		require.NoError(t, err, "an empty list may be null")
		assert.Empty(t, items)
	})
}
