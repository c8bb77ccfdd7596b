// The first process of a sealed machine: makes its file systems and its network, and starts what it is told to. It runs
// in namespaces of its own (sealed-machine.ts); when it ends, the kernel ends everything else in them.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { type Socket, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { type Order, type Ran, joinSockets, socketName } from './sealed-machine-protocol.ts'

const [, , folder = '', address = ''] = process.argv
const children = new Map<string, ChildProcess>()
const longestRunMs = 120_000

/**
 * A kubelet sets these for the whole machine unless they are so already. It is shown the values that it wants, since
 * this machine's kernel is everybody's.
 */
const kernelSettings = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
}

function makeFileSystems(): void {
  for (const name of ['var', 'var-work', 'settings']) mkdirSync(join(folder, name))
  // What programs write into /var stays in the folder, and what they write into /run in memory.
  const layers = `lowerdir=/var,upperdir=${join(folder, 'var')},workdir=${join(folder, 'var-work')}`
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, '/var'])
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run'])
  for (const [name, value] of Object.entries(kernelSettings)) {
    const file = join(folder, 'settings', name.replaceAll('/', '-'))
    writeFileSync(file, `${value}\n`)
    execFileSync('mount', ['--bind', file, join('/proc/sys', name)])
  }
}

function makeNetwork(): void {
  execFileSync('ip', ['link', 'set', 'lo', 'up'])
  // Containers must reach the machine, and loopback addresses are their own.
  execFileSync('ip', ['address', 'add', `${address}/32`, 'dev', 'lo'])
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
}

function run({ program, args }: Extract<Order, { type: 'run' }>): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(program, [...args], { timeout: longestRunMs, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, output: stdout + stderr + (error !== null && stderr === '' ? error.message : '') })
    })
  })
}

async function start({ name, program, args, log }: Extract<Order, { type: 'start' }>): Promise<Ran> {
  const output = openSync(log, 'a')
  const child = spawn(program, args, { stdio: ['ignore', output, output] })
  await once(child, 'spawn')
  children.set(name, child)
  return { code: 0, output: '' }
}

async function kill({ name }: Extract<Order, { type: 'kill' }>): Promise<Ran> {
  const child = children.get(name)
  if (!child) throw new Error(`${name} was not started`)
  const ended = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, 'exit')
  child.kill('SIGKILL')
  await ended
  return { code: 0, output: '' }
}

function lead(outside: Socket, { host, port }: Extract<Order, { type: 'connect' }>, first: Buffer): void {
  const inside = connect({ host, port, noDelay: true, allowHalfOpen: true })
  inside.write(first)
  joinSockets(inside, outside)
}

async function obey(order: Exclude<Order, { type: 'connect' }>): Promise<Ran> {
  try {
    if (order.type === 'run') return await run(order)
    return await (order.type === 'start' ? start(order) : kill(order))
  } catch (error) {
    return { code: 1, output: String(error) }
  }
}

function accept(socket: Socket): void {
  let read = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  const onData = (chunk: Buffer) => {
    read = Buffer.concat([read, chunk])
    const end = read.indexOf('\n')
    if (end === -1) return
    socket.off('data', onData)
    socket.pause()
    const order = JSON.parse(read.subarray(0, end).toString()) as Order
    if (order.type === 'connect') lead(socket, order, read.subarray(end + 1))
    else void obey(order).then((ran) => socket.end(JSON.stringify(ran)))
  }
  socket.on('data', onData)
}

makeFileSystems()
makeNetwork()
createServer({ allowHalfOpen: true }, accept).listen(join(folder, socketName), () => process.stdout.write('ready\n'))
// Nobody is left who would end this machine.
process.stdin.resume().on('end', () => process.exit())
if (readFileSync('/proc/self/stat', 'utf8').split(' ')[0] !== '1') throw new Error('not the first process')
