package embedded

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// minRequestBytes is the size of a request's key, version, correlation id and null client id.
	minRequestBytes = 2 + 2 + 4 + 2
	// maxRequestBytes is the maximum request size, as in Apache Kafka (socket.request.max.bytes).
	maxRequestBytes = 100 << 20
	// maxRequestBytesBeforeLogin is the maximum request size before a login.
	maxRequestBytesBeforeLogin = 16 << 10
	// loginMessages is the number of messages of a client in a SCRAM login.
	loginMessages = 2
)

// guardedListener is a listener that closes a connection on an invalid request. Before it
// authenticates a client, kfake allocates memory for any announced size, and panics on an unknown
// request.
type guardedListener struct{ net.Listener }

func (l guardedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guardedConn{Conn: conn}, nil
}

// guardedConn is a connection that checks the header of each request. Only one goroutine may
// read.
type guardedConn struct {
	net.Conn
	head      [6]byte // size of the request, excluding the size field, and API key
	unread    []byte  // unread part of head
	remaining int     // bytes of the request after head
	logins    int     // received messages of the login
}

func (c *guardedConn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 && c.remaining == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	if len(c.unread) > 0 {
		n := copy(p, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p[:min(len(p), c.remaining)])
	c.remaining -= n
	return n, err
}

// next reads and checks the header of the next request.
func (c *guardedConn) next() error {
	if _, err := io.ReadFull(c.Conn, c.head[:]); err != nil {
		return err
	}
	size, key := binary.BigEndian.Uint32(c.head[:4]), int16(binary.BigEndian.Uint16(c.head[4:]))
	limit := uint32(maxRequestBytes)
	if c.logins < loginMessages {
		limit = maxRequestBytesBeforeLogin // after a failed login, kfake closes the connection
	}
	if size < minRequestBytes || size > limit || kmsg.RequestForKey(key) == nil {
		return fmt.Errorf("kafka: invalid request of %d bytes with key %d", size, key)
	}
	if key == int16(kmsg.SASLAuthenticate) {
		c.logins++
	}
	c.unread, c.remaining = c.head[:], int(size)-2
	return nil
}
