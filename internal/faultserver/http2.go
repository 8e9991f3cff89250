package faultserver

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Script2 is what happens to each request on an HTTP/2 connection.
type Script2 []Step2

// Step2 is one line of a Script2.
type Step2 func(*Stream) error

// Stream is a request that has been read to its end, and its connection.
type Stream struct {
	server  *Server
	conn    *tls.Conn
	framer  *http2.Framer
	id      uint32
	request Request
}

// StartHTTP2 starts a server that speaks HTTP/2 over TLS. The first connection
// plays the first script for each of its requests, and so on; the last script
// is played on every connection that follows.
func StartHTTP2(tb testing.TB, scripts ...Script2) *Server {
	tb.Helper()
	lines := make([]Script, len(scripts))
	for i, script := range scripts {
		lines[i] = Script{serveHTTP2(script)}
	}
	return start(tb, tls.NewListener(listen(tb, "127.0.0.1:0"), serverTLS("h2")), "https", lines)
}

func serveHTTP2(script Script2) Step {
	return func(c *Connection) error {
		conn, ok := c.net.(*tls.Conn)
		if !ok {
			return errors.New("not a TLS connection")
		}
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(conn, preface); err != nil {
			return err
		}
		framer := http2.NewFramer(conn, conn)
		framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		if err := framer.WriteSettings(); err != nil {
			return err
		}
		streams := &streams{server: c.server, conn: conn, framer: framer, open: map[uint32]*Stream{}}
		for {
			stream, err := streams.next()
			if err != nil {
				return err
			}
			c.server.record(&c.server.requests, stream.request)
			for _, step := range script {
				if err := step(stream); err != nil {
					return err
				}
			}
		}
	}
}

// streams reads frames until a request is complete.
type streams struct {
	server *Server
	conn   *tls.Conn
	framer *http2.Framer
	open   map[uint32]*Stream
}

func (s *streams) next() (*Stream, error) {
	for {
		frame, err := s.framer.ReadFrame()
		if err != nil {
			return nil, err
		}
		ended := false
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = s.framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				err = s.framer.WritePing(true, frame.Data)
			}
		case *http2.MetaHeadersFrame:
			s.open[frame.StreamID] = s.begin(frame)
			ended = frame.StreamEnded()
		case *http2.DataFrame:
			if stream := s.open[frame.StreamID]; stream != nil {
				stream.request.Body = append(stream.request.Body, frame.Data()...)
			}
			ended = frame.StreamEnded()
		}
		if err != nil {
			return nil, err
		}
		if stream := s.open[frame.Header().StreamID]; ended && stream != nil {
			delete(s.open, stream.id)
			return stream, nil
		}
	}
}

func (s *streams) begin(frame *http2.MetaHeadersFrame) *Stream {
	request := Request{Method: frame.PseudoValue("method"), Target: frame.PseudoValue("path"), Header: http.Header{}}
	for _, field := range frame.RegularFields() {
		request.Header.Add(field.Name, field.Value)
	}
	return &Stream{server: s.server, conn: s.conn, framer: s.framer, id: frame.StreamID, request: request}
}

// Act2 carries out the request.
func Act2(s *Stream) error {
	s.server.record(&s.server.acted, s.request)
	return nil
}

// ResetStream breaks off the request with an error code.
func ResetStream(code http2.ErrCode) Step2 {
	return func(s *Stream) error { return s.framer.WriteRSTStream(s.id, code) }
}

// GoAway ends the connection, and claims to have seen nothing of the requests
// that came after the last one named: with before set, nothing of this one.
func GoAway(code http2.ErrCode, before bool) Step2 {
	return func(s *Stream) error {
		last := s.id
		if before {
			last = 0
		}
		return s.framer.WriteGoAway(last, code, nil)
	}
}

// Answer2 answers the request.
func Answer2(status int, body string) Step2 {
	return func(s *Stream) error {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		if err := encoder.WriteField(hpack.HeaderField{Name: ":status", Value: strconv.Itoa(status)}); err != nil {
			return err
		}
		head := http2.HeadersFrameParam{StreamID: s.id, BlockFragment: block.Bytes(), EndHeaders: true}
		if err := s.framer.WriteHeaders(head); err != nil {
			return err
		}
		return s.framer.WriteData(s.id, true, []byte(body))
	}
}

// Close2 ends the connection in good order.
func Close2(s *Stream) error {
	_ = s.conn.Close()
	return errStopped
}
