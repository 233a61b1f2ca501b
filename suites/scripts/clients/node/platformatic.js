// @platformatic/kafka: does each of the five actions once.
'use strict'
const { address, topic, pkg, Missing, values, read, there, gone, all } = require('./actions')

// newer releases use what Node.js has since 22
Promise.withResolvers ??= () => {
  let resolve, reject
  const promise = new Promise((a, b) => { resolve = a; reject = b })
  return { promise, resolve, reject }
}

const main = async () => {
  const lib = await import(require.resolve(pkg, { paths: [process.env.NODE_PATH] })).catch(() => import(process.env.NODE_PATH + '/' + pkg + '/dist/index.js'))
  const { Admin, Producer, Consumer, stringSerializers, stringDeserializers } = lib
  const base = { clientId: 'client', bootstrapBrokers: [address] }

  const send = (p, to, vs, more = {}) => p.send({ messages: vs.map(value => ({ topic: to, key: value, value })), acks: -1, ...more })

  const withProducer = async (options, work) => {
    const p = new Producer({ ...base, serializers: stringSerializers, autocreateTopics: true, ...options })
    try { await work(p) } finally { await p.close() }
  }

  const consume = async (group, from, want, options) => {
    const c = new Consumer({ ...base, groupId: group, deserializers: stringDeserializers, autocommit: true })
    const stream = await c.consume({ topics: [from], sessionTimeout: 10000, heartbeatInterval: 500, maxWaitTime: 500, ...options })
    const got = []
    stream.on('data', m => got.push(m.value))
    const failed = new Promise((resolve, reject) => stream.on('error', reject))
    try { await Promise.race([read(got, want), failed]) } finally { await c.close(true) }
  }

  await all({
    admin: async () => {
      const a = new Admin(base)
      try {
        await a.createTopics({ topics: [topic], partitions: 2, replicas: 1 })
        await a.createTopics({ topics: [topic + '-gone'], partitions: 1, replicas: 1 })
        const list = () => a.listTopics()
        await there(async () => (await list()).includes(topic + '-gone'))
        await a.deleteTopics({ topics: [topic + '-gone'] })
        await gone(async () => (await list()).includes(topic + '-gone'))
      } finally { await a.close() }
    },
    produce: () => withProducer({}, p => send(p, topic, values('a'))),
    consume: () => consume(topic + '-alone', topic, values('a'), { mode: 'earliest' }),
    group: async () => {
      await consume(topic + '-group', topic, values('a'), { mode: 'committed', fallbackMode: 'earliest' })
      await withProducer({}, p => send(p, topic, values('b')))
      await consume(topic + '-group', topic, values('b'), { mode: 'committed', fallbackMode: 'earliest' })
    },
    transaction: async () => {
      await withProducer({ transactionalId: topic, idempotent: true }, async p => {
        if (!p.beginTransaction) throw new Missing('no transactions')
        for (const [prefix, end] of [['no', 'abort'], ['yes', 'commit']]) {
          const t = await p.beginTransaction()
          await send(t, topic + '-txn', values(prefix, 5))
          await t[end]()
        }
      })
      await consume(topic + '-txn-alone', topic + '-txn', values('yes', 5), { mode: 'earliest', isolationLevel: lib.FetchIsolationLevels.READ_COMMITTED })
    }
  })
}
main()
