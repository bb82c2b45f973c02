package kafka

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dialSilenced connects to a broker whose answers do not arrive while silent, as if it were suspended.
func dialSilenced(ctx context.Context, network, host string, silent *atomic.Bool) (net.Conn, error) {
	broker, err := (&net.Dialer{}).DialContext(ctx, network, host)
	if err != nil {
		return nil, err
	}
	client, server := net.Pipe() // has deadlines, unlike a connection whose Read waits
	go func() {
		_, _ = io.Copy(broker, server)
		_ = broker.Close()
	}()
	go func() {
		defer func() { _ = server.Close() }()
		buffer := make([]byte, 64<<10)
		for {
			n, err := broker.Read(buffer)
			if err != nil {
				return
			}
			for silent.Load() {
				time.Sleep(time.Millisecond)
			}
			if _, err := server.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	return client, nil
}

// TestABrokerThatHangsDoesNotMakeTheOthersUnavailable hangs the broker that is asked first.
func TestABrokerThatHangsDoesNotMakeTheOthersUnavailable(t *testing.T) {
	t.Parallel()
	addresses := clusterOf(t, 3)
	var silent, all atomic.Bool
	c, err := Open(t.Context(), Options{
		Brokers: addresses, BufferedBytes: 1 << 20, Log: slog.New(slog.DiscardHandler),
		Dial: func(ctx context.Context, network, host string) (net.Conn, error) {
			if host == addresses[0] {
				return dialSilenced(ctx, network, host, &silent)
			}
			return dialSilenced(ctx, network, host, &all)
		},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	t.Cleanup(func() { silent.Store(false); all.Store(false) })
	began := time.Now()
	require.Eventually(t, func() bool { return c.health.lastResponse.Load() > began.UnixNano() }, time.Minute,
		time.Millisecond, "a ping was answered")
	down := c.health.whenDown()

	silent.Store(true)
	hangs := time.Now()
	require.Eventually(t, func() bool {
		return c.health.lastResponse.Load() > hangs.Add(3*maxSilence).UnixNano()
	}, time.Minute, 10*time.Millisecond, "the others are asked")
	select {
	case <-down:
		require.Fail(t, "Kafka was regarded as unavailable")
	default:
	}

	all.Store(true)
	require.Eventually(t, func() bool { return !c.Healthy() }, time.Minute, 10*time.Millisecond, "all hang")
	all.Store(false)
	require.Eventually(t, c.Healthy, time.Minute, 10*time.Millisecond)
}
