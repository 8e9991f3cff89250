package faultserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Streams speaks HTTP/2 on the connection, and plays the steps for each request,
// all requests at the same time. A step that fails ends the request alone; Close
// and Reset end the connection.
func Streams(steps ...Step) Step {
	return func(c *Connection) error {
		if _, err := io.CopyN(io.Discard, c.net, int64(len(http2.ClientPreface))); err != nil {
			return err
		}
		alive, end := context.WithCancel(context.Background())
		defer end()
		s := &streams{connection: c, script: steps, alive: alive, open: map[uint32]*stream{}, framer: http2.NewFramer(c.net, c.net)}
		s.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		err := s.write(func(f *http2.Framer) error { return f.WriteSettings() })
		for err == nil {
			var frame http2.Frame
			if frame, err = s.framer.ReadFrame(); err == nil {
				err = s.handle(frame)
			}
		}
		return err
	}
}

// streams is a connection that carries many requests at once.
type streams struct {
	connection *Connection
	script     Script
	alive      context.Context // until the connection ends
	open       map[uint32]*stream

	mu     sync.Mutex // for writing
	framer *http2.Framer
}

// stream is one of these requests.
type stream struct {
	*streams
	id      uint32
	request Request
	alive   context.Context // until the client resets the stream, or the connection ends
	end     context.CancelFunc
}

func (s *streams) write(frames func(*http2.Framer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return frames(s.framer)
}

func (s *streams) handle(frame http2.Frame) error {
	stream := s.open[frame.Header().StreamID]
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return s.write((*http2.Framer).WriteSettingsAck)
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			return s.write(func(f *http2.Framer) error { return f.WritePing(true, frame.Data) })
		}
	case *http2.RSTStreamFrame:
		if stream != nil {
			stream.end()
		}
	case *http2.MetaHeadersFrame:
		stream = s.begin(frame)
		s.open[stream.id] = stream
		if frame.StreamEnded() {
			stream.play()
		}
	case *http2.DataFrame:
		if stream != nil {
			stream.request.Body = append(stream.request.Body, frame.Data()...)
			if frame.StreamEnded() {
				stream.play()
			}
		}
		if length := frame.Header().Length; length > 0 { // lets the client send more
			return s.write(func(f *http2.Framer) error { return f.WriteWindowUpdate(0, length) })
		}
	}
	return nil
}

func (s *streams) begin(frame *http2.MetaHeadersFrame) *stream {
	begun := &stream{streams: s, id: frame.StreamID}
	begun.alive, begun.end = context.WithCancel(s.alive)
	begun.request = Request{Method: frame.PseudoValue("method"), Target: frame.PseudoValue("path"), Header: http.Header{}}
	for _, field := range frame.RegularFields() {
		begun.request.Header.Add(field.Name, field.Value)
	}
	return begun
}

// play plays the script for a request that has arrived.
func (s *stream) play() {
	c := s.connection
	c.server.running.Go(func() { s.script.play(&Connection{server: c.server, net: c.net, stream: s}) })
}

// respond writes a response, without its end where it is not complete.
func (s *stream) respond(status int, body string, headers []string, complete bool) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	field := func(name, value string) error {
		return encoder.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: true}) // which is never indexed
	}
	err := field(":status", strconv.Itoa(status))
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		err = errors.Join(err, field(strings.ToLower(name), value))
	}
	if err != nil {
		return err
	}
	return s.write(func(f *http2.Framer) error {
		head := http2.HeadersFrameParam{StreamID: s.id, BlockFragment: block.Bytes(), EndHeaders: true}
		if err := f.WriteHeaders(head); err != nil {
			return err
		}
		return f.WriteData(s.id, complete, []byte(body))
	})
}

// ResetStream ends the request with an error code, over HTTP/2.
func ResetStream(code http2.ErrCode) Step {
	return func(c *Connection) error {
		return c.stream.write(func(f *http2.Framer) error { return f.WriteRSTStream(c.stream.id, code) })
	}
}

// GoAway announces the end of the connection, over HTTP/2, and that the server has
// seen no request after the last one it names: with before, it claims to have not
// seen this one.
func GoAway(code http2.ErrCode, before bool) Step {
	return func(c *Connection) error {
		last := c.stream.id
		if before {
			last = 0
		}
		return c.stream.write(func(f *http2.Framer) error { return f.WriteGoAway(last, code, nil) })
	}
}
