package embedded

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// frameLeast is a request's key, version and correlation id, and no name of the client.
	frameLeast = 2 + 2 + 4 + 2
	// frameMost is the largest request: Apache Kafka has the same (socket.request.max.bytes).
	frameMost = 100 << 20
	// frameBeforeLogin is the largest until a client has logged in.
	frameBeforeLogin = 16 << 10
	// loginRounds is how many messages a client sends to log in by SCRAM.
	loginRounds = 2
)

// framed is a listener whose connections end where a request is none: kfake makes room for
// whatever size it is told and panics over a request that it does not know, both before it
// looks who asks.
type framed struct{ net.Listener }

func (f framed) Accept() (net.Conn, error) {
	conn, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &frames{Conn: conn}, nil
}

// frames is a connection of which the beginning of each request is looked at. One goroutine
// reads.
type frames struct {
	net.Conn
	head   [6]byte // size of the request, which does not count itself, and key
	unread []byte  // of head
	left   int     // bytes of the request behind head
	logins int     // messages of a login that have come
}

func (f *frames) Read(p []byte) (int, error) {
	if len(f.unread) == 0 && f.left == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	if len(f.unread) > 0 {
		n := copy(p, f.unread)
		f.unread = f.unread[n:]
		return n, nil
	}
	n, err := f.Conn.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// next reads how the next request begins.
func (f *frames) next() error {
	if _, err := io.ReadFull(f.Conn, f.head[:]); err != nil {
		return err
	}
	size, key := binary.BigEndian.Uint32(f.head[:4]), int16(binary.BigEndian.Uint16(f.head[4:]))
	most := uint32(frameMost)
	if f.logins < loginRounds {
		most = frameBeforeLogin // beyond, kfake ends the connection of anyone who failed to
	}
	if size < frameLeast || size > most || kmsg.RequestForKey(key) == nil {
		return fmt.Errorf("kafka: no request is %d bytes of kind %d", size, key)
	}
	if key == int16(kmsg.SASLAuthenticate) {
		f.logins++
	}
	f.unread, f.left = f.head[:], int(size)-2
	return nil
}
