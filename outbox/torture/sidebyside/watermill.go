package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging"
)

// forwarded is the forwarder of Watermill: messages are published to a topic in Postgres,
// and forwarded to the service from there.
type forwarded struct{ pool *pgxpool.Pool }

func openWatermill(ctx context.Context, database string, _ int) (contender, error) {
	pool, err := pgxpool.New(ctx, database)
	return &forwarded{pool}, err
}

// topic is the topic in Postgres, the default of the forwarder.
const topic = "forwarder_topic"

func (f *forwarded) create(ctx context.Context) error {
	subscriber, err := f.subscriber()
	if err != nil {
		return err
	}
	if err := subscriber.SubscribeInitialize(topic); err != nil {
		return err
	}
	return createOn(ctx, f.pool, createOrders)
}

func (f *forwarded) subscriber() (*wsql.Subscriber, error) {
	return wsql.NewSubscriber(wsql.BeginnerFromPgx(f.pool), wsql.SubscriberConfig{
		SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{},
		PollInterval: 100 * time.Millisecond, ResendInterval: 100 * time.Millisecond, InitializeSchema: true,
	}, watermill.NopLogger{})
}

// publish publishes messages in a transaction.
func publish(tx pgx.Tx, keys ...string) error {
	inner, err := wsql.NewPublisher(wsql.TxFromPgx(tx), wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}},
		watermill.NopLogger{})
	if err != nil {
		return err
	}
	messages := make([]*message.Message, len(keys))
	for i, key := range keys {
		body, err := json.Marshal(storedOf(key))
		if err != nil {
			return err
		}
		messages[i] = message.NewMessage(watermill.NewUUID(), body)
	}
	return forwarder.NewPublisher(inner, forwarder.PublisherConfig{}).Publish("service", messages...)
}

func (f *forwarded) commit(ctx context.Context, key string) error {
	return order(ctx, f.pool, key, func(tx pgx.Tx) error { return publish(tx, key) })
}

func (f *forwarded) fill(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, 1000) {
		if err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error { return publish(tx, some...) }); err != nil {
			return err
		}
	}
	return nil
}

// service is the publisher that the messages are forwarded to.
type service struct{ client *messaging.Client }

func (s service) Publish(_ string, messages ...*message.Message) error {
	for _, m := range messages {
		var request stored
		if err := json.Unmarshal(m.Payload, &request); err != nil {
			return err
		}
		if err := request.send(m.Context(), s.client); err != nil {
			return err
		}
	}
	return nil
}

func (s service) Close() error { return nil }

func (f *forwarded) work(ctx context.Context, client *messaging.Client) error {
	subscriber, err := f.subscriber()
	if err != nil {
		return err
	}
	running, err := forwarder.NewForwarder(subscriber, service{client}, watermill.NopLogger{}, forwarder.Config{})
	if err != nil {
		return err
	}
	return running.Run(ctx)
}

func (f *forwarded) left(ctx context.Context) (n int, err error) {
	err = f.pool.QueryRow(ctx, `SELECT count(*) FROM watermill_forwarder_topic AS m WHERE NOT EXISTS (
		SELECT 1 FROM watermill_offsets_forwarder_topic WHERE
			(last_processed_transaction_id, offset_acked) >= (m.transaction_id, m."offset"))`).Scan(&n)
	return n, err
}

// unknown returns none: the topic knows only which messages were acknowledged.
func (f *forwarded) unknown(context.Context) (map[string]bool, error) { return nil, nil }

func (f *forwarded) close() { f.pool.Close() }
