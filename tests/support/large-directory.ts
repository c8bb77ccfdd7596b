import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { migrate } from '../../src/store/sqlite-file/sqlite-schema.ts'

export interface LargeDirectory {
  /** When the last Event happened. All are within ten minutes, as with a Pod that is tried again and again. */
  readonly at: Date
  readonly pods: number
  readonly events: number
}

const lastedMs = 10 * 60_000

/**
 * Makes a data directory as it looks after Pods were started again and again: finished Pods and Events about each, all
 * of them different.
 */
export function makeLargeDirectory(data: string, { at, pods, events }: LargeDirectory): void {
  const time = secondOf(at.getTime() - lastedMs)
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const path = join(data, 'sluice.db')
  closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
  migrate(database, path)
  const insert = database.prepare(`INSERT INTO log VALUES (?, 'created', ?, ?, ?, 0, ?)`)
  database.exec('BEGIN')
  let revision = 0
  const add = (resource: string, namespace: string, object: { readonly metadata: { readonly name: string } }) =>
    insert.run((revision += 1), resource, namespace, object.metadata.name, JSON.stringify(object))
  for (const name of ['default', 'many']) add('namespaces', '', namespaceOf(name, time))
  for (let index = 0; index < Math.max(pods, events); index += 1) {
    if (index < pods) add('pods', 'many', podOf(index, time))
    if (index < events)
      add('events', 'many', eventOf(index, pods, secondOf(at.getTime() - lastedMs * (1 - (index + 1) / events))))
  }
  database.exec('COMMIT')
  database.close()
}

function secondOf(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+/, '')
}

function namespaceOf(name: string, time: string) {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, uid: uidOf('a', 0), creationTimestamp: time, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}

function podOf(index: number, time: string) {
  const name = `pod-${index}`
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'many', uid: uidOf('b', index), creationTimestamp: time, labels: { app: 'many' } },
    spec: {
      containers: [{ name: 'main', image: 'registry.lab-1.localhost/busybox', command: ['sh', '-c', `echo ${index}`] }],
      restartPolicy: 'Never',
      nodeName: 'gone',
      serviceAccountName: 'default',
    },
    status: {
      phase: 'Succeeded',
      startTime: time,
      conditions: ['Initialized', 'PodScheduled'].map((type) => ({ type, status: 'True', lastTransitionTime: time })),
      containerStatuses: [
        {
          name: 'main',
          image: 'registry.lab-1.localhost/busybox',
          ready: false,
          restartCount: 0,
          state: { terminated: { exitCode: 0, reason: 'Completed', startedAt: time, finishedAt: time } },
        },
      ],
    },
  }
}

function eventOf(index: number, pods: number, time: string) {
  const pod = index % Math.max(1, pods)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `pod-${pod}.${index}`, namespace: 'many', uid: uidOf('c', index), creationTimestamp: time },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'many', name: `pod-${pod}`, uid: uidOf('b', pod) },
    type: 'Warning',
    reason: 'FailedToStart',
    message: `port 6379 of 127.64.${(index >> 8) & 255}.${index & 255} is taken by another Pod; ${'it is tried again '.repeat(8)}`,
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component: 'sluice-node', host: 'gone' },
    reportingComponent: 'sluice-node',
    reportingInstance: 'gone',
  }
}

function uidOf(prefix: string, index: number): string {
  return `${prefix.repeat(8)}-0000-4000-8000-${index.toString(16).padStart(12, '0')}`
}
