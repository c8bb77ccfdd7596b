// A program for tests that runs inside a network namespace. It listens on ports and answers with its name and the
// asker's address, and it asks others when told to.
import { createSocket } from 'node:dgram'
import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'

interface Question {
  readonly id: number
  /** `heard` asks for the senders of datagrams since the last such question. */
  readonly protocol: 'tcp' | 'udp' | 'heard'
  readonly host: string
  readonly port: number
  /** The local address to ask from. */
  readonly from?: string
  /** The local UDP port, to be seen as the same client again. */
  readonly fromPort?: number
}

const [name = '', ports = ''] = process.argv.slice(2)
const longestMs = 1_000
const heard = new Set<string>()
const hasIpv6 = existsSync('/proc/sys/net/ipv6')

for (const port of ports.split(',').filter(Boolean).map(Number)) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(`${name} ${plain(socket.remoteAddress ?? '')}`)
  })
  // Both families, as most programs do.
  const udp = createSocket(hasIpv6 ? 'udp6' : 'udp4')
  udp.on('message', (_message, from) => {
    heard.add(plain(from.address))
    udp.send(`${name} ${plain(from.address)}`, from.port, from.address)
  })
  await Promise.all([
    new Promise<void>((resolve) => void server.listen(port, hasIpv6 ? '::' : '0.0.0.0', resolve)),
    new Promise<void>((resolve) => void udp.bind(port, resolve)),
  ])
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const question: Question = JSON.parse(line)
  const answer = (words: string) => console.log(JSON.stringify({ id: question.id, words }))
  if (question.protocol === 'heard') {
    answer([...heard].join(' '))
    heard.clear()
  } else if (question.protocol === 'tcp') askTcp(question, answer)
  else askUdp(question, answer)
})
process.stdin.on('end', () => process.exit())
console.log(JSON.stringify({ id: 0, words: 'ready' }))

function askTcp({ host, port, from }: Question, answer: (words: string) => void): void {
  const socket = connect({ host, port, ...(from === undefined ? {} : { localAddress: from }) })
  let said = ''
  socket.setTimeout(longestMs, () => socket.destroy(new Error('silence')))
  socket.on('data', (data) => (said += data.toString()))
  socket.on(
    'error',
    (error: NodeJS.ErrnoException) => (said = error.code === 'ECONNREFUSED' ? 'refused' : error.message),
  )
  socket.on('close', () => answer(said))
}

function askUdp({ host, port, from, fromPort = 0 }: Question, answer: (words: string) => void): void {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  const end = (words: string) => {
    clearTimeout(timer)
    socket.close()
    answer(words)
  }
  const timer = setTimeout(() => end('silence'), longestMs)
  socket.on('message', (message) => end(message.toString()))
  // Only connected sockets are told of network errors.
  socket.on('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED' ? 'refused' : error.message))
  socket.bind(fromPort, from, () => socket.connect(port, host, () => socket.send('?')))
}

function plain(address: string): string {
  return address.replace('::ffff:', '')
}
