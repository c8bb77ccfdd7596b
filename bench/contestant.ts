import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { missingControlPlane, startRealControlPlane } from '../tests/kubernetes/real-control-plane.ts'
import { HttpClient, type Target } from './http-client.ts'
import { cpuSeconds, residentBytes } from './process-use.ts'

/** A server that is measured, in its own processes. */
export interface Contestant {
  readonly name: 'sluice' | 'kubernetes'
  readonly target: Target
  /** The resident memory of all its processes, in bytes. */
  resident(): number
  /** The processor time of all its processes. */
  cpuSeconds(): number
  /** From the start of the first process until /readyz succeeded. */
  readonly startMs: number
  stop(): Promise<void>
}

const program = join(import.meta.dirname, '../bin/sluice')
const endpointsSchema = z.object({ controlPlane: z.string(), ca: z.string() })
const readyDeadlineMs = 60_000

/** Starts `sluice up` as users do, and the real pair if KUBEBUILDER_ASSETS has it, with etcd syncing to disk. */
export async function startContestants(): Promise<Contestant[]> {
  const ours = await startSluice()
  const missing = missingControlPlane()
  if (missing === undefined) return [ours, await startKubernetes()]
  console.log(`Without a real Kubernetes to compare with: ${missing}.\n`)
  return [ours]
}

export async function startSluice(
  data = mkdtempSync(join(tmpdir(), 'sluice-bench-')),
  keep = false,
  flags: readonly string[] = [],
): Promise<Contestant> {
  const ports = ['management', 'control-plane', 'gateway', 'exposure'].flatMap((name) => [`--${name}-port`, '0'])
  const startedAt = performance.now()
  const child = spawn(program, ['up', '--data', data, '--no-demo-model', ...ports, ...flags], {
    stdio: ['ignore', 'ignore', 'inherit'],
    // For profiling: SLUICE_NODE_OPTIONS=--cpu-prof
    env: { ...process.env, NODE_OPTIONS: process.env['SLUICE_NODE_OPTIONS'] ?? '' },
  })
  const endpoints = await until(() => {
    if (child.exitCode !== null) throw new Error(`sluice up ended with ${child.exitCode}`)
    const path = join(data, 'endpoints.json')
    return existsSync(path) ? endpointsSchema.parse(JSON.parse(readFileSync(path, 'utf8'))) : undefined
  })
  const { token } = userOf(join(data, 'kubeconfig'))
  const target = targetOf(endpoints.controlPlane, readFileSync(endpoints.ca, 'utf8'), token)
  await untilReady(target)
  return {
    name: 'sluice',
    target,
    startMs: performance.now() - startedAt,
    resident: () => residentBytes(child.pid ?? 0),
    cpuSeconds: () => cpuSeconds(child.pid ?? 0),
    async stop() {
      await stop(child)
      if (!keep) rmSync(data, { recursive: true, force: true })
    },
  }
}

export async function startKubernetes(): Promise<Contestant> {
  const startedAt = performance.now()
  const plane = await startRealControlPlane({ durable: true })
  const { token, ca } = userOf(plane.kubeconfig)
  const target = targetOf(plane.server, ca, token)
  await untilReady(target)
  return {
    name: 'kubernetes',
    target,
    startMs: performance.now() - startedAt,
    resident: () => plane.pids.reduce((sum, pid) => sum + residentBytes(pid), 0),
    cpuSeconds: () => plane.pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0),
    stop: () => plane.stop(),
  }
}

function targetOf(server: string, ca: string, token: string): Target {
  const { hostname, port, pathname } = new URL(server)
  return { host: hostname, port: Number(port), base: pathname.replace(/\/$/, ''), ca, token }
}

function userOf(kubeconfig: string): { token: string; ca: string } {
  const text = readFileSync(kubeconfig, 'utf8')
  const token = /"?token"?: ?"?([^"\s,}]+)/.exec(text)?.[1] ?? ''
  const ca = /"?certificate-authority-data"?: ?"?([^"\s,}]+)/.exec(text)?.[1] ?? ''
  return { token, ca: Buffer.from(ca, 'base64').toString('utf8') }
}

async function untilReady(target: Target): Promise<void> {
  await until(async () => {
    try {
      const client = await HttpClient.open(target)
      const { code } = await client.request('GET', '/readyz')
      client.close()
      return code === 200 || undefined
    } catch {
      return undefined
    }
  })
}

async function until<T>(find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + readyDeadlineMs
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`not ready in ${readyDeadlineMs / 1000} s`)
    await delay(5)
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
