// node-rdkafka: does each of the five actions once.
'use strict'
const { address, topic, pkg, Missing, values, read, there, gone, all, sleep } = require('./actions')
const lib = require(pkg)

const connect = client => new Promise((resolve, reject) => client.connect({ timeout: 10000 }, err => err ? reject(err) : resolve()))
const call = (o, name, ...args) => new Promise((resolve, reject) => o[name](...args, (err, x) => err ? reject(err) : resolve(x)))

async function withProducer (more, work) {
  const p = new lib.Producer({ 'bootstrap.servers': address, dr_cb: true, ...more }, { acks: -1 })
  await connect(p)
  p.setPollInterval(20)
  try { await work(p) } finally { await call(p, 'disconnect') }
}

async function send (p, to, vs) {
  let came = 0, failed
  const report = (err, r) => { came++; if (err) failed = err }
  p.on('delivery-report', report)
  for (const v of vs) p.produce(to, null, Buffer.from(v), v)
  for (let i = 0; came < vs.length && i < 400; i++) await sleep(50)
  p.removeListener('delivery-report', report)
  if (failed || came < vs.length) throw failed || new Error('not delivered')
}

async function consume (group, start, want, more) {
  const c = new lib.KafkaConsumer({ 'bootstrap.servers': address, 'group.id': group, 'enable.auto.commit': false, ...more }, { 'auto.offset.reset': 'earliest' })
  await connect(c)
  const got = []
  let failed
  c.on('event.error', e => { if (e.code !== 3) failed = e })
  try {
    await start(c)
    c.consume((err, m) => { if (m) got.push(m.value.toString()) })
    await read(got, want)
    if (failed) throw failed
    c.commitSync()
  } finally { await call(c, 'disconnect') }
}

const assignAll = of => async c => {
  const md = await call(c, 'getMetadata', { topic: of, timeout: 10000 })
  c.assign(md.topics.find(t => t.name === of).partitions.map(p => ({ topic: of, partition: p.id, offset: 0 })))
}

all({
  admin: async () => {
    if (!lib.AdminClient) throw new Missing('no admin client')
    const a = lib.AdminClient.create({ 'bootstrap.servers': address })
    try {
      await call(a, 'createTopic', { topic, num_partitions: 2, replication_factor: 1 }, 10000)
      await call(a, 'createTopic', { topic: topic + '-gone', num_partitions: 1, replication_factor: 1 }, 10000)
      await withProducer({}, async p => {
        const listed = async () => (await call(p, 'getMetadata', { timeout: 10000 })).topics.some(t => t.name === topic + '-gone')
        await there(listed)
        await call(a, 'deleteTopic', topic + '-gone', 10000)
        await gone(listed)
      })
    } finally { a.disconnect() }
  },
  produce: () => withProducer({}, p => send(p, topic, values('a'))),
  consume: () => consume(topic + '-alone', assignAll(topic), values('a')),
  group: async () => {
    await consume(topic + '-group', async c => c.subscribe([topic]), values('a'))
    await withProducer({}, p => send(p, topic, values('b')))
    await consume(topic + '-group', async c => c.subscribe([topic]), values('b'))
  },
  transaction: async () => {
    await withProducer({ 'transactional.id': topic }, async p => {
      if (!p.initTransactions) throw new Missing('no transactions')
      await call(p, 'initTransactions', 20000)
      for (const [prefix, end] of [['no', 'abortTransaction'], ['yes', 'commitTransaction']]) {
        await call(p, 'beginTransaction')
        await send(p, topic + '-txn', values(prefix, 5))
        await call(p, end, 20000)
      }
    })
    await consume(topic + '-txn-alone', assignAll(topic + '-txn'), values('yes', 5), { 'isolation.level': 'read_committed' })
  }
})
