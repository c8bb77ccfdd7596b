import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { chart, helmPath } from './support/chart-stage.ts'

/** What Kubernetes refuses when it is no text, wherever the chart writes down what somebody calls things. */
const texts = z.record(z.string(), z.string())
const pod = z.object({
  metadata: z.object({ labels: texts }),
  spec: z.object({
    containers: z.array(z.object({ image: z.string(), args: z.array(z.string()) })).length(1),
    imagePullSecrets: z.array(z.object({ name: z.string() })),
    priorityClassName: z.string().optional(),
    volumes: z.array(z.object({ secret: z.object({ secretName: z.string() }).optional() })),
  }),
})
const requests = z.object({ requests: texts })
const formOf: Readonly<Record<string, z.ZodType>> = {
  ConfigMap: z.object({ data: texts }),
  Deployment: z.object({ spec: z.object({ template: pod }) }),
  Job: z.object({ spec: z.object({ template: pod }) }),
  PersistentVolumeClaim: z.object({ spec: z.object({ storageClassName: z.string(), resources: requests }) }),
  ServiceMonitor: z.object({ spec: z.object({ endpoints: z.array(z.object({ interval: z.string() })) }) }),
}
const object = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string(), labels: texts }) })

function rendered(release: string, ...settings: readonly string[]) {
  const words = ['template', release, chart, ...settings]
  const text = execFileSync(helmPath ?? '', words, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  return parseAllDocuments(text)
    .filter(({ contents }) => contents !== null)
    .map((document) => object.parse(document.toJS()))
}

describe.skipIf(helmPath === undefined)(`values of the chart${helmPath === undefined ? ' (needs helm)' : ''}`, () => {
  it('may be any text that somebody calls things', () => {
    const names = ['cluster.name=Berlin: the #1 lab', 'cluster.enterprise=- "ours"', 'registry=10', 'image.tag=11']
    const others = ['image.pullSecrets={12}', 'controller.priorityClassName=13', 'exposure.certificateSecret=14']
    const storage = ['userData.storageClassName=15', 'userData.size=16', 'monitoring.serviceMonitor.interval=17']
    const switches = ['exposure.enabled', 'policies.images', 'userData.create', 'monitoring.serviceMonitor.enabled']
    const objects = rendered(
      '2026',
      ...[...names, ...others, ...storage].flatMap((setting) => ['--set-string', setting]),
      ...switches.flatMap((name) => ['--set', `${name}=true`]),
    )
    const wrong = objects.flatMap((each) => formOf[each.kind]?.safeParse(each).error?.issues ?? [])
    expect(wrong).toEqual([])
    const kinds = new Set(objects.map(({ kind }) => kind))
    expect(Object.keys(formOf).filter((kind) => !kinds.has(kind))).toEqual([])
    expect(objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'controller')).toMatchObject(
      {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  image: '10/sluice/sluice:11',
                  args: expect.arrayContaining(['--cluster=Berlin: the #1 lab', '--enterprise=- "ours"']),
                },
              ],
            },
          },
        },
      },
    )
  })

  it('leave no role without a disruption budget where it is not known for which cluster they are', () => {
    const budgets = rendered('demo', '--set=exposure.enabled=true,management.enabled=true').filter(
      ({ kind }) => kind === 'PodDisruptionBudget',
    )
    expect(budgets.map(({ metadata }) => metadata.name)).toEqual(['controller', 'exposure', 'gateway', 'management'])
  })
})
