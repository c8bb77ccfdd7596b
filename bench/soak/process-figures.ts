import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { Inspector } from '../../tests/support/inspector.ts'

export type Figures = Readonly<Record<string, number>>

const mebibyte = 1024 * 1024

/** What the kernel reports about the process: cheap, and without side effects. */
export function kernelFigures(pid: number, data: string): Figures {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const ofStatus = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  const size = (file: string) => statSync(join(data, file), { throwIfNoEntry: false })?.size ?? 0
  return {
    'resident MiB': ofStatus('VmRSS') / 1024,
    '  anonymous MiB': ofStatus('RssAnon') / 1024,
    '  of files MiB': ofStatus('RssFile') / 1024,
    threads: ofStatus('Threads'),
    'file descriptors': readdirSync(`/proc/${pid}/fd`).length,
    'child processes': childrenOf(pid),
    'store file MiB': size('sluice.db') / mebibyte,
    'store log MiB': size('sluice.db-wal') / mebibyte,
    'log MiB': size('logs/sluice.log') / mebibyte,
  }
}

function childrenOf(pid: number): number {
  const ofThread = (thread: string) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim()
  const lists = readdirSync(`/proc/${pid}/task`).map(ofThread)
  return lists.flatMap((list) => (list === '' ? [] : list.split(' '))).length
}

const usage = z.object({ heapUsed: z.number(), heapTotal: z.number(), external: z.number(), arrayBuffers: z.number() })

/**
 * The heap of each thread after a garbage collection. The forced collection is not what the program would do by itself,
 * so this is for a few moments of a long run, after the kernel's figures were read.
 */
export async function heapFigures(inspectorUrl: string): Promise<Figures> {
  const inspector = await Inspector.connect(inspectorUrl)
  try {
    const figures: Record<string, number> = {}
    for (const [title, value] of await inspector.evaluateTidy('process.memoryUsage()')) {
      const { heapUsed, heapTotal, external, arrayBuffers } = usage.parse(value)
      const thread = /^\[worker \d+\] (.*)$/.exec(title)?.[1] ?? title
      figures[`${thread}: heap in use MiB`] = heapUsed / mebibyte
      figures[`${thread}: heap MiB`] = heapTotal / mebibyte
      figures[`${thread}: external MiB`] = external / mebibyte
      figures[`${thread}: buffers MiB`] = arrayBuffers / mebibyte
    }
    return figures
  } finally {
    inspector.close()
  }
}

/**
 * Writes heap snapshots, to look at what has grown with the developer tools of a browser. All threads stop meanwhile.
 */
export async function writeHeapSnapshots(inspectorUrl: string, folder: string, name: string): Promise<void> {
  const inspector = await Inspector.connect(inspectorUrl)
  try {
    const file = `${JSON.stringify(join(folder, name))} + '-' + process.getBuiltinModule('worker_threads').threadId`
    await inspector.evaluateTidy(`process.getBuiltinModule('v8').writeHeapSnapshot(${file} + '.heapsnapshot')`)
  } finally {
    inspector.close()
  }
}
