package faultserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

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
		framer := http2.NewFramer(c.net, c.net)
		framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		requests := make(map[uint32]*Connection)
		err := framer.WriteSettings()
		for err == nil {
			var frame http2.Frame
			if frame, err = framer.ReadFrame(); err == nil {
				err = c.handle(frame, framer, requests, steps)
			}
		}
		return err
	}
}

// handle answers a frame, adds it to its request, and plays the steps for a request that has
// arrived.
func (c *Connection) handle(frame http2.Frame, framer *http2.Framer, requests map[uint32]*Connection, steps Script) error {
	id := frame.Header().StreamID
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			return framer.WritePing(true, frame.Data)
		}
	case *http2.MetaHeadersFrame:
		// Every request has its own framer, and so needs no lock to write a frame.
		request := &Connection{server: c.server, net: c.net, stream: id, frames: http2.NewFramer(c.net, nil)}
		request.last = Request{Method: frame.PseudoValue("method"), Target: frame.PseudoValue("path"), Header: http.Header{}}
		for _, field := range frame.RegularFields() {
			request.last.Header.Add(field.Name, field.Value)
		}
		requests[id] = request
	case *http2.DataFrame:
		requests[id].last.Body = append(requests[id].last.Body, frame.Data()...)
		if length := frame.Header().Length; length > 0 { // lets the client send more
			if err := framer.WriteWindowUpdate(0, length); err != nil {
				return err
			}
		}
	}
	if ending, ok := frame.(interface{ StreamEnded() bool }); ok && ending.StreamEnded() {
		request := requests[id]
		c.server.running.Go(func() { _ = steps.play(request) })
	}
	return nil
}

// respondOverHTTP2 writes a response, without its end where it is not complete.
func (c *Connection) respondOverHTTP2(status int, body string, headers []string, complete bool) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	field := func(name, value string) {
		_ = encoder.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: true}) // which is never indexed
	}
	field(":status", strconv.Itoa(status))
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		field(strings.ToLower(name), value)
	}
	head := http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: block.Bytes(), EndHeaders: true}
	return errors.Join(c.frames.WriteHeaders(head), c.frames.WriteData(c.stream, complete, []byte(body)))
}

// ResetStream ends the request with an error code, over HTTP/2.
func ResetStream(code http2.ErrCode) Step {
	return func(c *Connection) error { return c.frames.WriteRSTStream(c.stream, code) }
}

// GoAway announces the end of the connection, over HTTP/2, and that the server has
// seen no request after the last one it names: with before, it claims to have not
// seen this one.
func GoAway(code http2.ErrCode, before bool) Step {
	return func(c *Connection) error {
		last := c.stream
		if before {
			last = 0
		}
		return c.frames.WriteGoAway(last, code, nil)
	}
}
