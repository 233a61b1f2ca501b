// kafkajs, and what has its interface: does each of the five actions once.
'use strict'
const { address, topic, pkg, Missing, values, read, there, gone, all } = require('./actions')
const lib = require(pkg)
const confluent = lib.KafkaJS !== undefined
const { Kafka, logLevel } = lib.KafkaJS || lib
const kafka = new Kafka(confluent ? { kafkaJS: { brokers: [address], logLevel: logLevel.NOTHING } }
  : { clientId: 'client', brokers: [address], logLevel: logLevel && logLevel.NOTHING })
const kjs = (o, more) => confluent ? { kafkaJS: o, ...more } : o

async function send (p, to, vs) {
  await p.send({ topic: to, ...(confluent ? {} : { acks: -1 }), messages: vs.map(value => ({ value })) })
}

async function withProducer (options, work) {
  const p = kafka.producer(kjs(options))
  await p.connect()
  try { await work(p) } finally { await p.disconnect() }
}

async function consume (group, from, want, options = {}) {
  const c = kafka.consumer(kjs(confluent ? { groupId: group, fromBeginning: true, autoCommit: true, ...options } : { groupId: group, ...options }))
  await c.connect()
  const got = []
  try {
    await c.subscribe(confluent ? { topic: from } : { topic: from, fromBeginning: true })
    await c.run({ eachMessage: async ({ message }) => { got.push(message.value.toString()) } })
    await read(got, want)
    if (confluent) await c.commitOffsets()
  } finally { await c.disconnect() }
}

all({
  admin: async () => {
    if (!kafka.admin) throw new Missing('no admin client')
    const a = kafka.admin()
    await a.connect()
    try {
      if (!a.createTopics) throw new Missing('no call that creates topics')
      await a.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }, { topic: topic + '-gone', numPartitions: 1, replicationFactor: 1 }] })
      const listed = async () => (await a.listTopics()).includes(topic + '-gone')
      if (a.listTopics) await there(listed)
      if (a.deleteTopics) await a.deleteTopics({ topics: [topic + '-gone'] })
      if (a.deleteTopics && a.listTopics) await gone(listed)
    } finally { await a.disconnect() }
  },
  produce: () => withProducer({}, p => send(p, topic, values('a'))),
  consume: () => consume(topic + '-alone', topic, values('a')), // it has consumers in groups only
  group: async () => {
    await consume(topic + '-group', topic, values('a'))
    await withProducer({}, p => send(p, topic, values('b')))
    await consume(topic + '-group', topic, values('b'))
  },
  transaction: async () => {
    await withProducer({ transactionalId: topic, maxInFlightRequests: 1, idempotent: true }, async p => {
      if (!p.transaction) throw new Missing('no transactions')
      for (const [prefix, end] of [['no', 'abort'], ['yes', 'commit']]) {
        const t = await p.transaction()
        await send(t, topic + '-txn', values(prefix, 5))
        await t[end]()
      }
    })
    await consume(topic + '-txn-alone', topic + '-txn', values('yes', 5)) // reads committed records unless told otherwise
  }
})
