// Runs the README's command as a newcomer would: `npm start` in this checkout with an empty data directory, a question
// to the sleeping model, Ctrl-C. Exits non-zero when the model does not answer or a process is left behind.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from './install.mjs'

const data = mkdtempSync(join(tmpdir(), 'sluice-start-'))
const ports = ['--management-port', '0', '--control-plane-port', '0', '--gateway-port', '0', '--exposure-port', '0']
const child = spawn('npm', ['start', '--', '--data', data, ...ports], {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
  detached: true,
})
const exited = new Promise((resolve) => child.on('exit', resolve))
let failure

try {
  const endpoints = await until(300, 'endpoints.json', () => {
    const path = join(data, 'endpoints.json')
    return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
  })
  const response = await fetch(`${endpoints.gateway}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'smollm2',
      temperature: 0,
      max_tokens: 24,
      messages: [{ role: 'user', content: 'What is the capital of France?' }],
    }),
    signal: AbortSignal.timeout(300_000),
  })
  const text = await response.text()
  if (!response.ok || !text.includes('Paris')) throw new Error(`the model answered ${response.status}: ${text}`)
  console.log(`smollm2 answered: ${JSON.parse(text).choices[0].message.content}`)
  signalGroup('SIGINT')
  await Promise.race([exited, sleep(30_000).then(() => Promise.reject(new Error('Ctrl-C did not end it within 30 s')))])
  await until(5, 'the end of the process', () => (alive(endpoints.pid) ? undefined : true))
} catch (error) {
  failure = error
} finally {
  signalGroup('SIGKILL')
  rmSync(data, { recursive: true, force: true })
}
if (failure) {
  console.error(failure)
  process.exit(1)
}

async function until(seconds, what, probe) {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const found = probe()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`waited ${seconds} s for ${what}`)
    await sleep(50)
  }
}

/** Sends a signal to npm and everything it started, as a terminal does. */
function signalGroup(signal) {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // They have ended already, as they should.
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
