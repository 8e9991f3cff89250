package sandbox

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestARequestIsListedWhileItHasWaitedForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes atomic.Int32
		w := &waiting{changed: func() { changes.Add(1) }}
		b := &Sandbox{waiting: w}
		begin := func(path string, took time.Duration) {
			handler := w.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(took) }))
			go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, nil))
		}
		started := time.Now()
		begin("/v1/events/trigger", 5*time.Second)
		begin("/elsewhere", 3*time.Second)
		begin("/v1/events/trigger", listedAfter-1)

		time.Sleep(listedAfter - 1)
		synctest.Wait()
		assert.Empty(t, b.Unanswered())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.ElementsMatch(t, []Unanswered{{"trigger event", started}, {"", started}}, b.Unanswered())
		assert.EqualValues(t, 2, changes.Load(), "a request that ends earlier changes nothing")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, []Unanswered{{"trigger event", started}}, b.Unanswered())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Empty(t, b.Unanswered())
		assert.EqualValues(t, 4, changes.Load())
	})
}

func TestARequestThatEndsWhileItIsAboutToBeListedIsNotListed(t *testing.T) {
	w := &waiting{changed: func() {}}
	request := new(waitingRequest)
	w.remove(request)
	w.add(request)
	assert.Empty(t, (&Sandbox{waiting: w}).Unanswered())
}

func TestARequestWhoseHandlerPanicsIsNoLongerListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiting{changed: func() {}}
		handler := w.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(2 * listedAfter)
			panic(http.ErrAbortHandler) // as a fault does that ends the connection
		}))
		assert.Panics(t, func() { handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)) })
		assert.Empty(t, (&Sandbox{waiting: w}).Unanswered())
	})
}
