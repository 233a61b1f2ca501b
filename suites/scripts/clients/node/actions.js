// What the programs for clients for JavaScript share: one line for each action, values to send and to expect.
'use strict'
const [address, topic, pkg] = process.argv.slice(2)
const count = 20

class Missing extends Error {}

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

async function attempt (name, action) {
  let timer
  const late = new Promise((resolve, reject) => { timer = setTimeout(() => reject(new Error('no end within 40 s')), 40000) })
  try {
    await Promise.race([action(), late])
    console.log('ok ' + name)
  } catch (e) {
    const words = `${e && e.name}: ${e && e.message}${e && e.errors ? ' ' + e.errors.map(x => x.message).join('; ') : ''}`.replace(/\n/g, ' ')
    console.log(e instanceof Missing ? `skip ${name}: ${e.message}` : `fail ${name}: ${words}`)
  } finally {
    clearTimeout(timer)
  }
}

const values = (prefix, n = count) => Array.from({ length: n }, (_, i) => prefix + i)

// Waits until got has as many as want and a moment longer; got grows by itself.
async function read (got, want, patience = 30000) {
  const end = Date.now() + patience
  while (got.length < want.length && Date.now() < end) await sleep(50)
  await sleep(300)
  if (JSON.stringify([...got].sort()) !== JSON.stringify([...want].sort())) throw new Error(`read ${[...got].sort()}, not ${want}`)
}

async function there (listed) {
  for (let i = 0; !await listed(); i++) {
    if (i === 100) throw new Error('a new topic is not listed')
    await sleep(50)
  }
}

async function gone (listed) {
  for (let i = 0; await listed(); i++) {
    if (i === 100) throw new Error('a deleted topic stays')
    await sleep(50)
  }
}

async function all (actions) {
  process.on('unhandledRejection', () => {})
  for (const name of ['admin', 'produce', 'consume', 'group', 'transaction']) await attempt(name, actions[name])
  process.exit(0)
}

module.exports = { address, topic, pkg, Missing, values, read, there, gone, all, sleep }
