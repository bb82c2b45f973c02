package mqtt

import (
	"context"
	"errors"
	"time"

	paho31 "github.com/eclipse/paho.mqtt.golang"

	"github.com/livegraph/livegraph/internal/platform/sleep"
)

// protocol31 is the number of MQTT 3.1.1 in a CONNECT packet.
const protocol31 = 4

// connect31 connects by MQTT 3.1.1. It returns before the connection exists.
func connect31(ctx context.Context, l *link) (connection, error) {
	b := l.broker
	options := paho31.NewClientOptions().AddBroker(b.address.String()).SetProtocolVersion(protocol31).
		SetClientID(b.ClientID).SetCleanSession(false).SetKeepAlive(b.keepAlive).
		SetAutoAckDisabled(true).SetOrderMatters(true). // acknowledgements keep the order of the messages
		SetConnectTimeout(connectTimeout).SetWriteTimeout(connectTimeout).
		SetConnectRetry(true).SetConnectRetryInterval(minReconnect).SetMaxReconnectInterval(maxReconnect).
		SetDefaultPublishHandler(func(_ paho31.Client, m paho31.Message) {
			l.receive(m.Topic(), m.Payload(), m.Qos(), m.Retained(), m.Ack)
		}).
		SetOnConnectHandler(func(c paho31.Client) { go subscribe31(ctx, l, c) }).
		SetConnectionLostHandler(func(_ paho31.Client, err error) { l.setConnected(false, err) }).
		SetConnectionNotificationHandler(func(_ paho31.Client, n paho31.ConnectionNotification) {
			if failed, ok := n.(paho31.ConnectionNotificationFailed); ok { // also if the broker refuses the login
				l.setConnected(false, failed.Reason)
			}
		})
	if b.Username != "" {
		options.SetCredentialsProvider(func() (username, password string) {
			password, err := b.password()
			if err != nil {
				l.setConnected(false, err)
			}
			return b.Username, password
		})
	}
	if b.tls != nil {
		options.SetTLSConfig(b.tls.Config(b.address.Host))
	}
	client := paho31.NewClient(options)
	client.Connect()
	return connection{
		publish: func(ctx context.Context, topic string, payload []byte) error {
			return wait31(ctx, client.Publish(topic, 0, false, payload))
		},
		close: func(context.Context) {
			client.Disconnect(uint(disconnectTimeout / 2 / time.Millisecond)) // sends what is queued
		},
	}, nil
}

// subscribe31 subscribes to all topics, again until the broker allows it or the connection ends.
func subscribe31(ctx context.Context, l *link, c paho31.Client) {
	for c.IsConnectionOpen() {
		err := trySubscribe31(ctx, l.broker, c)
		if l.setConnected(err == nil, err); err == nil || !sleep.For(ctx, maxReconnect) {
			return
		}
	}
}

func trySubscribe31(ctx context.Context, b *Broker, c paho31.Client) error {
	filters := b.subscriptions()
	token := c.SubscribeMultiple(filters, nil)
	if err := wait31(ctx, token); err != nil {
		return err
	}
	granted, ok := token.(*paho31.SubscribeToken)
	if !ok {
		return errors.New("the broker's answer to the subscriptions is not known")
	}
	for topic, code := range granted.Result() {
		if qos := filters[topic]; code != qos {
			return errSubscription(topic, qos, code)
		}
	}
	return nil
}

// wait31 waits for the end of an operation.
func wait31(ctx context.Context, token paho31.Token) error {
	select {
	case <-token.Done():
		return token.Error()
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(subscribeTimeout):
		return errors.New("the broker does not answer")
	}
}
