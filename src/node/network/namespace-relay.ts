import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { findProgram } from '../isolation/detect-isolation.ts'

/** Nobody listens on the port; the message is the system's. */
export class RelayRefused extends Error {}

/** Each connection takes a small process: more than any browser opens, too few to fill the machine. */
const mostAtOnce = 128
const mostWords = 500
/** Printed to standard error once it is connected. */
const connected = 'connected\n'

/**
 * Copies bytes between the socket on descriptor 3 and a loopback port. It reads no more from one side than the other
 * has taken, and passes on the end of each side separately. When its standard input ends, whoever started it is gone,
 * and it exits.
 */
const program = `
use strict; use Socket; use IO::Handle;
$SIG{PIPE} = 'IGNORE';
my $server;
socket($server, PF_INET, SOCK_STREAM, 0) && connect($server, sockaddr_in($ARGV[0], INADDR_LOOPBACK))
  or do { print STDERR lcfirst "$!"; exit 1 };
open(my $client, '+<&=', 3) or exit 2;
$_->blocking(0) for ($server, $client);
print STDERR "${connected.trim()}\\n"; close STDERR;
my @ways = ({ from => $client, to => $server, held => '' }, { from => $server, to => $client, held => '' });
while (@ways) {
  my ($read, $write) = ('', '');
  vec($read, 0, 1) = 1;
  for (@ways) { if (length $_->{held}) { vec($write, fileno $_->{to}, 1) = 1 } else { vec($read, fileno $_->{from}, 1) = 1 } }
  next if select($read, $write, undef, undef) < 0;
  exit if vec($read, 0, 1);
  for my $way (@ways) {
    if (length $way->{held}) {
      next unless vec($write, fileno $way->{to}, 1);
      my $sent = syswrite $way->{to}, $way->{held};
      if (defined $sent) { substr($way->{held}, 0, $sent, '') } else { exit unless $!{EAGAIN} }
    } elsif (vec($read, fileno $way->{from}, 1)) {
      my $got = sysread $way->{from}, $way->{held}, 65536;
      if (!defined $got) { exit unless $!{EAGAIN} } elsif ($got == 0) { shutdown $way->{to}, 1; $way->{over} = 1 }
    }
  }
  @ways = grep { !$_->{over} } @ways;
}
`

/**
 * Connects to ports that are only open on the loopback of a Pod's own network, which cannot be reached from outside.
 */
export class NamespaceRelay {
  readonly #programs: { readonly nsenter: string; readonly perl: string }
  #count = 0

  constructor(programs: { readonly nsenter: string; readonly perl: string }) {
    this.#programs = programs
  }

  /** `undefined` if the machine lacks a program it needs. */
  static find(): NamespaceRelay | undefined {
    const [nsenter, perl] = [findProgram('nsenter'), findProgram('perl')]
    return nsenter === undefined || perl === undefined ? undefined : new NamespaceRelay({ nsenter, perl })
  }

  /** Throws `RelayRefused` if nobody listens. The relay process ends with the connection, and with this program. */
  async connect(namespace: string, port: number, signal: AbortSignal): Promise<Duplex> {
    signal.throwIfAborted()
    if (this.#count >= mostAtOnce) throw new Error(`more than ${mostAtOnce} connections are forwarded`)
    const { nsenter, perl } = this.#programs
    const words = [`--net=${namespace}`, perl, '-e', program, String(port)]
    const child = spawn(nsenter, words, { stdio: ['pipe', 'ignore', 'pipe', 'pipe'], env: {}, cwd: '/' })
    this.#count += 1
    child.once('exit', () => (this.#count -= 1))
    child.once('error', () => (this.#count -= 1))
    child.stdin?.on('error', () => {})
    const connection = child.stdio[3]
    if (!(connection instanceof Socket)) throw new Error('there is no way to the relay')
    // The client may go on sending after the Pod has finished.
    connection.allowHalfOpen = true
    const end = () => void child.kill('SIGKILL')
    connection.once('close', end)
    connection.on('error', end)
    try {
      await toldBy(child, signal)
      return connection
    } catch (error) {
      connection.destroy()
      throw error
    }
  }
}

function toldBy(child: ReturnType<typeof spawn>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    const aborted = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    signal.addEventListener('abort', aborted, { once: true })
    const done = (error?: Error) => {
      signal.removeEventListener('abort', aborted)
      if (error) reject(error)
      else resolve()
    }
    child.once('error', done)
    const words = child.stderr?.setEncoding('utf8')
    words?.on('data', (text: string) => {
      said = (said + text).slice(0, mostWords)
      if (said === connected) done()
    })
    words?.once('end', () => done(new RelayRefused(said.trim() || 'the relay ended')))
  })
}
