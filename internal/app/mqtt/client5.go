package mqtt

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"

	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	connectTimeout   = 10 * time.Second
	subscribeTimeout = 10 * time.Second
	minReconnect     = time.Second
	maxReconnect     = 30 * time.Second
	// ackInterval is the interval in which acknowledgements are sent.
	ackInterval = 5 * time.Millisecond
)

// connect5 connects by MQTT 5. It returns before the connection exists.
func connect5(ctx context.Context, l *link) (connection, error) {
	b := l.broker
	receiveMaximum, expiry := uint16(b.MaxInFlight), uint32(b.sessionExpiry.Seconds())
	config := autopaho.ClientConfig{
		ServerUrls: []*url.URL{b.address}, KeepAlive: uint16(b.keepAlive.Seconds()), SessionExpiryInterval: expiry,
		ConnectTimeout: connectTimeout, ReconnectBackoff: autopaho.NewExponentialBackoff(
			minReconnect, maxReconnect, 2*minReconnect, 2,
		),
		OnConnectionUp: func(cm *autopaho.ConnectionManager, _ *paho.Connack) { go subscribe5(ctx, l, cm) },
		OnConnectionDown: func() bool {
			l.setConnected(false, nil)
			return true
		},
		OnConnectError: func(err error) { l.setConnected(false, err) },
		ConnectPacketBuilder: func(p *paho.Connect, _ *url.URL) (*paho.Connect, error) {
			if p.Properties == nil {
				p.Properties = &paho.ConnectProperties{}
			}
			p.Properties.ReceiveMaximum = &receiveMaximum
			password, err := b.password()
			if b.Username != "" {
				p.UsernameFlag, p.Username = true, b.Username
				p.PasswordFlag, p.Password = b.PasswordFile != "", []byte(password)
			}
			return p, err
		},
		ClientConfig: paho.ClientConfig{
			ClientID: b.ClientID, EnableManualAcknowledgment: true, SendAcksInterval: ackInterval,
			OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
				ack := func() { _ = r.Client.Ack(r.Packet) } // of a lost connection: the broker delivers it again
				l.receive(r.Packet.Topic, r.Packet.Payload, r.Packet.QoS, r.Packet.Retain, ack)
				return true, nil
			}},
			OnServerDisconnect: func(d *paho.Disconnect) {
				l.setConnected(false, fmt.Errorf("the broker ended it with reason code 0x%02x", d.ReasonCode))
			},
			OnClientError: func(err error) { l.setConnected(false, err) },
		},
	}
	if b.tls != nil {
		config.TlsCfg = b.tls.Config(b.address.Host)
	}
	cm, err := autopaho.NewConnection(ctx, config)
	if err != nil {
		return connection{}, err
	}
	return connection{
		publish: func(ctx context.Context, topic string, payload []byte) error {
			ctx, cancel := context.WithTimeout(ctx, subscribeTimeout)
			defer cancel()
			_, err := cm.Publish(ctx, &paho.Publish{Topic: topic, Payload: payload})
			return err
		},
		close: func(ctx context.Context) {
			time.Sleep(2 * ackInterval) // until the acknowledgements are sent
			_ = cm.Disconnect(ctx)
		},
	}, nil
}

// subscribe5 subscribes to all topics, again until the broker allows it or the connection ends.
func subscribe5(ctx context.Context, l *link, cm *autopaho.ConnectionManager) {
	for {
		err := trySubscribe5(ctx, l.broker, cm)
		if errors.Is(err, autopaho.ConnectionDownError) {
			return // the next connection subscribes
		}
		if l.setConnected(err == nil, err); err == nil || !sleep.For(ctx, maxReconnect) {
			return
		}
	}
}

func trySubscribe5(ctx context.Context, b *Broker, cm *autopaho.ConnectionManager) error {
	ctx, cancel := context.WithTimeout(ctx, subscribeTimeout)
	defer cancel()
	request := &paho.Subscribe{}
	for filter, qos := range b.subscriptions() {
		request.Subscriptions = append(request.Subscriptions, paho.SubscribeOptions{Topic: filter, QoS: qos})
	}
	answer, err := cm.Subscribe(ctx, request)
	if answer == nil {
		return err
	}
	for i, code := range answer.Reasons { // there are reasons also beside an error
		if s := request.Subscriptions[i]; code != s.QoS {
			return errSubscription(s.Topic, s.QoS, code)
		}
	}
	return err
}

// errSubscription returns the error for a subscription that the broker refuses, or grants with a lower QoS.
func errSubscription(topic string, qos, code byte) error {
	return fmt.Errorf("it answers 0x%02x to a subscription to %s with QoS %d", code, topic, qos)
}
