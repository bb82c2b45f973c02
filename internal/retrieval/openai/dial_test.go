package openai

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

func TestOnlyPublicAddressesAreAllowed(t *testing.T) {
	for _, ip := range []string{
		"127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
		"224.0.0.1",
		"255.255.255.255", "198.18.0.1", "203.0.113.9", "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "fec0::1",
		"64:ff9b::a00:1", "2002:7f00:1::", "2001:db8::1", "2001::1", "::127.0.0.1", "::ffff:10.0.0.1", "::ffff:100.64.0.1",
		"fe80::1%eth0",
	} {
		require.Error(t, refusePrivate(net.JoinHostPort(ip, "443"), "embedder"), ip)
	}
	for _, ip := range []string{"8.8.8.8", "172.32.0.1", "1.1.1.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8"} {
		require.NoError(t, refusePrivate(net.JoinHostPort(ip, "443"), "embedder"), ip)
	}
	require.Error(t, refusePrivate("no address", "embedder"))
}

// TestANameThatChangesBetweenLookUpsIsStillChecked tests DNS rebinding: the name resolves to
// a public address at the first lookup, and to this machine when it is dialled.
func TestANameThatChangesBetweenLookUpsIsStillChecked(t *testing.T) {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer target.Close()
	_, port, err := net.SplitHostPort(target.Addr().String())
	require.NoError(t, err)

	resolver := rebinding(t, netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("127.0.0.1"))
	first, err := resolver.LookupNetIP(t.Context(), "ip4", "embedder.test.")
	require.NoError(t, err)
	require.True(t, isPublic(first[0]), "what a check before the dial would have seen")

	dialer := &net.Dialer{Resolver: resolver}
	refusePrivateAddresses(dialer, "embedder")
	_, err = dialer.DialContext(t.Context(), "tcp4", "embedder.test.:"+port)
	var private *privateAddress
	require.ErrorAs(t, err, &private)
	require.Equal(t, "127.0.0.1", private.ip.String())

	plain := &net.Dialer{Resolver: resolver}
	conn, err := plain.DialContext(t.Context(), "tcp4", "embedder.test.:"+port)
	require.NoError(t, err, "without the guard it connects")
	_ = conn.Close()
}

// rebinding returns a resolver that answers the first query with one address and all later
// ones with another.
func rebinding(t *testing.T, before, after netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	var questions atomic.Int32
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			ip := after
			if questions.Add(1) == 1 {
				ip = before
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: ip.As4()},
				}}
			}
			if packed, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}
